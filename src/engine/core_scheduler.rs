//! Schedules the cores: a semaphore with one permit per core. The most urgent waiter is served
//! first; among equally urgent ones, the one that has waited longest.
//!
//! Every search thread takes a permit before it computes and hands it on every few milliseconds
//! while others wait. A search that runs on the opponent's time or without a clock is idle: it hands
//! the permit on at once, and gets one from a search with a running clock only once it is due, for as
//! long as any other. The scheduler never delays a search that was stopped. Helper threads come last: they never
//! queue, and take a permit only while no search wants one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use super::params;

/// Longest sleep of a waiter before it checks its stop flag. A stop wakes it, so this is only a
/// guard.
const NAP: Duration = Duration::from_millis(50);

/// How urgently a search needs a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CorePriority {
    /// When its answer is due.
    pub(super) due: Instant,
    /// Whether it uses only cores that no other search needs.
    pub(super) idle: bool,
}

/// The permits and their queue.
#[derive(Debug)]
pub(super) struct CorePermits {
    state: Mutex<State>,
    waiting: AtomicUsize,
    /// Waiters that are not idle.
    pressing: AtomicUsize,
    /// Notified when a permit is spare, and when a helper has something to do with one.
    spare: Condvar,
}

#[derive(Debug)]
struct State {
    free: usize,
    queue: Vec<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    need: CorePriority,
    call: Arc<Wakeup>,
}

/// How a waiter is woken.
#[derive(Debug)]
struct Wakeup {
    granted: AtomicBool,
    thread: Thread,
}

impl CorePermits {
    pub(super) fn new(permits: usize) -> CorePermits {
        let state = State {
            free: permits.max(1),
            queue: Vec::new(),
        };
        CorePermits {
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
            pressing: AtomicUsize::new(0),
            spare: Condvar::new(),
        }
    }

