//! The commands that talk to a running bot over its control socket.
//!
//! Each is one request and one response, which goes to stdout. Commands that cannot be undone ask for
//! confirmation on a terminal.

use std::io::{self, IsTerminal as _, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use megaton::bot::{self, ChallengeSpec, UPGRADE_WAITS};
use megaton::config::ColorWish;
use megaton::lichess::is_public_id;
use megaton::panel::{self, HealthReport, Request, Response, Secret};
use secrecy::ExposeSecret as _;

use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::prompt::{EntryPassword, confirm};
use crate::cli::setup::{BotArgs, Choice, one_of};

const COLORS: &[Choice<ColorWish>] = &[
    ("any", "", ColorWish::Any),
    ("white", "", ColorWish::White),
    ("black", "", ColorWish::Black),
];
/// How long the new program may take until it answers, and after that until it is connected.
const RESTART: Duration = Duration::from_secs(60);
/// How soon the bot says that it has given an upgrade up.
const MOMENT: Duration = Duration::from_secs(2);
const SWITCH: &[Choice<bool>] = &[("on", "", true), ("off", "", false)];

#[derive(Debug, Subcommand)]
pub(crate) enum ControlCommand {
    Status(Status),
    Healthcheck(Healthcheck),
    /// Pause: start no new games; games in progress continue
    ///
    /// Remembered across restarts until `megaton resume`; `megaton status` says since when.
    #[command(after_help = "Examples:
  megaton pause
  megaton pause --config /etc/megaton/config.toml")]
    Pause {
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Resume starting new games
    #[command(after_help = "Examples:
  megaton resume")]
    Resume {
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Finish all games and exit, as SIGTERM does
    ///
    /// The bot accepts no new games and plays on for at most [shutdown] drain; then it aborts
    /// games that have barely started and leaves the others, to be resumed at the next start. Asks for
    /// confirmation on a terminal.
    #[command(after_help = "Examples:
  megaton drain
  megaton drain --yes")]
    Drain {
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Replace the running bot by the program that is installed now
    ///
    /// Install the new program first, under the same path. The bot goes on playing and hands over as
    /// soon as it is the opponent's turn in every game, each of the bot's clocks has at least 20 seconds left,
    /// no challenge of the bot is open and no call is under way; the new program resumes the games, as the
    /// same process. Says what it waits for. If no such moment comes within --within seconds, nothing changes.
    #[command(after_help = "Examples:
  install -m 755 megaton /usr/local/bin/megaton && megaton upgrade
  megaton upgrade --within 3600 --config /etc/megaton/config.toml")]
    Upgrade {
        /// Seconds to look for such a moment
        #[arg(long, value_name = "SECONDS", default_value_t = 600,
              value_parser = clap::value_parser!(u64).range(1..=panel::LONGEST_UPGRADE))]
        within: u64,
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Reread the config, as SIGHUP does
    ///
    /// Reports what changed and what needs a restart. Games in progress keep their rules. An invalid
    /// config is reported and changes nothing.
    #[command(after_help = "Examples:
  megaton reload")]
    Reload {
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Make a running bot challenge a player
    ///
    /// The bot sends it as soon as a slot is free, if the daily quota allows it. `megaton challenges` shows
    /// what became of it, `megaton events` why it was not sent.
    #[command(after_help = "Examples:
  megaton challenge SomeBot
  megaton challenge SomeBot blitz
  megaton challenge SomeBot 3+2 --casual --color white
  megaton challenge SomeBot 3+2 --games 10
  megaton challenge SomeBot 2d")]
    Challenge {
        /// Account to challenge
        #[arg(value_name = "USER")]
        user: String,
        /// Profile of the config, minutes+seconds, or days per move [default: the first profile]
        #[arg(value_name = "PROFILE|M+S")]
        what: Option<String>,
        /// Rated, whatever the profile says
        #[arg(long)]
        rated: bool,
        /// Casual, whatever the profile says
        #[arg(long, conflicts_with = "rated")]
        casual: bool,
        /// The bot's colour
        #[arg(long, value_name = "COLOR", value_parser = one_of(COLORS))]
        color: Option<ColorWish>,
        /// Number of consecutive games, with alternating colours; `megaton cancel` ends the series
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
        games: Option<u32>,
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Challenge the last opponent again, with colours reversed
    #[command(after_help = "Examples:
  megaton rechallenge")]
    Rechallenge {
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Withdraw the bot's challenge
    ///
    /// Withdraws the open challenge and those waiting to be sent; with an ID only that one, which also
    /// ends the series it belongs to. `megaton status` shows it.
    #[command(after_help = "Examples:
  megaton cancel
  megaton cancel q7ZxVt2B")]
    Cancel {
        /// Challenge id [default: the open challenge and all that wait]
        #[arg(value_name = "ID")]
        challenge: Option<String>,
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Abort a game
    ///
    /// Lichess allows it until both sides have moved. Asks for confirmation on a terminal.
    #[command(after_help = "Examples:
  megaton abort q7ZxVt2B
  megaton abort q7ZxVt2B --yes")]
    Abort(EndGame),
    /// Resign a game
    ///
    /// The game and its rating points are lost. Asks for confirmation on a terminal.
    #[command(after_help = "Examples:
  megaton resign q7ZxVt2B
  megaton resign q7ZxVt2B --yes")]
    Resign(EndGame),
    /// Block an account: decline all its challenges
    ///
    /// Remembered across restarts, in addition to the config's lists; `megaton status` shows it. A game
    /// in progress continues. `megaton unblock` undoes it.
    #[command(after_help = "Examples:
  megaton block SomeBot
  megaton block SomeBot --config /etc/megaton/config.toml")]
    Block {
        /// Account to block
        #[arg(value_name = "USER")]
        user: String,
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Unblock an account
    ///
    /// Undoes `megaton block`; the config's lists still apply.
    #[command(after_help = "Examples:
  megaton unblock SomeBot")]
    Unblock {
        /// Account to unblock
        #[arg(value_name = "USER")]
        user: String,
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Turn matchmaking on or off
    ///
    /// Remembered across restarts until the config is reloaded.
    #[command(after_help = "Examples:
  megaton matchmaking on
  megaton matchmaking off")]
    Matchmaking {
        /// on or off
        #[arg(action = clap::ArgAction::Set, value_parser = one_of(SWITCH))]
        switch: bool,
        #[command(flatten)]
        bot: BotArgs,
    },
    /// Join an arena, as `megaton tournament join` does
    ///
    /// The bot joins shortly before the start if the arena is atomic and admits bots.
    #[command(after_help = "Examples:
  megaton join aBcD1234
  megaton join aBcD1234 --team lichess-bots --password-file password.txt")]
    Join(Join),
    /// Send a chat message in a game
    ///
    /// Queued with the bot's own messages; the reply says whether the message was sent.
    #[command(after_help = "Examples:
  megaton say q7ZxVt2B \"Good luck!\"
  megaton say q7ZxVt2B \"The bot restarts after this game\" --spectators")]
    Say {
        /// Game id: the eight characters in its URL
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
    },
    /// Make a running bot join or leave an arena
    ///
    /// The bot joins shortly before the start if the arena is atomic and admits bots. Arenas to join by
    /// rule are set in [arena] of the config.
    #[command(after_help = "Examples:
  megaton tournament join aBcD1234
  megaton tournament join aBcD1234 --team lichess-bots --password-file password.txt
  megaton tournament leave aBcD1234")]
    Tournament {
        #[command(subcommand)]
        action: Tournament,
    },
}

/// Show a running bot's status: games, slots, streams, quota, alerts
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton status
  megaton status --watch
  megaton status --json | jq .games
  megaton status --json --watch 60 >> status.jsonl")]
pub(crate) struct Status {
    #[command(flatten)]
    bot: BotArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Repeat every SECONDS (2 if none are given) until Ctrl-C or until the bot ends
    #[arg(short, long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2",
          value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
}

/// Check whether a running bot is alive, or ready for games
///
/// Alive: the bot answers and its engine solves a test position; otherwise restart it. Ready: it
/// also receives events, accepts games and can write to its disk. Exit status: 0 yes, 1 no, 2
/// unreadable config.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton healthcheck
  megaton healthcheck --ready
  megaton healthcheck --json | jq .checks")]
pub(crate) struct Healthcheck {
    /// Check readiness, not only liveness, and show the checks of both
    #[arg(long)]
    ready: bool,
    /// Print every check as one JSON object
    #[arg(long)]
    json: bool,
    /// Print nothing; set the exit status only
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    #[command(flatten)]
    bot: BotArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EndGame {
    /// Game id: the eight characters in its URL
    #[arg(value_name = "GAME")]
    game: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    bot: BotArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Join {
    /// Arena id: the eight characters in its URL
    #[arg(value_name = "ARENA")]
    arena: String,
    #[command(flatten)]
    password: EntryPassword,
    /// Team to play for
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    #[command(flatten)]
    bot: BotArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tournament {
    /// Join the arena shortly before it starts
    Join(Join),
    /// Leave the arena, or cancel a planned join
    Leave {
        /// Arena id: the eight characters in its URL
        #[arg(value_name = "ARENA")]
        arena: String,
        #[command(flatten)]
        bot: BotArgs,
    },
}

impl ControlCommand {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let (bot, request) = match self {
            Self::Status(status) => return status.execute(),
            Self::Healthcheck(healthcheck) => return healthcheck.execute(),
            Self::Pause { bot } => (bot, Request::Pause {}),
            Self::Resume { bot } => (bot, Request::Resume {}),
            Self::Drain { yes, bot } => {
                confirm("Shut the bot down after its games?", yes)?;
                (bot, Request::Drain {})
            }
            Self::Upgrade { within, bot } => return upgrade(&bot, within),
            Self::Reload { bot } => (bot, Request::Reload {}),
            Self::Challenge {
                user,
                what,
                rated,
                casual,
                color,
                games,
                bot,
            } => {
                let rated = (rated || casual).then_some(rated);
                let request = Request::Challenge(ChallengeSpec {
                    user,
                    what,
                    rated,
                    color,
                    games,
                });
                (bot, request)
            }
            Self::Rechallenge { bot } => (bot, Request::Rechallenge {}),
            Self::Cancel { challenge, bot } => (bot, Request::Cancel { challenge }),
            Self::Abort(EndGame { game, yes, bot }) => {
                confirm(&format!("Abort game {game}?"), yes)?;
                (bot, Request::Abort { game })
            }
            Self::Resign(EndGame { game, yes, bot }) => {
                confirm(&format!("Resign game {game}? This loses it."), yes)?;
                (bot, Request::Resign { game })
            }
            Self::Block { user, bot } => (bot, Request::Block { user }),
            Self::Unblock { user, bot } => (bot, Request::Unblock { user }),
            Self::Matchmaking { switch: on, bot } => (bot, Request::Matchmaking { on }),
            Self::Say {
                game,
                text,
                spectators,
                bot,
            } => {
                let request = Request::Say {
                    game,
                    text,
                    spectators,
                };
                (bot, request)
            }
            Self::Join(join)
            | Self::Tournament {
                action: Tournament::Join(join),
            } => {
                let password = join.password.read()?;
                let request = Request::Join {
                    arena: checked(join.arena)?,
                    password: password.map(|it| Secret(it.expose_secret().into())),
                    team: join.team,
                };
                (join.bot, request)
            }
            Self::Tournament {
                action: Tournament::Leave { arena, bot },
            } => {
                let arena = checked(arena)?;
                (bot, Request::Leave { arena })
            }
        };
        let response = ask(&bot, &request)?;
        output::print(output::plain_lines(&response.text))
    }
}

impl Status {
    fn execute(&self) -> Result<(), Failure> {
        self.show()?;
        while let Some(seconds) = self.watch {
            thread::sleep(Duration::from_secs(seconds));
            self.show()?;
        }
        Ok(())
    }

    fn show(&self) -> Result<(), Failure> {
        let status = status_of(&self.bot)?;
        if self.watch.is_some() && io::stdout().is_terminal() {
            // Clears the screen.
            write!(io::stdout(), "\x1b[H\x1b[2J")?;
        }
        if self.json {
            return output::print_json(&status);
        }
        let lines = output::status::lines(&status);
        let lines: Vec<String> = lines.iter().map(|line| output::plain(line)).collect();
        output::print(lines.join("\n"))
    }
}

impl Healthcheck {
    fn execute(&self) -> Result<(), Failure> {
        let report = match self.report() {
            Err(Failure::Failed(_)) if self.quiet => return Err(Failure::Reported),
            other => other?,
        };
        let (ready, alive) = (report.ready, report.alive);
        let what = if self.ready { "ready" } else { "alive" };
        let well = if self.ready { ready } else { alive };
        let printed = if self.json {
            output::print_json(&report)
        } else if self.quiet {
            Ok(())
        } else {
            let mut text = format!("{}{what}\n", if well { "" } else { "not " });
            let checks = report.checks.iter();
            for check in checks.filter(|check| self.ready || check.is_vital()) {
                let mark = if check.ok { "ok   " } else { "WRONG" };
                let line = format!("{mark} {:<8} {}", check.name, check.text);
                text += &(output::plain(&line) + "\n");
            }
            output::print_text(text)
        };
        let answer = if well { Ok(()) } else { Err(Failure::Reported) };
        answer.and(printed)
    }

    fn report(&self) -> Result<HealthReport, Failure> {
        let Response { health, text, .. } = ask(&self.bot, &Request::Health {})?;
        health.ok_or_else(|| Failure::failed(text))
    }
}

/// Requests an upgrade and follows it to its end.
fn upgrade(bot: &BotArgs, within: u64) -> Result<(), Failure> {
    // This may be the new program: a config that it cannot read would end the bot.
    bot.check_config()?;
    let old = status_of(bot).ok();
    let mut shown = ask(bot, &Request::Upgrade { within })?.text;
    let begun = Instant::now();
    output::print(&shown)?;
    let mut handover = Handover::new(within, old.as_deref());
    let mut silent_since = None;
    loop {
        thread::sleep(Duration::from_millis(200));
        let at = begun.elapsed();
        let status = match status_of(bot) {
            Err(_) if silent_since.get_or_insert_with(Instant::now).elapsed() <= RESTART => {
                continue;
            }
            asked => asked?,
        };
        silent_since = None;
        if let Some(outcome) = handover.outcome(&status, at) {
            return output::print(outcome.map_err(Failure::failed)?);
        }
        if let Some(waits) = upgrade_waits(&status).filter(|it| **it != shown) {
            output::print(waits)?;
            shown.clone_from(waits);
        }
    }
}

/// What the old program waits for before it hands over.
fn upgrade_waits(status: &bot::Status) -> Option<&String> {
    let mut switches = status.switches.iter();
    switches.find(|it| it.starts_with(UPGRADE_WAITS))
}

/// How far an upgrade is, as the answers tell. Times count from when the old program agreed to it.
#[derive(Debug)]
struct Handover {
    /// How long the old program looks for a moment.
    within: Duration,
    /// The longest uptime of the connected old program that was seen, in seconds.
    uptime: u64,
    /// When the new program first answered.
    done: Option<Duration>,
}

impl Handover {
    /// `old` is a status from before the upgrade. An uptime starts over with the connection.
    fn new(within: u64, old: Option<&bot::Status>) -> Self {
        let connected = old.filter(|it| it.account.is_some());
        Self {
            within: Duration::from_secs(within),
            uptime: connected.map_or(0, |it| it.uptime),
            done: None,
        }
    }

    /// How the upgrade ended, if it has, as this answer to a request at this time tells.
    fn outcome(&mut self, status: &bot::Status, at: Duration) -> Option<Result<String, String>> {
        // The old program is connected, and older than the upgrade. As uptimes are rounded down,
        // the time is too.
        let is_new = status.account.is_none() || status.uptime < self.uptime.max(at.as_secs());
        self.uptime = self.uptime.max(status.uptime);
        self.done = self.done.or(is_new.then_some(at));
        let version = &status.version;
        let limit = self
            .done
            .map_or(self.within + MOMENT, |done| done + RESTART);
        let is_late = at > limit;
        match self.done {
            Some(_) if status.account.is_some() => {
                let games = output::count(status.games.len() as u64, "game");
                Some(Ok(format!("version {version} plays, {games} resumed")))
            }
            Some(_) if is_late => Some(Err(format!(
                "version {version} runs, but is not connected to the server yet: see its log"
            ))),
            None if is_late && upgrade_waits(status).is_none() => {
                let text = "no moment to hand over: the bot plays on as before; \
                            see `megaton events`";
                Some(Err(text.to_owned()))
            }
            _ => None,
        }
    }
}

/// The id of an arena, if it can be one.
fn checked(arena: String) -> Result<String, Failure> {
    if is_public_id(&arena) {
        return Ok(arena);
    }
    Err(Failure::setup(format!(
        "{arena:?} is not an arena id: use the eight letters and digits at the end of its URL"
    )))
}

fn status_of(bot: &BotArgs) -> Result<Box<bot::Status>, Failure> {
    let status = ask(bot, &Request::Status {})?.status;
    status.ok_or_else(|| Failure::failed("the bot's response has no status"))
}

/// The answer of a running bot, unless it refuses.
fn ask(bot: &BotArgs, request: &Request) -> Result<Response, Failure> {
    let socket = bot.socket()?.ok_or_else(|| {
        Failure::setup("the config disables the control socket: see [data] folder and socket")
    })?;
    let response = panel::ask(&socket, request);
    let response = response.map_err(|error| Failure::Failed(error.into()))?;
    if response.ok {
        Ok(response)
    } else {
        Err(Failure::failed(response.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn status(account: Option<&str>, uptime: u64) -> bot::Status {
        bot::Status {
            version: "1.2.3".to_owned(),
            account: account.map(ToOwned::to_owned),
            uptime,
            ..bot::Status::default()
        }
    }

    fn connected(uptime: u64) -> bot::Status {
        status(Some("Megaton"), uptime)
    }

    #[test]
    fn an_upgrade_is_done_when_another_process_plays() {
        let plays = Some(Ok("version 1.2.3 plays, 0 games resumed".to_owned()));
        let mut handover = Handover::new(600, Some(&connected(7)));
        for (uptime, at) in [(7, SECOND / 4), (8, SECOND), (99, SECOND * 92)] {
            assert_eq!(handover.outcome(&connected(uptime), at), None, "{at:?}");
        }
        assert_eq!(handover.outcome(&connected(0), SECOND * 93), plays);

        // The old program has just begun.
        let mut handover = Handover::new(600, Some(&connected(0)));
        for (uptime, at) in [(0, SECOND * 9 / 10), (1, SECOND), (1, SECOND * 19 / 10)] {
            assert_eq!(handover.outcome(&connected(uptime), at), None, "{at:?}");
        }
        assert_eq!(handover.outcome(&connected(1), SECOND * 2), plays);

        // It was not connected at first.
        let mut handover = Handover::new(600, Some(&status(None, 99)));
        assert_eq!(handover.outcome(&connected(0), SECOND / 4), None);
    }

    #[test]
    fn a_new_program_that_does_not_connect_is_awaited_for_a_minute() {
        let mut handover = Handover::new(600, Some(&connected(7)));
        for at in [650, 655, 710] {
            let awaited = handover.outcome(&status(None, at - 650), SECOND * at as u32);
            assert_eq!(awaited, None, "{at}");
        }
        let outcome = handover.outcome(&status(None, 61), SECOND * 711);
        let why = outcome.expect("an end").expect_err("it does not play");
        assert!(why.starts_with("version 1.2.3 runs, but"), "{why}");
        let at_last = handover.outcome(&connected(0), SECOND * 712);
        assert!(matches!(at_last, Some(Ok(_))), "{at_last:?}");
    }

    #[test]
    fn an_upgrade_without_a_moment_to_hand_over_is_given_up() {
        let mut handover = Handover::new(600, Some(&connected(7)));
        let waits = bot::Status {
            switches: vec![format!("{UPGRADE_WAITS}a call is under way")],
            ..connected(610)
        };
        assert_eq!(handover.outcome(&connected(609), SECOND * 602), None);
        assert_eq!(handover.outcome(&waits, SECOND * 603), None);
        let outcome = handover.outcome(&connected(610), SECOND * 603);
        let why = outcome.expect("an end").expect_err("it plays on");
        assert!(why.starts_with("no moment to hand over"), "{why}");
    }
}
