//! `megaton perft`: counts the leaf nodes of the tree of legal moves.

use std::time::Instant;

use megaton::rules::Position;

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output;

/// Count leaf nodes of the legal move tree to a depth
///
/// The standard test of a move generator, and a measure of its speed. From the start position: 20,
/// 400, 8902, 197326, 4864979, 118926425, …
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton perft 5
  megaton perft 3 --divide
  megaton perft 4 --fen 'rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 2 2'")]
pub(crate) struct Args {
    /// Depth in plies
    #[arg(value_parser = clap::value_parser!(u32).range(..=50))]
    depth: u32,
    /// Start position as FEN [default: the initial position]
    #[arg(long)]
    fen: Option<String>,
    /// Print the count of each root move
    #[arg(long)]
    divide: bool,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let start = match &args.fen {
        Some(fen) => Position::from_fen(fen).or_setup("--fen")?,
        None => Position::default(),
    };
    let begun = Instant::now();
    let nodes = if args.divide && args.depth > 0 {
        let mut nodes = 0;
        for mv in start.legal_moves() {
            let behind = start.play(mv).perft(args.depth - 1);
            output::print(format!("{mv}: {behind}"))?;
            nodes += behind;
        }
        output::print("")?;
        nodes
    } else {
        start.perft(args.depth)
    };
    let seconds = begun.elapsed().as_secs_f64();
    output::print(format!("Nodes searched: {nodes}"))?;
    let speed = nodes as f64 / seconds.max(1e-9) / 1e6;
    output::print(format!("{seconds:.3} s, {speed:.1} million a second"))
}