    /// Whether any search waits. One relaxed load: cheap enough for the inner search.
    #[inline]
    pub(super) fn is_contended(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Whether a search with a running clock waits.
    #[inline]
    fn is_pressed(&self) -> bool {
        self.pressing.load(Ordering::Relaxed) > 0
    }

    /// Whether a search waits that a search with a running clock serves after its slice: one with a
    /// running clock, or an idle one that is due.
    fn is_one_due(&self, now: Instant) -> bool {
        let state = self.state.lock();
        let mut needs = state.queue.iter().map(|waiter| waiter.need);
        needs.any(|need| !need.idle || need.due <= now)
    }

    /// Waits for a permit; the waiter whose `need` is due first is served first. Both closures are
    /// called whenever the thread is unparked, and at `until`. A waiter that gives up takes no
    /// permit: `None`. Otherwise returns whether it is an idle one that has waited until it was due.
    fn enter(
        &self,
        need: &dyn Fn() -> CorePriority,
        until: Option<Instant>,
        gives_up: &dyn Fn() -> bool,
    ) -> Option<bool> {
        let mut asked = need();
        let call = {
            let mut state = self.state.lock();
            if state.free > 0 {
                state.free -= 1;
                return Some(false);
            }
            let call = Arc::new(Wakeup {
                granted: AtomicBool::new(false),
                thread: thread::current(),
            });
            state.queue.push(Waiter {
                need: asked,
                call: Arc::clone(&call),
            });
            self.count(&state);
            call
        };
        while !call.granted.load(Ordering::Acquire) {
            if gives_up() {
                return (!self.withdraw(&call)).then_some(false);
            }
            let now = need();
            if now.idle != asked.idle {
                // The ponder move was played: from now on a clock runs.
                asked = now;
                self.ask_again(&call, now);
            }
            let left = until.map_or(NAP, |end| end.saturating_duration_since(Instant::now()));
            thread::park_timeout(left.min(NAP));
        }
        Some(asked.idle && asked.due <= Instant::now())
    }

    fn ask_again(&self, call: &Arc<Wakeup>, need: CorePriority) {
        let mut state = self.state.lock();
        if let Some(place) = state.place_of(call) {
            state.queue[place].need = need;
            self.count(&state);
        }
    }

    /// Removes the waiter from the queue; false if it was granted a permit in the meantime.
    fn withdraw(&self, call: &Arc<Wakeup>) -> bool {
        let mut state = self.state.lock();
        let place = state.place_of(call);
        if let Some(place) = place {
            state.queue.remove(place);
            self.count(&state);
        }
        place.is_some()
    }

    fn leave(&self) {
        let mut state = self.state.lock();
        let next = (0..state.queue.len()).min_by_key(|&place| state.queue[place].need.due);
        match next {
            None => {
                state.free += 1;
                self.spare.notify_one();
            }
            Some(place) => {
                let waiter = state.queue.remove(place);
                self.count(&state);
                waiter.call.granted.store(true, Ordering::Release);
                waiter.call.thread.unpark();
            }
        }
    }

    /// Waits for a spare permit and for work, which `pick` finds; `None` once `is_closed`. Both
    /// closures are called after [`CorePermits::call_spare`], under the lock.
    fn enter_spare<T>(
        &self,
        pick: &dyn Fn() -> Option<T>,
        is_closed: &dyn Fn() -> bool,
    ) -> Option<T> {
        let mut state = self.state.lock();
        while !is_closed() {
            if state.free > 0
                && let Some(found) = pick()
            {
                state.free -= 1;
                return Some(found);
            }
            self.spare.wait(&mut state);
        }
        None
    }

    /// Wakes the helpers: there is work for a spare permit, or no more work at all.
    pub(super) fn call_spare(&self) {
        // A helper that looked before the change is waiting by the time the lock is free.
        drop(self.state.lock());
        self.spare.notify_all();
    }

    /// Publishes the number of waiters.
    fn count(&self, state: &State) {
        let pressing = state.queue.iter().filter(|waiter| !waiter.need.idle);
        self.pressing.store(pressing.count(), Ordering::Relaxed);
        self.waiting.store(state.queue.len(), Ordering::Relaxed);
    }
}

impl State {
    fn place_of(&self, call: &Arc<Wakeup>) -> Option<usize> {
        let is_it = |waiter: &Waiter| Arc::ptr_eq(&waiter.call, call);
        self.queue.iter().position(is_it)
    }
}

/// A thread's permit, or its claim to one. Gives the permit back when dropped.
#[derive(Debug)]
pub(super) struct CorePermit {
    permits: Arc<CorePermits>,
    held: bool,
    since: Instant,
    /// Whether an idle search got it because it was due: it keeps it for a slice.
    was_due: bool,
}

impl CorePermit {
    pub(super) fn new(permits: Arc<CorePermits>) -> CorePermit {
        CorePermit {
            permits,
            held: false,
            since: Instant::now(),
            was_due: false,
        }
    }

    /// Waits for a permit; false if `gives_up`, called at `until` at the latest, came first.
    pub(super) fn take(
        &mut self,
        need: &dyn Fn() -> CorePriority,
        until: Option<Instant>,
        gives_up: &dyn Fn() -> bool,
    ) -> bool {
        if !self.held {
            let entered = self.permits.enter(need, until, gives_up);
            self.held = entered.is_some();
            self.was_due = entered.unwrap_or(false);
            self.since = Instant::now();
        }
        self.held
    }

    /// Waits for a permit that no search wants, see [`CorePermits::enter_spare`].
    pub(super) fn take_spare<T>(
        &mut self,
        pick: &dyn Fn() -> Option<T>,
        is_closed: &dyn Fn() -> bool,
    ) -> Option<T> {
        let found = self.permits.enter_spare(pick, is_closed)?;
        self.held = true;
        self.since = Instant::now();
        Some(found)
    }

