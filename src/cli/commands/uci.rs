//! `megaton uci`: the engine for chess programs.

use crate::cli::failure::Failure;
use crate::cli::setup::EvalArgs;

/// Run as a UCI engine for chess programs
///
/// Speaks the Universal Chess Interface on stdin and stdout, for GUIs, match runners and analysis.
/// The variant is always atomic; `UCI_Variant` is offered for programs that require it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton uci
  printf 'position startpos moves g1f3\\ngo movetime 500\\n' | megaton uci")]
pub(crate) struct Args {
    #[command(flatten)]
    eval: EvalArgs,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    Ok(megaton::uci::run_stdio(args.eval.evaluator()?)?)
}
