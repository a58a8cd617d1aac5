//! `megaton datagen`: self-play games for training.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use indicatif::ProgressBar;
use megaton::match_runner::parse_openings;
use megaton::training::{Beginnings, Generation, Goal, Progress, SelfPlayRules, generate};

use crate::cli::failure::{Failure, OrFailure as _};
use crate::cli::output::progress::{self, PeriodicLine};
use crate::cli::setup::{EvalArgs, cores};
use crate::cli::{output, runtime};

/// Generate training games: the engine plays itself
///
/// Every game begins with some random moves and depends on the seed and its number only, so the
/// files are the same on every machine and with any number of threads. Interrupt it at any time, even
/// with kill -9: the same command resumes. Without a goal it runs until Ctrl-C, which finishes the
/// games in progress. Delete a file that `megaton data verify` reports as broken: the same command
/// regenerates its games. A folder holds games of one evaluator only, and --endings and --starts stay the same.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  megaton datagen --out data/gen0 --eval-file classical --nodes 1000 --positions 5000000
  megaton datagen --out data/gen1 --seed 2 --minutes 30
  megaton datagen --out data/gen2 --endings 0.05 --starts lost.epd=0.05
  megaton data stats data/gen1")]
pub(crate) struct Args {
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
    /// Run at the lowest priority (nice 19)
    #[arg(long)]
    background: bool,
    /// Share of games that begin with a random ending, from 0 to 1: 5 to 10 pieces, kings within three squares
    /// of each other
    #[arg(long, value_name = "SHARE", default_value_t = 0.0, value_parser = share)]
    endings: f64,
    /// File of positions (EPD or FEN), and the share of games that begin with one of them and one to four
    /// random moves; castling rights and en passant squares that the rules do not allow are dropped
    #[arg(long, value_name = "FILE=SHARE")]
    starts: Option<StartFile>,
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

/// A file of start positions and the share of games that use it.
#[derive(Clone, Debug)]
struct StartFile {
    path: PathBuf,
    share: f64,
}

impl FromStr for StartFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, number) = text
            .rsplit_once('=')
            .ok_or("a file and a share are needed, like lost.epd=0.05")?;
        Ok(Self {
            path: path.into(),
            share: share(number)?,
        })
    }
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok();
    share
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| "a share from 0 to 1 is needed".to_owned())
}

fn beginnings(args: &Args) -> Result<Beginnings, Failure> {
    let mut beginnings = Beginnings {
        endings: args.endings,
        ..Beginnings::default()
    };
    if let Some(StartFile { path, share }) = &args.starts {
        let what = || format!("--starts {}", path.display());
        let text = fs::read_to_string(path).or_setup(what())?;
        let found = parse_openings(&text).or_setup(what())?;
        beginnings.starts = *share;
        beginnings.positions = found.iter().map(|opening| opening.position).collect();
    }
    let all = beginnings.endings + beginnings.starts;
    if all > 1.0 {
        let what = format!("--endings and --starts: {all} is more than all games; 1 is the most");
        return Err(Failure::setup(what));
    }
    Ok(beginnings)
}

pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let minutes = args.minutes;
    let task = Generation {
        folder: args.out.clone(),
        seed: args.seed,
        rules: SelfPlayRules {
            nodes: args.nodes,
            evaluator: args.eval.evaluator()?,
            beginnings: Arc::new(beginnings(args)?),
        },
        shard_games: args.shard_games,
        threads: args.threads.map_or_else(cores, usize::from),
        in_background: args.background,
        goal: Goal {
            games: args.games,
            positions: args.positions,
            time: minutes.map(|minutes| Duration::from_secs(60 * minutes)),
        },
    };
    let made = runtime::block_on(async {
        let signals = runtime::listen()?;
        let mut progress = DatagenProgress::new(task.goal);
        let stop = runtime::flag_of(&signals.drain, &progress.bar);
        let games = tokio::task::spawn_blocking(move || {
            let made = generate(&task, &stop, |now| progress.show(now));
            progress.bar.finish_and_clear();
            made
        });
        tokio::select! {
            made = games => made.map_err(|_| anyhow!("a game failed"))?.map_err(Failure::failed),
            () = signals.now.cancelled() => {
                Err(Failure::failed("interrupted; the same command continues"))
            }
        }
    })?;
    output::print(summary(made))
}

fn speed(made: Progress) -> f64 {
    made.positions as f64 / made.time.as_secs_f64().max(0.001)
}

fn summary(made: Progress) -> String {
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
        speed(made)
    )
}

struct DatagenProgress {
    bar: ProgressBar,
    line: PeriodicLine,
    goal: Goal,
}

impl DatagenProgress {
    fn new(goal: Goal) -> Self {
        let seconds = goal.time.map(|time| time.as_secs());
        let length = goal.positions.or(goal.games).or(seconds);
        let template = match length {
            Some(_) => "{bar:40} {percent}%  {msg}  {elapsed}",
            None => "{spinner} {msg}  {elapsed}",
        };
        Self {
            bar: progress::bar(length, template),
            line: PeriodicLine::new(),
            goal,
        }
    }

    fn show(&mut self, made: Progress) {
        if self.bar.is_hidden() {
            return self.line.print(summary(made));
        }
        self.bar.set_position(match self.goal {
            Goal {
                positions: Some(_), ..
            } => made.positions + made.found_positions,
            Goal { games: Some(_), .. } => made.games + made.found,
            _ => made.time.as_secs(),
        });
        self.bar.set_message(format!(
            "{} games, {} positions, {:.0}/s",
            made.games,
            made.positions,
            speed(made)
        ));
    }
}
