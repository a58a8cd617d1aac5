//! Helper threads: they join other threads' searches on cores that no search needs.
//!
//! A search posts a request for help. A helper that finds a spare core takes the request with the
//! highest claim, and leaves at once when a search waits for a core. No search ever waits for a
//! helper, and a failing helper costs nothing.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Once};
use std::thread;
use std::time::Instant;

use parking_lot::Mutex;

use super::core_scheduler::{CorePermit, CorePermits, give_way};
use super::params;
use super::search_handle::SearchShared;

/// The search state of a helper thread, as far as this file needs it.
pub(super) trait HelperState: Sized + 'static {
    /// Its claim to a core.
    fn core(&mut self) -> &mut CorePermit;
}

/// What a helper does until its run is over.
pub(super) type HelperWork<S> = Box<dyn Fn(&mut S, HelperRun<S>) -> Unfinished + Send + Sync>;

/// What is left of a request when a helper returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfinished {
    /// The helper was called away.
    More,
    /// Nothing is left to help with.
    Nothing,
}

/// Makes the search state of a helper.
type StateFactory<S> = Box<dyn Fn() -> S + Send + Sync>;

/// The helpers of a pool. Their threads start with the first request and end when this is dropped.
pub(super) struct HelperThreads<S> {
    requests: Arc<HelpRequests<S>>,
    threads: usize,
    in_background: bool,
    started: Once,
}

/// Shared by the helpers.
struct HelpRequests<S> {
    permits: Arc<CorePermits>,
    new_state: StateFactory<S>,
    posted: Mutex<Vec<Arc<HelpRequest<S>>>>,
    is_closed: AtomicBool,
}

/// A search that can be helped.
struct HelpRequest<S> {
    search: Arc<SearchShared>,
    in_background: bool,
    work: HelperWork<S>,
    /// Number of helpers on it; changed only under the lock of the requests.
    helpers: AtomicUsize,
    /// Set once nothing is left to do.
    is_done: AtomicBool,
}

impl<S: HelperState> HelperThreads<S> {
    /// Helpers with this many threads; none of them runs yet.
    pub(super) fn new(
        permits: Arc<CorePermits>,
        threads: usize,
        in_background: bool,
        new_state: StateFactory<S>,
    ) -> Self {
        let requests = HelpRequests {
            permits,
            new_state,
            posted: Mutex::new(Vec::new()),
            is_closed: AtomicBool::new(false),
        };
        HelperThreads {
            requests: Arc::new(requests),
            threads,
            in_background,
            started: Once::new(),
        }
    }

    /// Posts a request for as long as the returned value lives.
    pub(super) fn post(
        &self,
        search: Arc<SearchShared>,
        in_background: bool,
        work: HelperWork<S>,
    ) -> PostedRequest<S> {
        self.started.call_once(|| self.start());
        let request = Arc::new(HelpRequest {
            search,
            in_background,
            work,
            helpers: AtomicUsize::new(0),
            is_done: AtomicBool::new(false),
        });
        self.requests.posted.lock().push(Arc::clone(&request));
        self.requests.permits.call_spare();
        PostedRequest {
            requests: Arc::clone(&self.requests),
            request,
        }
    }

    fn start(&self) {
        for number in 0..self.threads {
            let (requests, in_background) = (Arc::clone(&self.requests), self.in_background);
            let started = thread::Builder::new()
                .name("helper".to_owned())
                .stack_size(params::STACK_BYTES)
                .spawn(move || {
                    if in_background {
                        give_way();
                    }
                    help(&requests, number);
                });
            if started.is_err() {
                // The system allows no more threads: continue with fewer.
                return;
            }
        }
    }
}

impl<S> Drop for HelperThreads<S> {
    fn drop(&mut self) {
        self.requests.is_closed.store(true, Ordering::Release);
        self.requests.permits.call_spare();
    }
}

/// A posted request; dropping it withdraws it.
pub(super) struct PostedRequest<S> {
    requests: Arc<HelpRequests<S>>,
    request: Arc<HelpRequest<S>>,
}

