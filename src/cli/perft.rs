//! `megaton perft`: counts the positions that legal moves lead to.

use super::failure::Failure;

/// Count legal move paths to a depth
///
/// The usual check of a move generator, and its speed. From the start position the numbers are 20,
/// 400, 8902, 197326, 4864979, 118926425, …
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton perft 5
  megaton perft 3 --divide
  megaton perft 4 --fen 'rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 2 2'")]
pub(super) struct Args {
    /// Depth in plies
    depth: u32,
    /// Position to start from [default: the start position]
    #[arg(long)]
    fen: Option<String>,
    /// Show the count behind each move
    #[arg(long)]
    divide: bool,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let _ = (args.depth, &args.fen, args.divide);
    Err(Failure::failed("this build has no rules"))
}
