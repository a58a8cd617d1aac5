//! `megaton practice`: a small Lichess on the loopback, the bot on it, and a page to play at.

use super::failure::Failure;
use super::setup::LogArgs;

/// Play against it here, without an account
///
/// Starts a small Lichess on this machine's loopback and the bot on it, and prints the address of a
/// page where you play it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton practice
  megaton practice --games 2 --headless")]
pub(super) struct Args {
    /// Let the bot play this many games against the built-in partners
    #[arg(long, value_name = "N")]
    games: Option<u32>,
    /// No page: play the games, print a summary and end
    #[arg(long)]
    headless: bool,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let _ = (args.games, args.headless, &args.log);
    Err(Failure::failed("this build has no practice server"))
}
