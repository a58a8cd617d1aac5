//! The pool: owns the cores and the transposition table, and leases them to games.
//!
//! A lease has one thread, started when first needed and parked between searches, so that a move
//! costs no thread start and no large allocation. However many leases there are, at most `threads`
//! of them compute at once; helper threads use what they leave (`helper_threads`).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak, mpsc};
use std::thread::{self, Thread};

use parking_lot::Mutex;

use super::core_scheduler::{CorePermits, give_way};
use super::evaluator::Evaluator;
use super::helper_threads::HelperThreads;
use super::limits::Limits;
use super::options::EngineOptions;
use super::params;
use super::search::{Searcher, Task, safe_move};
use super::search_handle::{Search, SearchShared};
use super::search_result::{Info, ReportSink, SearchResult, StopReason};
use super::tablebase::Tablebases;
use super::tt::TranspositionTable;
use crate::rules::Game;

/// The cores and the memory of all games. Clones share them.
#[derive(Clone)]
pub struct Pool(Arc<Shared>);

struct Shared {
    table: Arc<TranspositionTable>,
    permits: Arc<CorePermits>,
    options: EngineOptions,
    /// Present with more than one thread.
    helpers: Option<Arc<HelperThreads<Searcher>>>,
    in_background: bool,
    searching: AtomicUsize,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pool").field(self.evaluator()).finish()
    }
}

impl Pool {
    /// A pool whose threads run at ordinary priority.
    pub fn new(options: &EngineOptions) -> Pool {
        Pool::build(options, false)
    }

    /// A pool whose threads run at background priority.
    pub fn in_background(options: &EngineOptions) -> Pool {
        Pool::build(options, true)
    }

    fn build(options: &EngineOptions, in_background: bool) -> Pool {
        let table = Arc::new(TranspositionTable::new(options.hash_mb));
        let permits = Arc::new(CorePermits::new(options.threads));
        let threads = options.threads.clamp(1, params::MOST_THREADS) - 1;
        let helpers = (threads > 0).then(|| {
            let (table, options) = (Arc::clone(&table), options.clone());
            let of_helpers = Arc::clone(&permits);
            let new_state = Box::new(move || {
                Searcher::new(Arc::clone(&table), Arc::clone(&of_helpers), &options)
            });
            let permits = Arc::clone(&permits);
            let helpers = HelperThreads::new(permits, threads, in_background, new_state);
            Arc::new(helpers)
        });
        Pool(Arc::new(Shared {
            table,
            permits,
            options: options.clone(),
            helpers,
            in_background,
            searching: AtomicUsize::new(0),
        }))
    }

    pub fn evaluator(&self) -> &Evaluator {
        &self.0.options.evaluator
    }

    /// The endgame tables that searches ask, if there are any.
    pub fn tables(&self) -> Option<&Tablebases> {
        self.0.options.tables.as_ref()
    }

    /// A game's lease.
    pub fn lease(&self) -> Engine {
        Engine {
            pool: self.clone(),
            worker: Mutex::new(None),
            current: Mutex::new(Weak::new()),
        }
    }

    /// How much of the table the searches of the present age have filled, in permille.
    pub fn table_fill(&self) -> u32 {
        self.0.table.fullness()
    }

    /// Number of searches in progress, including those that wait for a core.
    pub fn searching(&self) -> usize {
        self.0.searching.load(Ordering::Relaxed)
    }

    /// Size of the transposition table in megabytes: less than asked for where the system has no more.
    pub fn hash_mb(&self) -> usize {
        self.0.table.megabytes()
    }

    /// Has the system provide the transposition table's memory now, up to 4 GB, so that no search waits for it:
    /// up to a second for each gigabyte, and no time if it has.
    pub fn commit_hash(&self) {
        self.0.table.commit();
    }

    /// Clears the transposition table for all games.
    pub fn clear_hash(&self) {
        self.0.table.clear();
    }
}

/// One game's lease on a [`Pool`]. Dropping it stops its search and ends its thread.
#[derive(Debug)]
pub struct Engine {
    pool: Pool,
    worker: Mutex<Option<Worker>>,
    current: Mutex<Weak<SearchShared>>,
}

#[derive(Debug)]
struct Worker {
    jobs: mpsc::Sender<Job>,
    thread: Thread,
}

enum Job {
    NewGame,
    Think(Box<Task>),
}

impl Engine {
    /// The pool this lease is of.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Starts a new game: clears the histories of the last one. The thread is ready afterwards.
    pub fn new_game(&self) {
        self.send(Job::NewGame);
    }

    /// Starts a search of the current position of `game`; stops one still running.
    pub fn think(&self, game: &Game, limits: Limits) -> Search {
        self.start(game, limits, None)
    }