impl<S> Drop for PostedRequest<S> {
    fn drop(&mut self) {
        let mut posted = self.requests.posted.lock();
        posted.retain(|request| !Arc::ptr_eq(request, &self.request));
    }
}

impl<S> HelpRequest<S> {
    /// The smaller claim wins: searches with a running clock first, then those with the fewest
    /// helpers.
    fn claim(&self) -> (bool, usize) {
        let is_idle = self.in_background || self.search.is_pondering();
        (is_idle, self.helpers.load(Ordering::Relaxed))
    }
}

impl<S> HelpRequests<S> {
    /// Joins the request with the best claim.
    fn pick(self: &Arc<Self>, number: usize) -> Option<HelperRun<S>> {
        let posted = self.posted.lock();
        let open = posted
            .iter()
            .filter(|request| !request.is_done.load(Ordering::Relaxed));
        let request = Arc::clone(open.min_by_key(|request| request.claim())?);
        request.helpers.fetch_add(1, Ordering::Relaxed);
        Some(HelperRun {
            requests: Arc::clone(self),
            request,
            number,
            looked: Cell::new(Instant::now()),
        })
    }
}

/// A helper's run on one request.
pub(super) struct HelperRun<S> {
    requests: Arc<HelpRequests<S>>,
    request: Arc<HelpRequest<S>>,
    /// The number of this helper.
    pub(super) number: usize,
    /// When it last compared the other requests.
    looked: Cell<Instant>,
}

impl<S> HelperRun<S> {
    /// Whether the helper should leave: a search waits for a core, or another request has the
    /// better claim.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        if self.requests.permits.is_contended() {
            return true;
        }
        if now.saturating_duration_since(self.looked.get()) < params::TIME_SLICE {
            return false;
        }
        self.looked.set(now);
        let (is_idle, helpers) = self.request.claim();
        self.requests.posted.lock().iter().any(|other| {
            let (other_idle, other_helpers) = other.claim();
            !other.is_done.load(Ordering::Relaxed)
                && (other_idle, other_helpers + 1) < (is_idle, helpers)
        })
    }
}

