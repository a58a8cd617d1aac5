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

/// Say how a running bot is: games, seats, streams, budget, alarms
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton status
  megaton status --watch
  megaton status --json | jq .games
  megaton status --json --watch 60 >> status.jsonl")]
pub(super) struct Status {
    #[command(flatten)]
    bot: BotArgs,
    /// As one JSON object
    #[arg(long)]
    json: bool,
    /// Again and again, every so many seconds, until Ctrl-C or until the bot ends
    #[arg(short, long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
}

/// Let a running bot take nothing new; its games continue
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton pause
  megaton pause --config /etc/megaton/config.toml")]
pub(super) struct Pause {
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a paused bot take challenges again
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton resume")]
pub(super) struct Resume {
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot finish its games and end, as SIGTERM does
///
/// It takes nothing new and plays its games for [shutdown] drain at most; then games that have
/// hardly begun are called off and the others are left, to be taken up at the next start. Asks first
/// on a terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton drain
  megaton drain --yes")]
pub(super) struct Drain {
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot read its config again, as SIGHUP does
///
/// Says what changed, and what of it needs a restart. Games under way keep the rules they began
/// with. A config that is wrong is named and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton reload")]
pub(super) struct Reload {
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot challenge someone
///
/// It does so as soon as it has a seat, if the day's budget allows it. Where nothing comes of it,
/// `megaton events` says why.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton challenge SomeBot
  megaton challenge SomeBot blitz
  megaton challenge SomeBot 3+2 --casual --color white")]
pub(super) struct Challenge {
    /// The account
    #[arg(value_name = "USER")]
    user: String,
    /// A profile of the config, or minutes+seconds [default: the first profile]
    #[arg(value_name = "PROFILE|M+S")]
    what: Option<String>,
    /// A rated game, whatever the profile says
    #[arg(long)]
    rated: bool,
    /// A casual game, whatever the profile says
    #[arg(long, conflicts_with = "rated")]
    casual: bool,
    /// The colour of the bot
    #[arg(long, value_name = "COLOR")]
    color: Option<Color>,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot challenge its last opponent again, colours turned round
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton rechallenge")]
pub(super) struct Rechallenge {
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot look for games, or no longer
///
/// It stays so until the config is read again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton matchmaking on
  megaton matchmaking off")]
pub(super) struct Matchmaking {
    /// Look for games or not
    switch: Switch,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot say something in a game
///
/// To the opponent, or to those who watch. It takes its turn on the bot's chat, which can be lost
/// without harm; what became of it is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton say q7ZxVt2B \"Good luck!\"
  megaton say q7ZxVt2B \"The bot restarts after this game\" --spectators")]
pub(super) struct Say {
    /// The eight letters of the game's address
    #[arg(value_name = "GAME")]
    game: String,
    /// What to say, in 140 characters at most
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    text: String,
    /// To those who watch instead of to the opponent
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
            .ok_or_else(|| Failure::failed("the bot answers without its status"))?;
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
        confirm("End the bot after its games?", self.yes)?;
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
        Failure::setup("the config gives the bot no control socket: see [data] folder and socket")
    })?;
    let answer = panel::ask(&socket, request).map_err(|error| Failure::Failed(error.into()))?;
    if answer.ok {
        Ok(answer)
    } else {
        Err(Failure::failed(answer.text))
    }
}
