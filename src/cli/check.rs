//! `megaton check`: says what would happen, before it does.

use std::io::{self, Write};

use super::failure::Failure;
use super::report;
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
    let (config, path) = args.config.load()?;
    let came_from = path.map_or_else(
        || "every default, no config.toml here".to_owned(),
        |path| format!("{}, good", path.display()),
    );
    say("config", &came_from)?;
    say("server", &config.lichess.url)?;
    say("engine", &report::engine(&config.engine))?;
    say("accepts", &report::accepts(&config.challenge))?;
    if args.offline {
        return Ok(());
    }
    Err(Failure::failed("this build cannot ask Lichess"))
}

/// One line of the result: what it is about, and what there is to say.
fn say(about: &str, what: &str) -> Result<(), Failure> {
    writeln!(io::stdout().lock(), "{about:<8} {what}")?;
    Ok(())
}
