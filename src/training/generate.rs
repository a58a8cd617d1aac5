//! Many games on many cores, into shards, until there are enough.
//!
//! A shard is filled by one worker, in the order of its games, and a game depends on the seed and
//! its number alone: so the files are the same however many workers there are and however often
//! they were stopped.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::filter::Filter;
use super::selfplay::{Board, Rules};
use super::shard::{ShardError, ShardHeader, ShardWriter, failed};

/// The stack of a worker: that of a search, with a margin.
const STACK_BYTES: usize = 16 << 20;
/// How much nicer than usual a worker in the background is: as nice as can be.
const BACKGROUND_NICENESS: i32 = 19;
/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// When there is enough; whatever is met first. Nothing set: when told to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Goal {
    /// So many games of this seed, those of earlier runs included.
    pub games: Option<u64>,
    /// So many usable positions from this run.
    pub positions: Option<u64>,
    /// So long.
    pub time: Option<Duration>,
}

/// What is to be made.
#[derive(Clone, Debug)]
pub struct Generation {
    /// Where the shards are.
    pub folder: PathBuf,
    /// Where chance starts.
    pub seed: u64,
    /// How the games are played.
    pub rules: Rules,
    /// Games a shard.
    pub shard_games: u64,
    /// Games at the same time, each on a thread of its own.
    pub threads: usize,
    /// Whether the games use only what other programs leave of the cores.
    pub in_background: bool,
    /// When to stop.
    pub goal: Goal,
}

/// What has been made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Whole games of this run.
    pub games: u64,
    /// Their plies.
    pub plies: u64,
    /// Positions that a net may learn from, by the usual filter.
    pub positions: u64,
    /// Games found in the folder from earlier runs, in the shards looked at so far.
    pub found: u64,
    /// How long it took.
    pub time: Duration,
}

#[derive(Debug, Default)]
struct Counters {
    games: AtomicU64,
    plies: AtomicU64,
    positions: AtomicU64,
    found: AtomicU64,
    next_shard: AtomicU64,
    stopped: AtomicBool,
}

/// Makes games until the goal is met or `stop` says so; games begun are finished. `tell` is called
/// a few times a second.
///
/// # Errors
///
/// When the folder cannot be used, another process writes there, or a file is broken or full.
pub fn generate(
    task: &Generation,
    stop: &AtomicBool,
    mut tell: impl FnMut(Progress),
) -> Result<Progress, ShardError> {
    fs::create_dir_all(&task.folder).map_err(failed(&task.folder, "cannot be made"))?;
    let _lock = lock(&task.folder)?;
    let (counters, start) = (Counters::default(), Instant::now());
    let trouble = Mutex::new(None);
    thread::scope(|scope| -> Result<(), ShardError> {
        let mut workers = Vec::new();
        for number in 0..task.threads.max(1) {
            let builder = thread::Builder::new()
                .name(format!("games {number}"))
                .stack_size(STACK_BYTES);
            let work = || {
                if let Err(error) = work(task, &counters) {
                    *trouble.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    counters.stopped.store(true, Relaxed);
                }
            };
            let worker = builder.spawn_scoped(scope, work);
            if worker.is_err() {
                counters.stopped.store(true, Relaxed);
            }
            workers.push(worker.map_err(failed(&task.folder, "no thread for another game"))?);
        }
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(TELL_EVERY);
            let progress = counters.progress(start);
            tell(progress);
            if task.goal.is_met(&progress) || stop.load(Relaxed) {
                counters.stopped.store(true, Relaxed);
            }
        }
        Ok(())
    })?;
    match trouble.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(counters.progress(start)),
    }
}

impl Goal {
    /// Whether this run has made enough; the games of all runs are counted by the workers.
    fn is_met(&self, progress: &Progress) -> bool {
        self.time.is_some_and(|time| progress.time >= time)
            || self
                .positions
                .is_some_and(|most| progress.positions >= most)
    }
}

/// Keeps other processes out of the folder for as long as the file lives.
fn lock(folder: &Path) -> Result<File, ShardError> {
    let path = folder.join("lock");
    let file = File::create(&path).map_err(failed(&path, "cannot be written"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(ShardError::Other {
            path: folder.to_owned(),
            what: "another process is making games in this folder".to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(&path, "cannot be locked")(error)),
    }
}

impl Counters {
    fn progress(&self, start: Instant) -> Progress {
        Progress {
            games: self.games.load(Relaxed),
            plies: self.plies.load(Relaxed),
            positions: self.positions.load(Relaxed),
            found: self.found.load(Relaxed),
            time: start.elapsed(),
        }
    }
}

/// One worker: shard after shard.
fn work(task: &Generation, counters: &Counters) -> Result<(), ShardError> {
    if task.in_background {
        // On Linux this is the priority of the thread, not of the process. Failing is harmless.
        let _ = rustix::process::nice(BACKGROUND_NICENESS);
    }
    let mut board = Board::new(&task.rules);
    let filter = Filter::default();
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
        counters.found.fetch_add(shard.games(), Relaxed);
        while shard.games() < wanted.min(task.shard_games) && !counters.stopped.load(Relaxed) {
            let game = board.play(task.seed, first + shard.games());
            shard.add(&game)?;
            let usable = filter.usable(&game).map_or(0, |usable| usable.len());
            counters.plies.fetch_add(game.plies.len() as u64, Relaxed);
            counters.positions.fetch_add(usable as u64, Relaxed);
            counters.games.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Evaluator;

    fn task(folder: &Path, threads: usize, games: u64) -> Generation {
        Generation {
            folder: folder.to_owned(),
            seed: 8,
            rules: Rules {
                nodes: 40,
                evaluator: Evaluator::classical(),
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
    fn the_files_are_the_same_whatever_the_threads_and_the_stops() {
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
    fn two_processes_do_not_write_to_one_folder() {
        let folder = tempfile::tempdir().expect("a folder");
        let _held = lock(folder.path()).expect("nobody else");
        let error = generate(&task(folder.path(), 1, 1), &AtomicBool::new(false), |_| ());
        assert!(
            error
                .expect_err("held")
                .to_string()
                .contains("another process")
        );
    }
}
