//! `megaton openings`: level positions for matches to begin from.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use megaton::engine::Evaluator;
use megaton::match_runner::{GeneratorOptions, generate};

use super::engine_match::failure;
use super::failure::Failure;

/// Generate balanced openings: random lines of six to eight half-moves
///
/// The same seed gives the same file with any number of threads; an interrupted run resumes, and a
/// larger count extends the file. About one line in ten is balanced enough.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton openings --count 20000 --seed 1 --out data/openings.epd
  megaton openings --count 500 --seed 7 --nodes 50000 --most 80 --out data/quiet.epd")]
pub(super) struct Args {
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

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let evaluator = evaluator(&args.eval_file)?;
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let options = GeneratorOptions {
        count: args.count,
        seed: args.seed,
        nodes: args.nodes,
        most: args.most,
        evaluator,
        threads: args.threads.unwrap_or(cores),
        out: args.out.clone(),
    };
    let bar = bar(args.count);
    let minted = generate(&options, |minted| bar.set_position(minted.openings as u64));
    bar.finish_and_clear();
    let minted = minted.map_err(failure)?;
    writeln!(
        io::stdout().lock(),
        "{} openings of {} lines in {}",
        minted.openings,
        minted.candidates,
        args.out.display()
    )?;
    Ok(())
}

fn evaluator(name: &Path) -> Result<Evaluator, Failure> {
    Evaluator::named(name).map_err(|error| Failure::setup(format!("--eval-file: {error}")))
}

fn bar(count: usize) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:40} {pos}/{len} openings  {elapsed}, {eta} to go")
    {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(250));
    bar
}
