//! `megaton run`: plays on Lichess until it is told to stop.

use super::failure::Failure;
use super::identity;
use super::logging;
use super::runtime::{self, Shutdown};
use super::setup::{ConfigArgs, LogArgs};

/// Play on Lichess until told to stop
///
/// Answers challenges as the config says and plays every accepted game. Games that were under way
/// when the program ended, however it ended, are taken up again. Without a network it waits and
/// tries again; only a config or token that cannot work ends it at once (status 2).
///
/// The first Ctrl-C (or SIGTERM) takes no new games and ends after the last one; the second ends at
/// once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton run
  megaton run --config /etc/megaton/config.toml --log-format json
  LICHESS_BOT_TOKEN=… megaton run --log-level debug")]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    log: LogArgs,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let (config, _) = args.config.load()?;
    let client = identity::client(&config)?;
    let _log = logging::start(&args.log.over(&config.log))?;
    runtime::block_on(async {
        let Shutdown { drain, now } = runtime::listen()?;
        let _ = (drain, now, client);
        Err(Failure::failed("this build cannot play on Lichess"))
    })
}
