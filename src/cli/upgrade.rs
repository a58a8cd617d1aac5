//! `megaton upgrade-account`: turns an account into a bot account, for good.

use super::failure::Failure;
use super::setup::ConfigArgs;

/// Turn the token's account into a bot account, for good
///
/// Lichess lets only bot accounts play by engine. The step cannot be undone, and the account must
/// never have played a game. It asks for the account's name before anything happens.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton upgrade-account
  megaton upgrade-account --yes")]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let (_, _) = args.config.load()?;
    let _ = args.yes;
    Err(Failure::failed("this build cannot ask Lichess"))
}
