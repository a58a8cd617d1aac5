//! `megaton bench`: node count and speed of the search, or its score on a test suite.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use megaton::engine::nnue::Simd;
use megaton::engine::{EngineOptions, Evaluator, bench, suite};

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output;
use crate::cli::setup::EvalArgs;

/// Benchmark the search: node count and speed
///
/// The node count is the same on every machine as long as the search is unchanged; the speed is
/// this machine's. With --suite, solve the positions of an EPD file and count how often the engine
/// finds the right move. With several threads the node count varies between runs; compare the time to
/// a depth instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton bench
  megaton bench 10
  megaton bench 14 --threads 4 --hash 256
  megaton bench --suite atomic-tactics.epd --nodes 100000")]
pub(crate) struct Args {
    /// Depth in plies [default: that of the standard bench]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    depth: Option<u32>,
    /// Solve the positions of this EPD file (operation c0 or bm holds the right moves)
    #[arg(long, value_name = "FILE", conflicts_with = "depth")]
    suite: Option<PathBuf>,
    /// Nodes per suite position
    #[arg(long, value_name = "N", default_value_t = 100_000, requires = "suite", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Search threads
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "suite", value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: u8,
    /// Hash size in MB
    #[arg(long, value_name = "MB", default_value_t = bench::HASH_MB as u32, conflicts_with = "suite", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hash: u32,
    #[command(flatten)]
    eval: EvalArgs,
    /// Evaluate the net with these instructions: plain, avx2 or avx512 [default: best available]
    #[arg(long, hide_short_help = true)]
    simd: Option<Simd>,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let mut evaluator = args.eval.evaluator()?;
    if let Some(simd) = args.simd {
        evaluator = evaluator.with_simd(simd);
    }
    if let Some(path) = &args.suite {
        return solve(&evaluator, path, args.nodes);
    }
    let id = evaluator.id();
    let options = EngineOptions {
        hash_mb: args.hash as usize,
        threads: usize::from(args.threads),
        evaluator,
        ..EngineOptions::default()
    };
    let report = bench::bench_with(&options, args.depth);
    let (seconds, speed) = (report.time.as_secs_f64(), report.speed());
    let positions = bench::POSITIONS.len();
    output::print(format!(
        "{positions} positions in {seconds:.2} s, evaluation {id}"
    ))?;
    // Test frameworks for engines parse this last line.
    output::print(format!("{} nodes {speed} nps", report.nodes))
}

fn solve(evaluator: &Evaluator, path: &Path, nodes: u64) -> Result<(), Failure> {
    let name = path.display();
    let text = fs::read_to_string(path).or_setup(format!("cannot read the suite {name}"))?;
    let puzzles = suite::parse(&text).or_setup(&name)?;
    if puzzles.is_empty() {
        return Err(Failure::setup(format!("{name}: no positions in it")));
    }
    suite::run(evaluator, &puzzles, nodes, &mut io::stdout().lock())?;
    Ok(())
}
