//! `megaton perft`: counts the positions that legal moves lead to.

use std::io::{self, Write};
use std::time::Instant;

use megaton::rules::Position;

use super::failure::Failure;

/// Count leaf nodes of the legal move tree to a depth
///
/// The standard test of a move generator, and a measure of its speed. From the start position: 20,
/// 400, 8902, 197326, 4864979, 118926425, …
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton perft 5
  megaton perft 3 --divide
  megaton perft 4 --fen 'rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 2 2'")]
pub(super) struct Args {
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

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let start = match &args.fen {
        Some(fen) => {
            Position::from_fen(fen).map_err(|error| Failure::setup(format!("--fen: {error}")))?
        }
        None => Position::default(),
    };
    let mut out = io::stdout().lock();
    let begun = Instant::now();
    let nodes = if args.divide && args.depth > 0 {
        let mut nodes = 0;
        for mv in start.legal_moves() {
            let behind = start.play(mv).perft(args.depth - 1);
            writeln!(out, "{mv}: {behind}")?;
            nodes += behind;
        }
        writeln!(out)?;
        nodes
    } else {
        start.perft(args.depth)
    };
    let seconds = begun.elapsed().as_secs_f64();
    writeln!(out, "Nodes searched: {nodes}")?;
    let speed = nodes as f64 / seconds.max(1e-9) / 1e6;
    writeln!(out, "{seconds:.3} s, {speed:.1} million a second")?;
    Ok(())
}
