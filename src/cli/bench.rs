//! `megaton bench`: the engine's fingerprint and its speed, or its score on a suite.

use std::path::PathBuf;

use super::failure::Failure;

/// Search fixed positions: a fingerprint and a speed
///
/// The number of nodes is the same on every machine as long as the search is the same; the speed
/// is this machine's. With --suite it solves the positions of an EPD file instead and counts how
/// often the move it settles on is the right one.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton bench
  megaton bench 10
  megaton bench --suite atomic-tactics.epd --nodes 100000")]
pub(super) struct Args {
    /// Depth in plies [default: the fingerprint's]
    depth: Option<u32>,
    /// Solve the positions of this EPD file (operation c0 or bm holds the best move)
    #[arg(long, value_name = "FILE", conflicts_with = "depth")]
    suite: Option<PathBuf>,
    /// Nodes a position of the suite
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "suite")]
    nodes: u64,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let _ = (args.depth, &args.suite, args.nodes);
    Err(Failure::failed("this build has no engine"))
}
