//! `megaton uci`: the engine for chess programs.

use super::failure::Failure;
use super::setup::EvalArgs;

/// Be an engine for chess programs (UCI)
///
/// Speaks the Universal Chess Interface on stdin and stdout, for boards, match runners and
/// analysis. The variant is always atomic; `UCI_Variant` is offered for programs that insist.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton uci
  printf 'position startpos moves g1f3\\ngo movetime 500\\n' | megaton uci")]
pub(super) struct Args {
    #[command(flatten)]
    eval: EvalArgs,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    megaton::uci::run_stdio(args.eval.evaluator()?)?;
    Ok(())
}