impl<S> Drop for HelperRun<S> {
    fn drop(&mut self) {
        let _posted = self.requests.posted.lock();
        self.request.helpers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The main loop of a helper. Its histories and corrections stay from game to game; wrong ones are soon
/// overwritten.
fn help<S: HelperState>(requests: &Arc<HelpRequests<S>>, number: usize) {
    let mut state = (requests.new_state)();
    let pick = || requests.pick(number);
    let is_closed = || requests.is_closed.load(Ordering::Acquire);
    while let Some(run) = state.core().take_spare(&pick, &is_closed) {
        let request = Arc::clone(&run.request);
        let work = || (request.work)(&mut state, run);
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Unfinished::More) => {}
            Ok(Unfinished::Nothing) => request.is_done.store(true, Ordering::Relaxed),
            Err(_) => {
                // It would fail again: this search continues without helpers.
                request.is_done.store(true, Ordering::Relaxed);
                state = (requests.new_state)();
            }
        }
        state.core().release();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;
    use crate::engine::core_scheduler::CorePriority;
    use crate::engine::evaluator::Evaluator;
    use crate::engine::options::EngineOptions;
    use crate::engine::search::Searcher;
    use crate::engine::tt::TranspositionTable;

    /// Hang guard of the tests.
    const GUARD: Duration = Duration::from_secs(20);

    fn helpers(cores: usize, threads: usize) -> (Arc<CorePermits>, HelperThreads<Searcher>) {
        let permits = Arc::new(CorePermits::new(cores));
        let of_helpers = Arc::clone(&permits);
        let new_state = move || {
            let table = Arc::new(TranspositionTable::new(1));
            let options = EngineOptions {
                evaluator: Evaluator::classical(),
                ..EngineOptions::default()
            };
            Searcher::new(table, Arc::clone(&of_helpers), &options)
        };
        let helpers = HelperThreads::new(Arc::clone(&permits), threads, false, Box::new(new_state));
        (permits, helpers)
    }

    fn search(is_pondering: bool) -> Arc<SearchShared> {
        Arc::new(SearchShared::new(is_pondering, None))
    }

    /// Work that sends its name when it begins and lasts until it is called away.
    fn patient(name: &'static str, begun: &mpsc::Sender<&'static str>) -> HelperWork<Searcher> {
        let begun = begun.clone();
        Box::new(move |_, run| {
            // The test may be over.
            let _ = begun.send(name);
            while !run.is_over(Instant::now()) && !run.request.search.is_stopped() {
                thread::yield_now();
            }
            Unfinished::More
        })
    }

    #[test]
    fn a_helper_that_fails_costs_no_more_than_itself() {
        let (permits, helpers) = helpers(1, 1);
        let tries = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&tries);
        let failing = helpers.post(
            search(false),
            false,
            Box::new(move |_, _| {
                count.fetch_add(1, Ordering::SeqCst);
                panic!("an injected fault")
            }),
        );
        while tries.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
        let (sender, begun) = mpsc::channel();
        let after = search(false);
        let request = helpers.post(Arc::clone(&after), false, patient("after", &sender));
        assert_eq!(begun.recv_timeout(GUARD), Ok("after"));
        assert_eq!(tries.load(Ordering::SeqCst), 1, "not tried again");
        drop((failing, request));
        after.stop();
        let mut permit = CorePermit::new(permits);
        let now = Instant::now();
        let need = || CorePriority {
            due: now,
            idle: false,
        };
        assert!(
            permit.take(&need, None, &|| false),
            "the core is given back"
        );
    }

    #[test]
    fn a_helper_stops_when_a_search_waits_and_returns_when_the_core_is_free() {
        let (permits, helpers) = helpers(1, 1);
        let (sender, begun) = mpsc::channel();
        let helped = search(false);
        let request = helpers.post(Arc::clone(&helped), false, patient("helped", &sender));
        assert_eq!(begun.recv_timeout(GUARD), Ok("helped"));
        let mut permit = CorePermit::new(permits);
        let now = Instant::now();
        let need = || CorePriority {
            due: now,
            idle: false,
        };
        let late = || now.elapsed() > GUARD;
        assert!(permit.take(&need, Some(now + GUARD), &late));
        assert!(begun.try_recv().is_err(), "no helper without a core");
        permit.release();
        assert_eq!(begun.recv_timeout(GUARD), Ok("helped"));
        drop(request);
        helped.stop();
    }

    #[test]
    fn helpers_go_to_searches_with_a_running_clock_and_are_shared() {
        let (_gate, helpers) = helpers(2, 2);
        let (sender, begun) = mpsc::channel();
        let idle = search(true);
        let first = helpers.post(Arc::clone(&idle), false, patient("idle", &sender));
        for _ in 0..2 {
            assert_eq!(begun.recv_timeout(GUARD), Ok("idle"));
        }
        let (one, other) = (search(false), search(false));
        let second = helpers.post(Arc::clone(&one), false, patient("one", &sender));
        for _ in 0..2 {
            assert_eq!(begun.recv_timeout(GUARD), Ok("one"));
        }
        let third = helpers.post(Arc::clone(&other), false, patient("other", &sender));
        assert_eq!(begun.recv_timeout(GUARD), Ok("other"));
        assert_eq!(one_each(&second, &third), (1, 1));
        drop((first, second, third));
        for search_shared in [idle, one, other] {
            search_shared.stop();
        }
    }

    fn one_each(one: &PostedRequest<Searcher>, other: &PostedRequest<Searcher>) -> (usize, usize) {
        let helpers =
            |request: &PostedRequest<Searcher>| request.request.helpers.load(Ordering::SeqCst);
        (helpers(one), helpers(other))
    }
}
