//! A search in progress: its handle, and what it shares with the search thread.
//!
//! Everything here may be called from any thread at any time and returns at once, except `wait`.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::{Duration, Instant};

use futures::channel::oneshot;
use parking_lot::{Condvar, Mutex};

use super::search_result::SearchResult;
use crate::rules::Move;

/// Called with the answer, on the search thread (or at once, if the answer exists already).
pub type OnDone = Box<dyn FnOnce(SearchResult) + Send>;

/// A running search. Dropping it stops the search.
#[derive(Debug)]
pub struct Search(pub(super) Arc<SearchShared>);

impl Search {
    /// Requests the answer now. It arrives within a few milliseconds in the usual way.
    pub fn stop(&self) {
        self.0.stop();
    }

    /// The opponent played the ponder move: from now on the clock runs.
    pub fn ponderhit(&self) {
        // Otherwise the clock runs already.
        if self.0.is_pondering() {
            let elapsed = self.0.started.elapsed().as_nanos() as u64;
            self.0.ponder_hit.store(elapsed, Ordering::Release);
        }
        self.0.pondering.store(false, Ordering::Release);
        self.0.wake();
    }

    /// The best move so far; `None` only if no move is legal.
    pub fn best(&self) -> Option<Move> {
        self.0.best()
    }

    /// Whether the answer exists.
    pub fn is_done(&self) -> bool {
        matches!(*self.0.outcome.lock(), SearchState::Done(_))
    }

    /// Sets the callback for the answer. A second callback replaces the first.
    pub fn on_done(&self, callback: OnDone) {
        let mut outcome = self.0.outcome.lock();
        match &mut *outcome {
            SearchState::Thinking(slot) => *slot = Some(callback),
            SearchState::Done(result) => {
                let result = result.clone();
                drop(outcome);
                callback(result);
            }
        }
    }

    /// The answer without blocking a thread, in place of a callback. It is [`Err`] if the search thread is
    /// gone.
    pub fn answer(&self) -> oneshot::Receiver<SearchResult> {
        let (sender, answer) = oneshot::channel();
        // Without a receiver nobody wants the answer any more.
        self.on_done(Box::new(|result| drop(sender.send(result))));
        answer
    }

    /// Waits for the answer. Blocks: never call it in an asynchronous task.
    pub fn wait(&self) -> SearchResult {
        let mut outcome = self.0.outcome.lock();
        loop {
            if let SearchState::Done(result) = &*outcome {
                return result.clone();
            }
            self.0.landed.wait(&mut outcome);
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Shared by a handle and a search thread.
pub(super) struct SearchShared {
    pub(super) started: Instant,
    stopped: AtomicBool,
    pondering: AtomicBool,
    /// When the ponder move was played, in nanoseconds after `started`.
    ponder_hit: AtomicU64,
    /// The bits of the best move; 0 is no move.
    best: AtomicU16,
    /// The thread to wake on a stop while it waits for a core.
    thread: OnceLock<Thread>,
    outcome: Mutex<SearchState>,
    landed: Condvar,
}

enum SearchState {
    Thinking(Option<OnDone>),
    Done(SearchResult),
}

impl fmt::Debug for SearchShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("SearchShared");
        out.field("best", &self.best())
            .field("stopped", &self.is_stopped())
            .finish_non_exhaustive()
    }
}

impl SearchShared {
    pub(super) fn new(pondering: bool, first: Option<Move>) -> SearchShared {
        SearchShared {
            started: Instant::now(),
            stopped: AtomicBool::new(false),
            pondering: AtomicBool::new(pondering),
            ponder_hit: AtomicU64::new(0),
            best: AtomicU16::new(first.map_or(0, Move::bits)),
            thread: OnceLock::new(),
            outcome: Mutex::new(SearchState::Thinking(None)),
            landed: Condvar::new(),
        }
    }

    /// The thread that a stop has to wake.
    pub(super) fn set_thread(&self, thread: Thread) {
        // Set once, before the search can begin.
        let _ = self.thread.set(thread);
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    #[inline]
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn is_pondering(&self) -> bool {
        self.pondering.load(Ordering::Acquire)
    }

    /// When the clock began to run: at the start, or when the ponder move was played.
    pub(super) fn clock_start(&self) -> Instant {
        self.started + Duration::from_nanos(self.ponder_hit.load(Ordering::Acquire))
    }

    pub(super) fn best(&self) -> Option<Move> {
        let bits = self.best.load(Ordering::Relaxed);
        (bits != 0).then(|| Move::from_bits(bits))
    }

    pub(super) fn set_best(&self, best: Move) {
        self.best.store(best.bits(), Ordering::Relaxed);
    }

    /// Delivers the answer. A panicking callback does no harm.
    pub(super) fn land(&self, result: SearchResult) {
        let mut outcome = self.outcome.lock();
        let before = std::mem::replace(&mut *outcome, SearchState::Done(result.clone()));
        drop(outcome);
        self.landed.notify_all();
        if let SearchState::Thinking(Some(callback)) = before {
            // The panic hook has reported it; there is nothing to add.
            let _ = catch_unwind(AssertUnwindSafe(|| callback(result)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_ponder_hit_starts_the_clock() {
        let search = |pondering| Search(Arc::new(SearchShared::new(pondering, None)));
        let playing = search(false);
        playing.ponderhit();
        assert_eq!(playing.0.clock_start(), playing.0.started);
        let pondering = search(true);
        pondering.ponderhit();
        let start = pondering.0.clock_start();
        pondering.ponderhit();
        assert_eq!(pondering.0.clock_start(), start);
    }
}
