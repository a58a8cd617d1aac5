//! The command line and its help.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

#[cfg(feature = "train")]
use super::commands::train;
#[cfg(feature = "tune")]
use super::commands::tune;
use super::commands::{
    bench, book, check, control, data, datagen, engine_match, explain, init, manpage, openings,
    perft, practice, records, run, soak, tables, team, uci, upgrade,
};
use super::failure::Failure;
use super::output;

const EXAMPLES: &str = "\
First steps:
  megaton practice              play against it in your browser, no account needed
  megaton practice --games 2 --headless
                                two whole games against the built-in partners
  megaton init                  answer a few questions and write a starter config
  megaton check                 verify token, account and config
  megaton run                   play on Lichess until Ctrl-C (once: finish the games; twice: now)
  megaton status                show the status of the running bot

Settings are read from config.toml if present (see config.example.toml); the API token from the
variable LICHESS_BOT_TOKEN or from the file named by `token_file`.

Exit status: 0 success, 1 failure (or the answer is no), 2 invalid command line, config, token or account.";

/// An atomic chess bot for Lichess, with its own engine inside.
///
/// In atomic chess a capture explodes: the capturing piece, the captured piece and every piece on
/// the eight surrounding squares, pawns excepted, are removed. Exploding the enemy king wins.
#[derive(Debug, Parser)]
#[command(name = "megaton", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Init(init::Args),
    Run(run::Args),
    Practice(practice::Args),
    Soak(soak::Args),
    Check(check::Args),
    ExplainChallenge(explain::Args),
    #[command(flatten)]
    Control(control::ControlCommand),
    Team(team::Team),
    Games(records::games::Args),
    Game(records::game::Args),
    Stats(records::stats::Args),
    Challenges(records::challenges::Args),
    Events(records::events::Args),
    Export(records::export::Args),
    Import(records::import::Args),
    Backup(records::backup::Args),
    Prune(records::prune::Args),
    Experience(records::experience::Args),
    Review(records::review::Args),
    UpgradeAccount(upgrade::Args),
    #[cfg(feature = "train")]
    Train(train::Args),
    Uci(uci::Args),
    Bench(bench::Args),
    Match(engine_match::Args),
    #[cfg(feature = "tune")]
    Tune(tune::Args),
    Openings(openings::Args),
    Datagen(datagen::Args),
    Data(data::Args),
    Book(book::Args),
    Tables(tables::Args),
    Perft(perft::Args),
    Completions(manpage::Completions),
    Man(manpage::Man),
}

/// The definition of the command line.
pub(super) fn program() -> clap::Command {
    Cli::command()
}

/// Runs the command that the command line names.
#[inline(never)]
pub(crate) fn start() -> ExitCode {
    let outcome = match Cli::parse().command {
        Some(command) => command.execute(),
        None => output::print_text(program().render_help()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

impl Command {
    fn execute(self) -> Result<(), Failure> {
        match self {
            Self::Init(args) => init::execute(&args),
            Self::Run(args) => run::execute(&args),
            Self::Practice(args) => practice::execute(&args),
            Self::Soak(args) => soak::execute(&args),
            Self::Check(args) => check::execute(&args),
            Self::ExplainChallenge(args) => explain::execute(&args),
            Self::Control(command) => command.execute(),
            Self::Team(args) => args.execute(),
            Self::Games(args) => records::games::execute(&args),
            Self::Game(args) => records::game::execute(&args),
            Self::Stats(args) => records::stats::execute(&args),
            Self::Challenges(args) => records::challenges::execute(&args),
            Self::Events(args) => records::events::execute(&args),
            Self::Export(args) => records::export::execute(&args),
            Self::Import(args) => records::import::execute(&args),
            Self::Backup(args) => records::backup::execute(&args),
            Self::Prune(args) => records::prune::execute(&args),
            Self::Experience(args) => records::experience::execute(&args),
            Self::Review(args) => records::review::execute(&args),
            Self::UpgradeAccount(args) => upgrade::execute(&args),
            #[cfg(feature = "train")]
            Self::Train(args) => train::execute(&args),
            Self::Uci(args) => uci::execute(&args),
            Self::Bench(args) => bench::execute(&args),
            Self::Match(args) => engine_match::execute(&args),
            #[cfg(feature = "tune")]
            Self::Tune(args) => tune::execute(&args),
            Self::Openings(args) => openings::execute(&args),
            Self::Datagen(args) => datagen::execute(&args),
            Self::Data(args) => data::execute(&args),
            Self::Book(args) => book::execute(args),
            Self::Tables(args) => tables::execute(&args),
            Self::Perft(args) => perft::execute(&args),
            Self::Completions(args) => args.execute(program()),
            Self::Man(args) => args.execute(program()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_explains_itself_with_an_example() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            let help = command.clone().render_long_help().to_string();
            assert!(help.contains(&format!("megaton {name}")), "{name}: {help}");
        }
    }
}
