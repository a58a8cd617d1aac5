//! The commands that speak to a running bot over its control socket.
//!
//! Each is one request and one answer; what the bot says goes to stdout, and status 1 says that it
//! was not done.

use std::io::{self, IsTerminal as _, Write};
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use megaton::config::ColorWish;
use megaton::panel::{self, Request, Response};

use super::failure::Failure;
use super::prompt::confirm;
use super::setup::BotArgs;
use super::status_summary;

/// Show a running bot's status: games, slots, streams, budget, alerts
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton status
  megaton status --watch
  megaton status --json | jq .games
  megaton status --json --watch 60 >> status.jsonl")]
pub(super) struct Status {
    #[command(flatten)]
    bot: BotArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Repeat every SECONDS until Ctrl-C or until the bot ends
    #[arg(short, long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
}

/// Pause: accept no new challenges; games in progress continue
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton pause
  megaton pause --config /etc/megaton/config.toml")]
pub(super) struct Pause {
    #[command(flatten)]
    bot: BotArgs,
}

/// Resume accepting challenges
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton resume")]
pub(super) struct Resume {
    #[command(flatten)]
    bot: BotArgs,
}

/// Finish all games and exit, as SIGTERM does
///
/// The bot accepts no new games and plays on for at most [shutdown] drain; then it aborts
/// games that have barely started and leaves the others, to be resumed at the next start. Asks for
/// confirmation on a terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton drain
  megaton drain --yes")]
pub(super) struct Drain {
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    bot: BotArgs,
}

/// Reread the config, as SIGHUP does
///
/// Reports what changed and what needs a restart. Games in progress keep their rules. An invalid
/// config is reported and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton reload")]
pub(super) struct Reload {
    #[command(flatten)]
    bot: BotArgs,
}

/// Make a running bot challenge a player
///
/// The bot sends it as soon as a slot is free, if the daily quota allows it. `megaton events` shows
/// why a challenge failed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton challenge SomeBot
  megaton challenge SomeBot blitz
  megaton challenge SomeBot 3+2 --casual --color white")]
pub(super) struct Challenge {
    /// Account to challenge
    #[arg(value_name = "USER")]
    user: String,
    /// Profile of the config, or minutes+seconds [default: the first profile]
    #[arg(value_name = "PROFILE|M+S")]
    what: Option<String>,
    /// Rated, whatever the profile says
    #[arg(long)]
    rated: bool,
    /// Casual, whatever the profile says
    #[arg(long, conflicts_with = "rated")]
    casual: bool,
    /// The bot's colour
    #[arg(long, value_name = "COLOR")]
    color: Option<Color>,
    #[command(flatten)]
    bot: BotArgs,
}

/// Challenge the last opponent again, with colours reversed
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton rechallenge")]
pub(super) struct Rechallenge {
    #[command(flatten)]
    bot: BotArgs,
}

/// Turn matchmaking on or off
///
/// Lasts until the config is reloaded.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton matchmaking on
  megaton matchmaking off")]
pub(super) struct Matchmaking {
    /// on or off
    switch: Switch,
    #[command(flatten)]
    bot: BotArgs,
}

/// Send a chat message in a game
///
/// Queued with the bot's own messages; the reply says whether the message was sent.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton say q7ZxVt2B \"Good luck!\"
  megaton say q7ZxVt2B \"The bot restarts after this game\" --spectators")]
pub(super) struct Say {
    /// Game id: the eight letters in its URL
    #[arg(value_name = "GAME")]
    game: String,
    /// Message, at most 140 characters
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// Send to the spectators instead of the opponent
    #[arg(long)]
    spectators: bool,
    #[command(flatten)]
    bot: BotArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Color {
    Any,
    White,
    Black,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Status {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        self.show()?;
        while let Some(seconds) = self.watch {
            thread::sleep(Duration::from_secs(seconds));
            self.show()?;
        }
        Ok(())
    }

    fn show(&self) -> Result<(), Failure> {
        let answer = ask(&self.bot, &Request::Status {})?;
        let status = answer
            .status
            .ok_or_else(|| Failure::failed("the bot's response has no status"))?;
        let mut out = io::stdout().lock();
        if self.watch.is_some() && out.is_terminal() {
            // To the upper left corner of an empty screen.
            write!(out, "\x1b[H\x1b[2J")?;
        }
        if self.json {
            let text = serde_json::to_string(&status).map_err(anyhow::Error::from)?;
            writeln!(out, "{text}")?;
        } else {
            for line in status_summary::lines(&status) {
                writeln!(out, "{line}")?;
            }
        }
        out.flush()?;
        Ok(())
    }
}

impl Pause {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        tell(&self.bot, &Request::Pause {})
    }
}

impl Resume {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        tell(&self.bot, &Request::Resume {})
    }
}

impl Drain {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        confirm("Shut the bot down after its games?", self.yes)?;
        tell(&self.bot, &Request::Drain {})
    }
}

impl Reload {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        tell(&self.bot, &Request::Reload {})
    }
}

impl Challenge {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let request = Request::Challenge {
            user: self.user.clone(),
            what: self.what.clone(),
            rated: (self.rated || self.casual).then_some(self.rated),
            color: self.color.map(|color| match color {
                Color::Any => ColorWish::Any,
                Color::White => ColorWish::White,
                Color::Black => ColorWish::Black,
            }),
        };
        tell(&self.bot, &request)
    }
}

impl Rechallenge {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        tell(&self.bot, &Request::Rechallenge {})
    }
}

impl Matchmaking {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let on = self.switch == Switch::On;
        tell(&self.bot, &Request::Matchmaking { on })
    }
}

impl Say {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let request = Request::Say {
            game: self.game.clone(),
            text: self.text.clone(),
            spectators: self.spectators,
        };
        tell(&self.bot, &request)
    }
}

/// Asks, and prints what the bot says.
pub(super) fn tell(bot: &BotArgs, request: &Request) -> Result<(), Failure> {
    let answer = ask(bot, request)?;
    writeln!(io::stdout().lock(), "{}", answer.text)?;
    Ok(())
}

/// The bot's answer; a refusal is a failure.
fn ask(bot: &BotArgs, request: &Request) -> Result<Response, Failure> {
    let socket = bot.socket()?.ok_or_else(|| {
        Failure::setup("the config disables the control socket: see [data] folder and socket")
    })?;
    let answer = panel::ask(&socket, request).map_err(|error| Failure::Failed(error.into()))?;
    if answer.ok {
        Ok(answer)
    } else {
        Err(Failure::failed(answer.text))
    }
}
