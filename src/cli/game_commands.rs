//! The commands that end a running bot's games and challenges, and keep people from it.
//!
//! What cannot be undone asks first on a terminal; `--yes` answers beforehand.

use clap::Args;
use megaton::panel::Request;

use super::control_commands::tell;
use super::failure::Failure;
use super::prompt::confirm;
use super::setup::BotArgs;
use super::team_commands;

/// Let a running bot take its challenge back
///
/// The one that is out, and those that wait to go out; with an ID only if it is that one. `megaton
/// status` shows it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton cancel
  megaton cancel q7ZxVt2B")]
pub(super) struct Cancel {
    /// The challenge [default: whatever is out or waits]
    #[arg(value_name = "ID")]
    challenge: Option<String>,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot call a game off
///
/// Lichess lets a game be aborted until both sides have moved. Asks first on a terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton abort q7ZxVt2B
  megaton abort q7ZxVt2B --yes")]
pub(super) struct Abort {
    /// The eight letters of the game's address
    #[arg(value_name = "GAME")]
    game: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot resign a game
///
/// The game is lost, and so are the rating points. Asks first on a terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton resign q7ZxVt2B
  megaton resign q7ZxVt2B --yes")]
pub(super) struct Resign {
    /// The eight letters of the game's address
    #[arg(value_name = "GAME")]
    game: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot decline whatever an account wants, for good
///
/// It is remembered across restarts, beside the lists of the config, and `megaton status` shows it.
/// A game under way continues. `megaton unblock` undoes it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton block SomeBot
  megaton block SomeBot --config /etc/megaton/config.toml")]
pub(super) struct Block {
    /// The account
    #[arg(value_name = "USER")]
    user: String,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot judge an account by the config again
///
/// Undoes `megaton block`; what the lists of the config say stays.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton unblock SomeBot")]
pub(super) struct Unblock {
    /// The account
    #[arg(value_name = "USER")]
    user: String,
    #[command(flatten)]
    bot: BotArgs,
}

/// Let a running bot join an arena, as `megaton tournament join` does
///
/// It is joined shortly before it begins, if it is atomic and lets bots play.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton join aBcD1234
  megaton join aBcD1234 --team lichess-bots --password sesame")]
pub(super) struct Join {
    #[command(flatten)]
    join: team_commands::Joining,
}

impl Cancel {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let challenge = self.challenge.clone();
        tell(&self.bot, &Request::Cancel { challenge })
    }
}

impl Abort {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let game = self.game.clone();
        confirm(&format!("Call game {game} off?"), self.yes)?;
        tell(&self.bot, &Request::Abort { game })
    }
}

impl Resign {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let game = self.game.clone();
        confirm(&format!("Resign game {game}? It is lost then."), self.yes)?;
        tell(&self.bot, &Request::Resign { game })
    }
}

impl Block {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let user = self.user.clone();
        tell(&self.bot, &Request::Block { user })
    }
}

impl Unblock {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let user = self.user.clone();
        tell(&self.bot, &Request::Unblock { user })
    }
}

impl Join {
    pub(super) fn execute(self) -> Result<(), Failure> {
        self.join.execute()
    }
}
