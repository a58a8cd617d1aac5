//! Generates games on many cores, into shards, until there are enough.
//!
//! One worker fills a shard, in the order of its games, and a game depends only on the seed and its number.
//! So the files do not depend on the number of workers or on interruptions.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::filter::Filter;
use super::folder::{BEGINNINGS, EVALUATOR, claim, lock};
use super::record::GameRecord;
use super::selfplay::{SelfPlayBoard, SelfPlayRules};
use super::shard::{ShardError, ShardHeader, ShardReader, ShardWriter, failed, other, shards_of};

/// The stack of a worker: that of a search, plus a margin.
const STACK_BYTES: usize = 16 << 20;
/// The niceness of a background worker: the highest.
const BACKGROUND_NICENESS: i32 = 19;
/// The interval of progress reports.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// The goal, whichever comes first. Without any, the run ends when stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// The number of games of this seed, including earlier runs.
    pub games: Option<u64>,
    /// The number of usable positions of this seed, including earlier runs.
    pub positions: Option<u64>,
    pub time: Option<Duration>,
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Generation {
    /// The folder of the shards.
    pub folder: PathBuf,
    pub seed: u64,
    /// The settings of self-play.
    pub rules: SelfPlayRules,
    pub shard_games: u64,
    /// The games at the same time, each on its own thread.
    pub threads: usize,
    /// Whether the games only use idle CPU time.
    pub in_background: bool,
    pub goal: Goal,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Complete games of this run.
    pub games: u64,
    pub plies: u64,
    /// Usable positions, by the usual filter.
    pub positions: u64,
    /// Games of earlier runs in the shards read so far.
    pub found: u64,
    /// Usable positions of these games; counted only if positions are the goal.
    pub found_positions: u64,
    /// The duration so far.
    pub time: Duration,
}

#[derive(Debug, Default)]
struct Counters {
    games: AtomicU64,
    plies: AtomicU64,
    positions: AtomicU64,
    found: AtomicU64,
    found_positions: AtomicU64,
    next_found: AtomicUsize,
    next_shard: AtomicU64,
    stopped: AtomicBool,
}

/// Generates games until the goal is met or `stop` is set, and finishes running games. Calls `on_progress` a few
/// times a second.
///
/// # Errors
///
/// When the folder cannot be used, another process writes there, its games use another evaluator or node limit
/// or begin in other ways, its files hold other numbers of games, or a file is broken or full.
pub fn generate(
    task: &Generation,
    stop: &AtomicBool,
    mut on_progress: impl FnMut(Progress),
) -> Result<Progress, ShardError> {
    fs::create_dir_all(&task.folder).map_err(failed(&task.folder, "cannot be made"))?;
    let _lock = lock(&task.folder)?;
    let shards = shards_of(&task.folder, task.seed)?;
    check(task, &shards)?;
    let evaluator = (EVALUATOR, task.rules.evaluator.id());
    let beginnings = (BEGINNINGS, task.rules.beginnings.to_string());
    claim(&task.folder, &[evaluator, beginnings])?;
    let (counters, start) = (Counters::default(), Instant::now());
    let mut look = || {
        let progress = counters.progress(start);
        on_progress(progress);
        if task.goal.is_met(&progress) || stop.load(Relaxed) {
            counters.stopped.store(true, Relaxed);
        }
    };
    if task.goal.positions.is_some() {
        let count = || count(&shards, &counters);
        on_all_threads(task, &counters, count, &mut look)?;
    }
    on_all_threads(task, &counters, || work(task, &counters), &mut look)?;
    Ok(counters.progress(start))
}

