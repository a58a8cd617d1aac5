//! `megaton data`: statistics and checks of training games, and samples from them.

use std::path::PathBuf;

use megaton::training::{Filter, ShardError, ShuffleOptions, find_shards, shuffle, stats, verify};

use crate::cli::failure::Failure;
use crate::cli::output::{self, progress};

/// Inspect training games and make samples from them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton data stats data/gen0
  megaton data verify data/gen0 data/gen1
  megaton data shuffle data/gen0 data/gen1 --out data/both.samples")]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, clap::Subcommand)]
enum Task {
    /// Count games, results, plies, usable positions and scores
    Stats(Places),
    /// Replay every game by the rules; report the first error with file and byte
    Verify(Places),
    /// Make samples for `megaton train`: filtered, deduplicated, in random order
    ///
    /// Leaves out positions in check, before a capture or promotion, with a threatened explosion,
    /// or with a score beyond the limit. Needs about 70 bytes of memory per position.
    Shuffle(Shuffle),
}

#[derive(Debug, clap::Args)]
struct Places {
    /// Game files, or folders of them
    #[arg(required = true, value_name = "PLACE")]
    places: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Shuffle {
    #[command(flatten)]
    places: Places,
    /// Output file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Largest absolute score to keep, in centipawns
    #[arg(long, value_name = "CP", default_value_t = 2500, value_parser = clap::value_parser!(i16).range(1..))]
    most: i16,
    /// First ply of a game to use, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    from_ply: usize,
    /// Weight of each later score of the game against the one before it in the label of a position,
    /// from 0 (its own score only) to below 1
    #[arg(long, value_name = "FACTOR", default_value_t = 0.8, value_parser = look_ahead)]
    look_ahead: f64,
    /// Percentage of games set aside for validation
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=50))]
    validation: u64,
    /// Keep duplicate positions
    #[arg(long)]
    keep_duplicates: bool,
    /// Random seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

fn look_ahead(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok();
    factor
        .filter(|factor| (0.0..1.0).contains(factor))
        .ok_or_else(|| "a factor from 0 to below 1 is needed".to_owned())
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let report = match &args.task {
        Task::Stats(at) => find_shards(&at.places)
            .and_then(|shards| stats(&shards))
            .map(|stats| stats.to_string()),
        Task::Verify(at) => find_shards(&at.places)
            .and_then(|shards| verify(&shards))
            .map(|found| {
                format!(
                    "{} games with {} plies are valid; {} bytes of truncated tails\n",
                    found.games, found.plies, found.tails
                )
            }),
        Task::Shuffle(args) => make_samples(args),
    };
    output::print_text(report.map_err(Failure::failed)?)
}

fn make_samples(args: &Shuffle) -> Result<String, ShardError> {
    let shards = find_shards(&args.places.places)?;
    let options = ShuffleOptions {
        filter: Filter {
            most: args.most,
            from_ply: args.from_ply,
            look_ahead: args.look_ahead,
        },
        validation: args.validation,
        keep_duplicates: args.keep_duplicates,
        seed: args.seed,
    };
    let bar = progress::bar(
        Some(shards.len() as u64),
        "{bar:40} {pos}/{len} files  {elapsed}",
    );
    let made = shuffle(&shards, &args.out, &options, |done| {
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let made = made?;
    Ok(format!(
        "{} samples ({} for validation) from {} games; {} duplicates dropped\n",
        made.samples, made.validation, made.games, made.duplicates
    ))
}
