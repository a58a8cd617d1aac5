//! `megaton data`: statistics and checks of training games, and samples from them.

use std::path::PathBuf;

use megaton::training::{
    Filter, Packed, ShardError, ShuffleOptions, find_shards, pack, shuffle, stats, verify,
};

use crate::cli::failure::Failure;
use crate::cli::output::{self, progress};
use crate::cli::runtime;

/// Inspect and pack training games, and make samples from them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton data stats data/gen0
  megaton data verify data/gen0 data/gen1
  megaton data pack data/gen0 --out data/gen0.packed
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
    /// Compress games to 40% of their size
    ///
    /// All commands read packed files like others. Each file keeps its name and is written atomically; the same
    /// command continues an interrupted run. Pack a folder in place with the folder itself as `--out`;
    /// `megaton datagen` continues it. Finds every damaged byte, like `verify`.
    Pack(Pack),
    /// Make samples for `megaton train` (a build with --features train): filtered, deduplicated,
    /// in random order
    ///
    /// Leaves out positions in check, before a capture or promotion, with a king to explode at once,
    /// or with a score beyond the limit. Where --memory does not suffice, the samples go through temporary
    /// files in a folder beside the output, of about 80 bytes per position. The same games, options
    /// and seed give the same file with any --memory.
    Shuffle(Shuffle),
}

#[derive(Debug, clap::Args)]
struct Places {
    /// Game files, or folders of them
    #[arg(required = true, value_name = "PLACE")]
    places: Vec<PathBuf>,
}

#[derive(Debug, clap::Args)]
struct Pack {
    #[command(flatten)]
    places: Places,
    /// Output folder, created if missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
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
    /// Memory to use, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 2048, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    memory: u64,
}

fn look_ahead(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok();
    factor
        .filter(|factor| (0.0..1.0).contains(factor))
        .ok_or_else(|| "a factor from 0 to below 1 is needed".to_owned())
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    output::print_text(match &args.task {
        Task::Stats(at) => count(at).map_err(Failure::failed)?,
        Task::Verify(at) => check(at).map_err(Failure::failed)?,
        Task::Pack(args) => pack_games(args).map_err(Failure::failed)?,
        Task::Shuffle(args) => make_samples(args)?,
    })
}

fn count(at: &Places) -> Result<String, ShardError> {
    let stats = stats(&find_shards(&at.places)?)?;
    Ok(stats.to_string())
}

fn check(at: &Places) -> Result<String, ShardError> {
    let found = verify(&find_shards(&at.places)?)?;
    Ok(format!(
        "{} games with {} plies are valid; {} bytes of truncated tails\n",
        found.games, found.plies, found.tails
    ))
}

fn pack_games(args: &Pack) -> Result<String, ShardError> {
    let shards = find_shards(&args.places.places)?;
    let bar = progress::bar(
        Some(shards.len() as u64),
        "{bar:40} {pos}/{len} files  {elapsed}, {eta} to go",
    );
    let packed = pack(&shards, &args.out, |done| bar.set_position(done as u64));
    bar.finish_and_clear();
    packed.map(packed_summary)
}

fn packed_summary(packed: Packed) -> String {
    let a_ply = |bytes: u64| bytes as f64 / packed.plies.max(1) as f64;
    let tails = match packed.tails {
        0 => String::new(),
        tails => format!("{tails} bytes of truncated tails left out\n"),
    };
    format!(
        "{} files packed ({} already), {} games, {} plies: {} bytes instead of {} ({:.2} a ply instead of {:.2})\n{tails}",
        packed.files,
        packed.skipped,
        packed.games,
        packed.plies,
        packed.bytes,
        packed.bytes_before,
        a_ply(packed.bytes),
        a_ply(packed.bytes_before),
    )
}

fn make_samples(args: &Shuffle) -> Result<String, Failure> {
    let shards = find_shards(&args.places.places).map_err(Failure::failed)?;
    let options = ShuffleOptions {
        filter: Filter {
            most: args.most,
            from_ply: args.from_ply,
            look_ahead: args.look_ahead,
        },
        validation: args.validation,
        keep_duplicates: args.keep_duplicates,
        seed: args.seed,
        memory: args.memory << 20,
    };
    let out = args.out.clone();
    let bar = progress::bar(Some(0), "{bar:40} {percent}%  {elapsed}, {eta} to go");
    let made = runtime::interruptible(move |stop| {
        let made = shuffle(&shards, &out, &options, stop, |done, steps| {
            bar.set_length(steps);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        made
    })?;
    let made = made.map_err(Failure::failed)?;
    Ok(format!(
        "{} samples ({} for validation) from {} games; {} duplicates dropped\n",
        made.samples, made.validation, made.games, made.duplicates
    ))
}
