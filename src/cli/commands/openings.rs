//! `megaton openings`: balanced start positions for matches.

use std::path::PathBuf;

use megaton::engine::Evaluator;
use megaton::match_runner::{GeneratorOptions, generate};

use super::engine_match::failure;
use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output;
use crate::cli::output::progress::{self, PeriodicLine};
use crate::cli::setup::cores;

/// Generate balanced openings: random lines of six to eight half-moves
///
/// The same seed gives the same file with any number of threads; an interrupted run resumes, and a
/// larger count extends the file. Some four lines in ten are balanced enough. The first line of the file is
/// a comment that names the run; remove it for programs that expect only positions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton openings --count 20000 --seed 1 --out data/openings.epd
  megaton openings --count 500 --seed 7 --nodes 50000 --most 80 --out data/quiet.epd")]
pub(crate) struct Args {
    /// Number of openings
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    count: usize,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Output file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Nodes for the final evaluation of a line
    #[arg(long, value_name = "N", default_value_t = 8_000)]
    nodes: u64,
    /// Largest absolute score, in centipawns
    #[arg(long, value_name = "CP", default_value_t = 120, value_parser = clap::value_parser!(i32).range(1..))]
    most: i32,
    /// Evaluation to use: classical, or a net file
    #[arg(
        long,
        alias = "evalfile",
        value_name = "NET",
        default_value = "classical"
    )]
    eval_file: PathBuf,
    /// Lines to evaluate in parallel [default: every core]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let options = GeneratorOptions {
        count: args.count,
        seed: args.seed,
        nodes: args.nodes,
        most: args.most,
        evaluator: Evaluator::named(&args.eval_file).or_setup("--eval-file")?,
        threads: args.threads.unwrap_or_else(cores),
        out: args.out.clone(),
    };
    let bar = progress::bar(
        Some(args.count as u64),
        "{bar:40} {pos}/{len} openings  {elapsed}, {eta} to go",
    );
    let mut line = PeriodicLine::new();
    let found = generate(&options, |found| {
        progress::advance(&bar, found.openings as u64);
        if bar.is_hidden() {
            line.print(format_args!("{} openings", found.openings));
        }
    });
    bar.finish_and_clear();
    let found = found.map_err(failure)?;
    output::print(format!(
        "{} openings of {} lines in {}",
        found.openings,
        found.candidates,
        args.out.display()
    ))
}
