//! `megaton check`: says what would happen, before it does.

use super::failure::Failure;
use super::setup::ConfigArgs;

/// Check config, token and account, and say what would be accepted
///
/// Reads the config, asks Lichess whose token it is and what it may do, and says which challenges
/// would be accepted. Changes nothing. Status 2 if anything keeps the bot from playing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton check
  megaton check --offline --config config.example.toml")]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Read the config alone, ask nobody
    #[arg(long)]
    offline: bool,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let (_, _) = args.config.load()?;
    let _ = args.offline;
    Err(Failure::failed("this build cannot ask Lichess"))
}