    /// As [`Engine::think`], with reports from the search thread on the way.
    pub fn think_with(
        &self,
        game: &Game,
        limits: Limits,
        report: impl FnMut(&Info) + Send + 'static,
    ) -> Search {
        self.start(game, limits, Some(Box::new(report)))
    }

    fn start(&self, game: &Game, limits: Limits, report: Option<ReportSink>) -> Search {
        let first = safe_move(game.position(), &limits.searchmoves);
        let search_shared = Arc::new(SearchShared::new(limits.ponder, first));
        let former = std::mem::replace(&mut *self.current.lock(), Arc::downgrade(&search_shared));
        if let Some(former) = former.upgrade() {
            former.stop();
        }
        let search = Search(Arc::clone(&search_shared));
        let task = Task::new(game, limits, report, Arc::clone(&search_shared));
        if !self.send(Job::Think(Box::new(task))) {
            land_safely(&search_shared);
        }
        search
    }

    /// False if there is no thread for the job.
    fn send(&self, job: Job) -> bool {
        let mut slot = self.worker.lock();
        if slot.is_none() {
            *slot = Worker::start(&self.pool.0);
        }
        let Some(worker) = slot.as_ref() else {
            return false;
        };
        if let Job::Think(task) = &job {
            task.search_shared.set_thread(worker.thread.clone());
        }
        let sent = worker.jobs.send(job).is_ok();
        if !sent {
            *slot = None;
        }
        sent
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if let Some(search_shared) = self.current.lock().upgrade() {
            search_shared.stop();
        }
    }
}

impl Worker {
    /// `None` if the system allows no more threads.
    fn start(shared: &Arc<Shared>) -> Option<Worker> {
        let (jobs, inbox) = mpsc::channel();
        let shared = Arc::clone(shared);
        let thread = thread::Builder::new()
            .name("search".to_owned())
            .stack_size(params::STACK_BYTES)
            .spawn(move || work(&shared, &inbox))
            .ok()?;
        Some(Worker {
            jobs,
            thread: thread.thread().clone(),
        })
    }
}

/// The main loop of a search thread. It ends when its lease is dropped.
fn work(shared: &Shared, inbox: &mpsc::Receiver<Job>) {
    if shared.in_background {
        give_way();
    }
    let fresh = || {
        let (table, permits) = (Arc::clone(&shared.table), Arc::clone(&shared.permits));
        Searcher::new(table, permits, &shared.options).with_helpers(shared.helpers.clone())
    };
    let mut searcher = fresh();
    for job in inbox {
        match job {
            Job::NewGame => searcher.forget(),
            Job::Think(task) => {
                let search_shared = Arc::clone(&task.search_shared);
                shared.searching.fetch_add(1, Ordering::Relaxed);
                let result = catch_unwind(AssertUnwindSafe(|| searcher.run(*task)));
                shared.searching.fetch_sub(1, Ordering::Relaxed);
                if let Ok(result) = result {
                    search_shared.land(result);
                } else {
                    land_safely(&search_shared);
                    searcher = fresh();
                }
            }
        }
    }
}

/// The answer of a failed search: the best move so far, or the safe move it began with.
fn land_safely(search_shared: &SearchShared) {
    let best = search_shared.best();
    search_shared.land(SearchResult {
        best,
        time: search_shared.started.elapsed(),
        line: best.into_iter().collect(),
        ended: StopReason::Failed,
        ..SearchResult::default()
    });
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    /// The niceness in a thread's line of `/proc`.
    fn niceness(stat: &str) -> i32 {
        let fields = stat.rsplit(") ").next().expect("a name in brackets");
        let field = fields.split(' ').nth(16).expect("as many fields");
        field.parse().expect("a number")
    }

    /// The niceness of every search thread of this process.
    fn search_threads() -> Vec<i32> {
        let tasks = fs::read_dir("/proc/self/task").expect("Linux has it");
        tasks
            .filter_map(|task| fs::read_to_string(task.ok()?.path().join("stat")).ok())
            .filter(|stat| stat.contains("(search)"))
            .map(|stat| niceness(&stat))
            .collect()
    }

    #[test]
    fn background_threads_yield_and_others_do_not() {
        let options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        let (polite, plain) = (
            Pool::in_background(&options).lease(),
            Pool::new(&options).lease(),
        );
        for engine in [&polite, &plain] {
            assert_eq!(engine.think(&Game::new(), Limits::depth(2)).wait().depth, 2);
        }
        let ours = niceness(&fs::read_to_string("/proc/thread-self/stat").expect("Linux has it"));
        let polite = (ours + params::BACKGROUND_NICENESS).min(19);
        let found = search_threads();
        assert!(
            found.contains(&polite) && found.contains(&ours),
            "{found:?}"
        );
    }
}
