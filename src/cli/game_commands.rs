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

/// Withdraw the bot's challenge
///
/// Withdraws the open challenge and those waiting to be sent; with an ID only that one. `megaton
/// status` shows it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton cancel
  megaton cancel q7ZxVt2B")]
pub(super) struct Cancel {
    /// Challenge id [default: the open challenge and all that wait]
    #[arg(value_name = "ID")]
    challenge: Option<String>,
    #[command(flatten)]
    bot: BotArgs,
}

/// Abort a game
///
/// Lichess allows it until both sides have moved. Asks for confirmation on a terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton abort q7ZxVt2B
  megaton abort q7ZxVt2B --yes")]
pub(super) struct Abort {
    /// Game id: the eight letters in its URL
    #[arg(value_name = "GAME")]
    game: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    bot: BotArgs,
}

/// Resign a game
///
/// The game and its rating points are lost. Asks for confirmation on a terminal.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton resign q7ZxVt2B
  megaton resign q7ZxVt2B --yes")]
pub(super) struct Resign {
    /// Game id: the eight letters in its URL
    #[arg(value_name = "GAME")]
    game: String,
    /// Do not ask for confirmation
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    bot: BotArgs,
}

/// Block an account: decline all its challenges
///
/// Remembered across restarts, in addition to the config's lists; `megaton status` shows it. A game
/// in progress continues. `megaton unblock` undoes it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton block SomeBot
  megaton block SomeBot --config /etc/megaton/config.toml")]
pub(super) struct Block {
    /// Account to block
    #[arg(value_name = "USER")]
    user: String,
    #[command(flatten)]
    bot: BotArgs,
}

/// Unblock an account
///
/// Undoes `megaton block`; the config's lists still apply.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  megaton unblock SomeBot")]
pub(super) struct Unblock {
    /// Account to unblock
    #[arg(value_name = "USER")]
    user: String,
    #[command(flatten)]
    bot: BotArgs,
}

/// Join an arena, as `megaton tournament join` does
///
/// The bot joins shortly before the start if the arena is atomic and admits bots.
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
        confirm(&format!("Abort game {game}?"), self.yes)?;
        tell(&self.bot, &Request::Abort { game })
    }
}

impl Resign {
    pub(super) fn execute(&self) -> Result<(), Failure> {
        let game = self.game.clone();
        confirm(&format!("Resign game {game}? This loses it."), self.yes)?;
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