    /// Whether another thread should have the permit. An `idle` search gives it up after a `slice` while
    /// any other waits, and at once for one with a running clock unless it was due itself. A search
    /// with a running clock gives it up after a slice, to another such one or to an idle one that is due.
    #[inline]
    pub(super) fn is_over(&self, now: Instant, slice: Duration, idle: bool) -> bool {
        if !self.permits.is_contended() {
            return false;
        }
        let is_sliced = now.saturating_duration_since(self.since) >= slice;
        if idle {
            is_sliced || !self.was_due && self.permits.is_pressed()
        } else {
            is_sliced && self.permits.is_one_due(now)
        }
    }

    /// Gives the permit back.
    pub(super) fn release(&mut self) {
        if self.held {
            self.held = false;
            self.permits.leave();
        }
    }
}

impl Drop for CorePermit {
    fn drop(&mut self) {
        self.release();
    }
}

/// Lowers the priority of this thread below the rest of the program.
pub(super) fn give_way() {
    // On Linux this is the priority of the thread, not of the process. Failing is harmless.
    let _ = rustix::process::nice(params::BACKGROUND_NICENESS);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const NEVER: &dyn Fn() -> bool = &|| false;

    fn due(due: Instant) -> impl Fn() -> CorePriority {
        move || CorePriority { due, idle: false }
    }

    fn idle(due: Instant) -> impl Fn() -> CorePriority {
        move || CorePriority { due, idle: true }
    }

    fn until_waiting(permits: &CorePermits, waiters: usize) {
        while permits.state.lock().queue.len() < waiters {
            thread::yield_now();
        }
    }

    #[test]
    fn the_most_urgent_waiter_is_served_first() {
        let permits = Arc::new(CorePermits::new(1));
        let mut first = CorePermit::new(Arc::clone(&permits));
        let now = Instant::now();
        assert!(first.take(&due(now), None, NEVER));
        let (sender, order) = mpsc::channel();
        let threads: Vec<_> = [300, 100, 200]
            .into_iter()
            .map(|millis| {
                let (permits, sender) = (Arc::clone(&permits), sender.clone());
                thread::spawn(move || {
                    let mut permit = CorePermit::new(permits);
                    let need = due(now + Duration::from_millis(millis));
                    assert!(permit.take(&need, None, NEVER));
                    sender.send(millis).unwrap();
                })
            })
            .collect();
        until_waiting(&permits, 3);
        first.release();
        for thread in threads {
            thread.join().unwrap();
        }
        drop(sender);
        assert_eq!(order.iter().collect::<Vec<_>>(), [100, 200, 300]);
        assert_eq!(permits.state.lock().free, 1);
    }

    #[test]
    fn a_waiter_wakes_at_its_deadline() {
        let permits = Arc::new(CorePermits::new(1));
        let mut first = CorePermit::new(Arc::clone(&permits));
        assert!(first.take(&due(Instant::now()), None, NEVER));
        let end = Instant::now() + Duration::from_millis(2);
        let mut second = CorePermit::new(permits);
        assert!(!second.take(&due(end), Some(end), &|| Instant::now() >= end));
    }

    #[test]
    fn a_waiter_that_gives_up_takes_no_permit() {
        let permits = Arc::new(CorePermits::new(1));
        let mut first = CorePermit::new(Arc::clone(&permits));
        let now = due(Instant::now());
        assert!(first.take(&now, None, NEVER));
        let mut second = CorePermit::new(Arc::clone(&permits));
        assert!(!second.take(&now, None, &|| true));
        assert!(!permits.is_contended() && !permits.is_pressed());
        drop((first, second));
        assert_eq!(permits.state.lock().free, 1);
    }

    #[test]
    fn background_searches_yield_to_a_clock_but_not_to_each_other() {
        let permits = Arc::new(CorePermits::new(1));
        let now = Instant::now();
        let mut first = CorePermit::new(Arc::clone(&permits));
        assert!(first.take(&idle(now), None, NEVER));
        let hour = Duration::from_secs(3600);
        assert!(!first.is_over(Instant::now(), hour, true), "nobody waits");
        let waiting = |need: Box<dyn Fn() -> CorePriority + Send>| {
            let permits = Arc::clone(&permits);
            thread::spawn(move || assert!(CorePermit::new(permits).take(&*need, None, NEVER)))
        };
        let idler = waiting(Box::new(idle(now)));
        until_waiting(&permits, 1);
        assert!(!first.is_over(Instant::now(), hour, true), "another idler");
        let player = waiting(Box::new(due(now)));
        until_waiting(&permits, 2);
        assert!(first.is_over(Instant::now(), hour, true), "a clock runs");
        assert!(!first.is_over(Instant::now(), hour, false), "on our clock");
        first.release();
        idler.join().unwrap();
        player.join().unwrap();
    }

    #[test]
    fn a_search_on_its_clock_serves_an_idle_one_when_that_is_due_and_for_a_slice() {
        let permits = Arc::new(CorePermits::new(1));
        let (now, hour) = (Instant::now(), Duration::from_secs(3600));
        let mut first = CorePermit::new(Arc::clone(&permits));
        assert!(first.take(&due(now), None, NEVER));
        let waiting = |need: CorePriority, then: fn(&CorePermit)| {
            let permits = Arc::clone(&permits);
            thread::spawn(move || {
                let mut permit = CorePermit::new(permits);
                assert!(permit.take(&|| need, None, NEVER));
                then(&permit);
            })
        };
        let at = |due, idle| CorePriority { due, idle };
        let ponderer = waiting(at(now + hour, true), |_| ());
        until_waiting(&permits, 1);
        assert!(!first.is_over(Instant::now(), Duration::ZERO, false));
        let review = waiting(at(now, true), |permit| {
            let (now, slice) = (Instant::now(), Duration::from_secs(3600));
            assert!(!permit.is_over(now, slice, true), "it has a slice");
            assert!(permit.is_over(now, Duration::ZERO, true), "and no more");
        });
        until_waiting(&permits, 2);
        assert!(first.is_over(Instant::now(), Duration::ZERO, false));
        let player = waiting(at(now + Duration::from_secs(1), false), |_| ());
        until_waiting(&permits, 3);
        first.release();
        for waiter in [ponderer, review, player] {
            waiter.join().unwrap();
        }
    }

    #[test]
    fn a_waiter_whose_clock_begins_to_run_is_served_before_those_without_one() {
        let permits = Arc::new(CorePermits::new(1));
        let now = Instant::now();
        let mut first = CorePermit::new(Arc::clone(&permits));
        assert!(first.take(&due(now), None, NEVER));
        let hit = Arc::new(AtomicBool::new(false));
        let (sender, order) = mpsc::channel();
        let late = now + Duration::from_secs(3600);
        let threads: Vec<_> = [false, true]
            .into_iter()
            .map(|is_hit| {
                let (permits, sender, hit) =
                    (Arc::clone(&permits), sender.clone(), Arc::clone(&hit));
                thread::spawn(move || {
                    let mut permit = CorePermit::new(permits);
                    let need = || {
                        let idle = !(is_hit && hit.load(Ordering::Acquire));
                        let due = if idle { late } else { now };
                        CorePriority { due, idle }
                    };
                    assert!(permit.take(&need, None, NEVER));
                    sender.send(is_hit).unwrap();
                })
            })
            .collect();
        until_waiting(&permits, 2);
        assert!(!permits.is_pressed());
        hit.store(true, Ordering::Release);
        for waiter in &threads {
            waiter.thread().unpark();
        }
        while !permits.is_pressed() {
            thread::yield_now();
        }
        first.release();
        for thread in threads {
            thread.join().unwrap();
        }
        drop(sender);
        assert_eq!(order.iter().collect::<Vec<_>>(), [true, false]);
    }
}
