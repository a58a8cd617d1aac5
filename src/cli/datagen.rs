//! `megaton datagen`: games of the engine against itself, for a net to learn from.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use megaton::training::{Generation, Goal, Progress, SelfPlayRules, generate};

use super::failure::Failure;
use super::runtime;
use super::setup::EvalArgs;

/// Between two lines of progress where there is no terminal.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Generate training games: the engine plays itself
///
/// Every game begins with some random moves and depends on the seed and its number only, so the
/// files are the same on every machine and with any number of threads. Interrupt it at any time, even
/// with kill -9: the same command resumes. Without a goal it runs until Ctrl-C, which finishes the
/// games in progress. Delete a file that `megaton data verify` reports as broken: the same command
/// regenerates its games. A folder holds games of one evaluator only.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton datagen --out data/gen0 --eval-file classical --nodes 1000 --positions 5000000
  megaton datagen --out data/gen1 --seed 2 --minutes 30
  megaton data stats data/gen1")]
pub(super) struct Args {
    /// Output folder, created if missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Random seed; another seed gives other games
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Nodes to search for each move before the last iteration ends (at most eight times as many)
    #[arg(long, value_name = "N", default_value_t = 1500, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    nodes: u64,
    /// Games to run in parallel [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512))]
    threads: Option<u16>,
    /// Run at background priority, on idle cores only
    #[arg(long)]
    background: bool,
    /// Games per file
    #[arg(long, value_name = "N", default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    shard_games: u64,
    /// Stop after this many games of this seed, earlier runs included
    #[arg(long, value_name = "N")]
    games: Option<u64>,
    /// Stop after this many usable positions of this seed, earlier runs included
    #[arg(long, value_name = "N")]
    positions: Option<u64>,
    /// Stop after this time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    minutes: Option<u64>,
    #[command(flatten)]
    eval: EvalArgs,
}

pub(super) fn execute(args: &Args) -> Result<(), Failure> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let task = Generation {
        folder: args.out.clone(),
        seed: args.seed,
        rules: SelfPlayRules {
            nodes: args.nodes,
            evaluator: args.eval.evaluator()?,
        },
        shard_games: args.shard_games,
        threads: args.threads.map_or(cores, usize::from),
        in_background: args.background,
        goal: Goal {
            games: args.games,
            positions: args.positions,
            time: args
                .minutes
                .map(|minutes| Duration::from_secs(60 * minutes)),
        },
    };
    let made = runtime::block_on(async {
        let signals = runtime::listen()?;
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        tokio::spawn(async move {
            signals.drain.cancelled().await;
            told.store(true, Ordering::Relaxed);
        });
        let mut teller = DatagenProgress::new(task.goal);
        let games = tokio::task::spawn_blocking(move || {
            let made = generate(&task, &stop, |progress| teller.tell(progress));
            teller.end();
            made
        });
        let made = games.await.map_err(|_| anyhow!("a game failed"))?;
        made.map_err(|error| Failure::failed(error.to_string()))
    })?;
    writeln!(io::stdout().lock(), "{}", summary(made))?;
    Ok(())
}

fn summary(made: Progress) -> String {
    let seconds = made.time.as_secs_f64().max(0.001);
    let before = match made.found_positions {
        0 => String::new(),
        found => format!(" ({found} existing)"),
    };
    format!(
        "{} games ({} existing), {} plies, {} usable positions{before}, {:.0} usable positions/s",
        made.games,
        made.found,
        made.plies,
        made.positions,
        made.positions as f64 / seconds
    )
}

/// A bar on a terminal, a line now and then elsewhere.
struct DatagenProgress {
    bar: Option<ProgressBar>,
    told: Instant,
    goal: Goal,
}

impl DatagenProgress {
    fn new(goal: Goal) -> DatagenProgress {
        let bar = io::stderr().is_terminal().then(|| {
            let length = goal
                .positions
                .or(goal.games)
                .or(goal.time.map(|time| time.as_secs()));
            let (bar, template) = match length {
                Some(length) => (
                    ProgressBar::new(length),
                    "{bar:40} {percent}%  {msg}  {elapsed}",
                ),
                None => (ProgressBar::new_spinner(), "{spinner} {msg}  {elapsed}"),
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style);
            }
            bar
        });
        DatagenProgress {
            bar,
            told: Instant::now(),
            goal,
        }
    }

    fn tell(&mut self, progress: Progress) {
        if let Some(bar) = &self.bar {
            let done = match self.goal {
                Goal {
                    positions: Some(_), ..
                } => progress.positions + progress.found_positions,
                Goal { games: Some(_), .. } => progress.games + progress.found,
                _ => progress.time.as_secs(),
            };
            bar.set_position(done);
            let speed = progress.positions as f64 / progress.time.as_secs_f64().max(0.001);
            bar.set_message(format!(
                "{} games, {} positions, {speed:.0}/s",
                progress.games, progress.positions
            ));
        } else if self.told.elapsed() >= TOLD_EVERY {
            self.told = Instant::now();
            // No one may be reading; the work continues.
            let _ = writeln!(io::stderr().lock(), "{}", summary(progress));
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
