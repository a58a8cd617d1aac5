//! The gate to the cores: a semaphore with one permit a core, the most urgent waiter first, among
//! equally urgent ones the one that has waited longest.
//!
//! Every search thread passes it before it computes and hands its permit on every few milliseconds
//! while others wait. It never holds up a search that was told to stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a waiter sleeps at most before it looks at its stop flag by itself. Stops wake it, so
/// this is a guard only.
const NAP: Duration = Duration::from_millis(50);

/// The permits and the queue for them.
#[derive(Debug)]
pub(super) struct Gate {
    state: Mutex<State>,
    waiting: AtomicUsize,
}

#[derive(Debug)]
struct State {
    free: usize,
    queue: Vec<Arc<Waiter>>,
}

#[derive(Debug)]
struct Waiter {
    urgency: Instant,
    granted: AtomicBool,
    thread: Thread,
}

impl Gate {
    pub(super) fn new(permits: usize) -> Gate {
        let state = State {
            free: permits.max(1),
            queue: Vec::new(),
        };
        Gate {
            state: Mutex::new(state),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Does anybody wait? One relaxed load: cheap enough for the inner search.
    #[inline]
    pub(super) fn is_contended(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Wait for a permit; the earliest `urgency` is served first. `gives_up` is asked whenever the
    /// thread is unparked, and at `until`; false means: no permit taken.
    fn enter(&self, urgency: Instant, until: Option<Instant>, gives_up: &dyn Fn() -> bool) -> bool {
        let waiter = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return true;
            }
            let waiter = Arc::new(Waiter {
                urgency,
                granted: AtomicBool::new(false),
                thread: thread::current(),
            });
            state.queue.push(Arc::clone(&waiter));
            self.waiting.store(state.queue.len(), Ordering::Relaxed);
            waiter
        };
        while !waiter.granted.load(Ordering::Acquire) {
            if gives_up() {
                return !self.withdraw(&waiter);
            }
            let left = until.map_or(NAP, |end| end.saturating_duration_since(Instant::now()));
            thread::park_timeout(left.min(NAP));
        }
        true
    }

    /// Take the waiter out of the queue; false if it was granted a permit in the meantime.
    fn withdraw(&self, waiter: &Arc<Waiter>) -> bool {
        let mut state = self.lock();
        let place = state
            .queue
            .iter()
            .position(|other| Arc::ptr_eq(other, waiter));
        if let Some(place) = place {
            state.queue.remove(place);
            self.waiting.store(state.queue.len(), Ordering::Relaxed);
        }
        place.is_some()
    }

    fn leave(&self) {
        let mut state = self.lock();
        let next = (0..state.queue.len()).min_by_key(|&place| state.queue[place].urgency);
        match next {
            None => state.free += 1,
            Some(place) => {
                let waiter = state.queue.remove(place);
                self.waiting.store(state.queue.len(), Ordering::Relaxed);
                waiter.granted.store(true, Ordering::Release);
                waiter.thread.unpark();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's place at the gate: holds a permit or not, and gives it back when dropped.
#[derive(Debug)]
pub(super) struct Turn {
    gate: Arc<Gate>,
    held: bool,
    since: Instant,
}

impl Turn {
    pub(super) fn new(gate: Arc<Gate>) -> Turn {
        Turn {
            gate,
            held: false,
            since: Instant::now(),
        }
    }

    /// Wait for a permit; false if `gives_up`, asked at `until` at the latest, came first.
    pub(super) fn take(
        &mut self,
        urgency: Instant,
        until: Option<Instant>,
        gives_up: &dyn Fn() -> bool,
    ) -> bool {
        if !self.held {
            self.held = self.gate.enter(urgency, until, gives_up);
            self.since = Instant::now();
        }
        self.held
    }

    /// Has this thread computed for a whole `slice` while another waits?
    #[inline]
    pub(super) fn is_over(&self, now: Instant, slice: Duration) -> bool {
        self.gate.is_contended() && now.saturating_duration_since(self.since) >= slice
    }

    /// Give the permit back.
    pub(super) fn release(&mut self) {
        if self.held {
            self.held = false;
            self.gate.leave();
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.release();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const NEVER: &dyn Fn() -> bool = &|| false;

    #[test]
    fn the_most_urgent_waiter_is_served_first() {
        let gate = Arc::new(Gate::new(1));
        let mut first = Turn::new(Arc::clone(&gate));
        let now = Instant::now();
        assert!(first.take(now, None, NEVER));
        let (sender, order) = mpsc::channel();
        let threads: Vec<_> = [300, 100, 200]
            .into_iter()
            .map(|millis| {
                let (gate, sender) = (Arc::clone(&gate), sender.clone());
                thread::spawn(move || {
                    let mut turn = Turn::new(gate);
                    assert!(turn.take(now + Duration::from_millis(millis), None, NEVER));
                    sender.send(millis).unwrap();
                })
            })
            .collect();
        while gate.lock().queue.len() < 3 {
            thread::yield_now();
        }
        first.release();
        for thread in threads {
            thread.join().unwrap();
        }
        drop(sender);
        assert_eq!(order.iter().collect::<Vec<_>>(), [100, 200, 300]);
        assert_eq!(gate.lock().free, 1);
    }

    #[test]
    fn a_waiter_wakes_by_itself_when_its_time_is_up() {
        let gate = Arc::new(Gate::new(1));
        let mut first = Turn::new(Arc::clone(&gate));
        assert!(first.take(Instant::now(), None, NEVER));
        let end = Instant::now() + Duration::from_millis(2);
        let mut second = Turn::new(gate);
        assert!(!second.take(end, Some(end), &|| Instant::now() >= end));
    }

    #[test]
    fn a_waiter_that_gives_up_takes_no_permit() {
        let gate = Arc::new(Gate::new(1));
        let mut first = Turn::new(Arc::clone(&gate));
        assert!(first.take(Instant::now(), None, NEVER));
        let mut second = Turn::new(Arc::clone(&gate));
        assert!(!second.take(Instant::now(), None, &|| true));
        assert!(!gate.is_contended());
        drop((first, second));
        assert_eq!(gate.lock().free, 1);
    }
}