/// Runs `work` on every thread of the task, and `look` regularly and once all have ended.
fn on_all_threads(
    task: &Generation,
    counters: &Counters,
    work: impl Fn() -> Result<(), ShardError> + Sync,
    look: &mut impl FnMut(),
) -> Result<(), ShardError> {
    let trouble = Mutex::new(None);
    let work = || {
        if task.in_background {
            // On Linux this is the priority of the thread, not of the process. A failure is harmless.
            let _ = rustix::process::nice(BACKGROUND_NICENESS);
        }
        if let Err(error) = work() {
            *trouble.lock() = Some(error);
            counters.stopped.store(true, Relaxed);
        }
    };
    thread::scope(|scope| -> Result<(), ShardError> {
        let mut workers = Vec::new();
        for number in 0..task.threads.max(1) {
            let builder = thread::Builder::new()
                .name(format!("games {number}"))
                .stack_size(STACK_BYTES);
            let worker = builder.spawn_scoped(scope, work);
            if worker.is_err() {
                counters.stopped.store(true, Relaxed);
            }
            workers.push(worker.map_err(failed(&task.folder, "no thread for another game"))?);
        }
        loop {
            let is_over = workers.iter().all(thread::ScopedJoinHandle::is_finished);
            look();
            if is_over {
                return Ok(());
            }
            thread::sleep(TELL_EVERY);
        }
    })?;
    match trouble.into_inner() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl Goal {
    /// Whether the goal is met; the workers count games.
    fn is_met(&self, progress: &Progress) -> bool {
        self.time.is_some_and(|time| progress.time >= time)
            || self
                .positions
                .is_some_and(|most| progress.positions + progress.found_positions >= most)
    }
}

impl Counters {
    fn progress(&self, start: Instant) -> Progress {
        Progress {
            games: self.games.load(Relaxed),
            plies: self.plies.load(Relaxed),
            positions: self.positions.load(Relaxed),
            found: self.found.load(Relaxed),
            found_positions: self.found_positions.load(Relaxed),
            time: start.elapsed(),
        }
    }
}

/// Refuses a task that does not go on where the shards of its seed end. It writes nothing, so that the right
/// settings still fit afterwards.
fn check(task: &Generation, shards: &[PathBuf]) -> Result<(), ShardError> {
    let mut ranges = Vec::new();
    for path in shards {
        let mut reader = ShardReader::open(path)?;
        let header = reader.header();
        reader.demand(ShardHeader {
            nodes: task.rules.nodes as u32,
            ..header
        })?;
        let games = reader.count()?;
        if games > 0 {
            ranges.push((header.first, games));
        }
    }
    let size = task.shard_games;
    let fits = |&(first, games): &(u64, u64)| first.is_multiple_of(size) && games <= size;
    if ranges.iter().all(fits) {
        return Ok(());
    }
    let firsts = ranges.iter().map(|&(first, _)| first);
    let most = ranges.iter().map(|&(_, games)| games).max();
    let most = most.unwrap_or_default();
    // The first shard alone tells no more than its games.
    let right = match firsts.fold(0, common_divisor) {
        0 => most,
        step => step,
    };
    let what = if right < most {
        "its files were made with several --shard-games, and two of them may hold the same games: use another \
         folder or --seed"
            .to_owned()
    } else {
        format!(
            "--shard-games {size} would make some of its games again: use --shard-games {right}, or another folder"
        )
    };
    Err(other(&task.folder)(what))
}

/// The greatest common divisor; that of 0 and a number is the number.
fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Counts the games of earlier runs, shard after shard.
fn count(shards: &[PathBuf], counters: &Counters) -> Result<(), ShardError> {
    while !counters.stopped.load(Relaxed) {
        let Some(path) = shards.get(counters.next_found.fetch_add(1, Relaxed)) else {
            return Ok(());
        };
        let mut reader = ShardReader::open(path)?;
        while let Some(game) = reader.next()? {
            counters.found.fetch_add(1, Relaxed);
            counters.found_positions.fetch_add(usable(&game), Relaxed);
        }
    }
    Ok(())
}

fn usable(game: &GameRecord) -> u64 {
    let usable = Filter::default().usable(game);
    usable.map_or(0, |usable| usable.len() as u64)
}

/// The loop of a worker: shard after shard.
fn work(task: &Generation, counters: &Counters) -> Result<(), ShardError> {
    let mut board = SelfPlayBoard::new(&task.rules);
    while !counters.stopped.load(Relaxed) {
        let first = counters.next_shard.fetch_add(1, Relaxed) * task.shard_games;
        let wanted = task.goal.games.unwrap_or(u64::MAX).saturating_sub(first);
        if wanted == 0 {
            return Ok(());
        }
        let header = ShardHeader {
            seed: task.seed,
            first,
            nodes: task.rules.nodes as u32,
        };
        let mut shard = ShardWriter::open(&task.folder, header)?;
        // If positions are the goal, `count` has counted them.
        if task.goal.positions.is_none() {
            counters.found.fetch_add(shard.games(), Relaxed);
        }
        while shard.games() < wanted.min(task.shard_games) && !counters.stopped.load(Relaxed) {
            let game = board.play(task.seed, first + shard.games());
            shard.add(&game)?;
            counters.plies.fetch_add(game.plies.len() as u64, Relaxed);
            counters.positions.fetch_add(usable(&game), Relaxed);
            counters.games.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::engine::Evaluator;
    use crate::training::Beginnings;

    fn task(folder: &Path, threads: usize, games: u64) -> Generation {
        Generation {
            folder: folder.to_owned(),
            seed: 8,
            rules: SelfPlayRules {
                nodes: 40,
                evaluator: Evaluator::classical(),
                beginnings: Arc::default(),
            },
            shard_games: 3,
            threads,
            in_background: false,
            goal: Goal {
                games: Some(games),
                ..Goal::default()
            },
        }
    }

    fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
        let shards = super::super::find_shards(&[folder.to_owned()]).expect("shards");
        let read = |path: PathBuf| {
            let bytes = fs::read(&path).expect("a shard");
            (path.file_name().expect("a name").into(), bytes)
        };
        shards.into_iter().map(read).collect()
    }

    #[test]
    fn the_files_do_not_depend_on_threads_or_stops() {
        let (one, other) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        );
        let never = AtomicBool::new(false);
        let made = generate(&task(one.path(), 1, 8), &never, |_| ()).expect("games");
        assert_eq!((made.games, made.found), (8, 0));
        generate(&task(other.path(), 3, 5), &never, |_| ()).expect("games");
        let cut = other.path().join(files(other.path())[1].0.clone());
        let bytes = fs::read(&cut).expect("a shard");
        fs::write(&cut, &bytes[..bytes.len() - 5]).expect("a shard");
        let made = generate(&task(other.path(), 2, 8), &never, |_| ()).expect("games");
        assert_eq!((made.games, made.found), (4, 4));
        assert_eq!(files(one.path()), files(other.path()));
    }

    #[test]
    fn games_with_other_beginnings_do_not_mix_with_those_of_a_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let never = AtomicBool::new(false);
        let mut task = task(folder.path(), 1, 2);
        generate(&task, &never, |_| ()).expect("games");
        task.rules.beginnings = Arc::new(Beginnings {
            endings: 0.5,
            ..Beginnings::default()
        });
        let error = generate(&task, &never, |_| ())
            .expect_err("endings")
            .to_string();
        assert!(error.contains("random openings, 0.5 endings"), "{error}");
        let other = tempfile::tempdir().expect("a folder");
        task.folder = other.path().to_owned();
        generate(&task, &never, |_| ()).expect("games");
        task.goal.games = Some(3);
        assert_eq!(generate(&task, &never, |_| ()).expect("games").found, 2);
        task.rules.beginnings = Arc::default();
        generate(&task, &never, |_| ()).expect_err("no endings");
    }

    #[test]
    fn files_with_common_games_are_refused_with_any_size() {
        let (folder, other) = (
            tempfile::tempdir().expect("a folder"),
            tempfile::tempdir().expect("a folder"),
        );
        let never = AtomicBool::new(false);
        let of_size = |folder: &Path, shard_games| Generation {
            shard_games,
            ..task(folder, 1, 6)
        };
        generate(&of_size(folder.path(), 3), &never, |_| ()).expect("games");
        generate(&of_size(other.path(), 2), &never, |_| ()).expect("games");
        let (name, bytes) = files(other.path()).remove(1);
        fs::write(folder.path().join(name), bytes).expect("a shard");
        let before = files(folder.path());
        for size in 1..5 {
            let refused = generate(&of_size(folder.path(), size), &never, |_| ());
            let error = refused.expect_err("game 3 is in two files").to_string();
            assert!(error.contains("several --shard-games"), "{size}: {error}");
        }
        assert_eq!(files(folder.path()), before);
    }

    #[test]
    fn positions_of_earlier_runs_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let make = |positions| {
            let goal = Goal {
                positions: Some(positions),
                ..Goal::default()
            };
            let task = Generation {
                goal,
                ..task(folder.path(), 2, 0)
            };
            generate(&task, &AtomicBool::new(false), |_| ()).expect("games")
        };
        let first = make(60);
        assert!(first.positions >= 60, "{first:?}");
        let kept = files(folder.path());
        let again = make(60);
        assert!(again.found_positions >= 60, "{again:?}");
        assert_eq!((again.games, files(folder.path())), (0, kept));
        let more = make(first.positions + 1);
        assert_eq!(
            (more.found, more.found_positions),
            (first.games, first.positions)
        );
        assert!(more.games > 0, "{more:?}");
    }

    #[test]
    fn games_with_other_node_limits_are_rejected() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut task = task(folder.path(), 1, 1);
        let never = AtomicBool::new(false);
        generate(&task, &never, |_| ()).expect("a game");
        task.goal.positions = Some(1);
        task.rules.nodes = 50;
        let error = generate(&task, &never, |_| ()).expect_err("other nodes");
        assert!(
            error.to_string().contains("40 nodes a move, now 50"),
            "{error}"
        );
    }
}
