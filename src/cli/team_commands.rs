//! `megaton tournament` and `megaton team`: arenas that the bot plays in, teams that the account is
//! in.
//!
//! An arena is played by the bot that runs, so it is told; a team is the account's, and no bot needs
//! to run for it.

use std::io::{self, Write};

use clap::{Args, Subcommand};
#[cfg(unix)]
use megaton::panel::{Request, Secret};

#[cfg(unix)]
use super::control_commands;
use super::failure::Failure;
#[cfg(unix)]
use super::setup::BotArgs;
use super::setup::ConfigArgs;
use super::{account, runtime};

/// Make a running bot join or leave an arena
///
/// The bot joins shortly before the start if the arena is atomic and admits bots. Arenas to join by
/// rule are set in [arena] of the config.
#[cfg(unix)]
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton tournament join aBcD1234
  megaton tournament join aBcD1234 --team lichess-bots --password sesame
  megaton tournament leave aBcD1234")]
pub(super) struct Tournament {
    #[command(subcommand)]
    what: Play,
}

#[cfg(unix)]
#[derive(Subcommand)]
enum Play {
    /// Join the arena shortly before it starts
    Join(Joining),
    /// Leave the arena, or cancel a planned join
    Leave {
        /// Arena id: the eight letters in its URL
        #[arg(value_name = "ARENA")]
        arena: String,
        #[command(flatten)]
        bot: BotArgs,
    },
}

/// An arena to join.
#[cfg(unix)]
#[derive(Args)]
pub(super) struct Joining {
    /// Arena id: the eight letters in its URL
    #[arg(value_name = "ARENA")]
    arena: String,
    /// Entry password
    #[arg(long, value_name = "WORD")]
    password: Option<String>,
    /// Team to play for
    #[arg(long, value_name = "TEAM")]
    team: Option<String>,
    #[command(flatten)]
    bot: BotArgs,
}

/// Make the bot's account join or leave a team
///
/// Needs a token with the scope team:write. Most bots are in lichess-bots.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton team join lichess-bots
  megaton team join some-team --message \"An atomic bot, run by its author, would like to join\"
  megaton team leave some-team")]
pub(super) struct Team {
    #[command(subcommand)]
    what: Membership,
}

#[derive(Subcommand)]
enum Membership {
    /// Join a team, or apply to it
    Join {
        /// Team id, as in its URL
        #[arg(value_name = "TEAM")]
        team: String,
        /// Message to the team leaders, if they decide: 30 characters or more
        #[arg(long, value_name = "TEXT")]
        message: Option<String>,
        /// Entry password
        #[arg(long, value_name = "WORD")]
        password: Option<String>,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Leave a team
    Leave {
        /// Team id, as in its URL
        #[arg(value_name = "TEAM")]
        team: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

#[cfg(unix)]
impl Tournament {
    pub(super) fn execute(self) -> Result<(), Failure> {
        match self.what {
            Play::Join(joining) => joining.execute(),
            Play::Leave { arena, bot } => {
                let arena = checked(arena)?;
                control_commands::tell(&bot, &Request::Leave { arena })
            }
        }
    }
}

#[cfg(unix)]
impl Joining {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let request = Request::Join {
            arena: checked(self.arena)?,
            password: self.password.map(Secret),
            team: self.team,
        };
        control_commands::tell(&self.bot, &request)
    }
}

/// The id of an arena, or what is wrong with it.
#[cfg(unix)]
fn checked(arena: String) -> Result<String, Failure> {
    if arena.len() == 8 && arena.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(arena);
    }
    Err(Failure::setup(format!(
        "{arena:?} is not an arena id: use the eight letters and digits at the end of its URL"
    )))
}

impl Team {
    pub(super) fn execute(self) -> Result<(), Failure> {
        let (team, config) = match &self.what {
            Membership::Join { team, config, .. } | Membership::Leave { team, config } => {
                (team, config)
            }
        };
        let (config, _) = config.load()?;
        let client = account::client(&config)?;
        let outcome = runtime::block_on(async {
            Ok(match &self.what {
                Membership::Join {
                    message, password, ..
                } => {
                    let (message, password) = (message.as_deref(), password.as_deref());
                    client.join_team(team, message, password).await
                }
                Membership::Leave { .. } => client.leave_team(team).await,
            })
        })?;
        outcome.map_err(|error| Failure::failed(refusal(team, &config.lichess.url, &error)))?;
        let done = match self.what {
            Membership::Join { .. } => "joined, or applied where its leaders decide",
            Membership::Leave { .. } => "left",
        };
        writeln!(io::stdout().lock(), "{team}: {done}")?;
        Ok(())
    }
}

/// What keeps the account out of a team, or in it.
fn refusal(team: &str, url: &str, error: &megaton::lichess::Error) -> String {
    use megaton::lichess::Error;

    match error {
        Error::Refused { status: 403, body } => format!(
            "{team} refuses the account ({}): wrong password, message too short, or a token without the scope team:write",
            body.message
        ),
        Error::Gone { .. } => format!("{url} has no team {team:?}: use its id from the URL"),
        Error::Refused { status: 400, body } => format!("{team}: {}", body.message),
        error => account::trouble(url, error),
    }
}

#[cfg(unix)]
impl std::fmt::Debug for Joining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Joining")
    }
}

#[cfg(unix)]
impl std::fmt::Debug for Play {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Join(_) => "Join",
            Self::Leave { .. } => "Leave",
        })
    }
}

impl std::fmt::Debug for Membership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Join { .. } => "Join",
            Self::Leave { .. } => "Leave",
        })
    }
}
