//! Whether the machine stood still: time in which nothing ran is on nobody's clock.
//!
//! A thread of its own wakes every few milliseconds and writes down when it woke far too late. A
//! virtual machine whose host takes the processors away stands still as a whole, this thread with
//! it; a search that forgets the clock does not hold it up, and is never excused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How often it looks.
const BEAT: Duration = Duration::from_millis(2);
/// What is shorter is the scheduler's doing, and every player's to bear.
pub(super) const LEAST: Duration = Duration::from_millis(50);

/// When the machine stood still.
#[derive(Debug, Default)]
pub(super) struct Stillness(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// From when until when.
    gaps: Vec<(Instant, Instant)>,
    /// When the thread that looks was awake last.
    awake: Option<Instant>,
}

impl Stillness {
    /// Looks until `over`.
    pub(super) fn watch(&self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            self.seen().beat(Instant::now());
            thread::sleep(BEAT);
        }
        self.seen().awake = None;
    }

    /// For how long it stood still between two moments.
    pub(super) fn between(&self, from: Instant, to: Instant) -> Duration {
        self.seen().between(from, to)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn beat(&mut self, now: Instant) {
        if let Some(gap) = self.gap(now) {
            self.gaps.push(gap);
        }
        self.awake = Some(now);
    }

    /// The gap that ends at `now`, if it is one.
    fn gap(&self, now: Instant) -> Option<(Instant, Instant)> {
        let awake = self.awake?;
        (now.saturating_duration_since(awake) >= LEAST).then_some((awake, now))
    }

    /// A player may wake before the thread that looks: the gap that is not written down yet counts.
    fn between(&self, from: Instant, to: Instant) -> Duration {
        let gaps = self.gaps.iter().copied().chain(self.gap(to));
        gaps.map(|(begun, ended)| ended.min(to).saturating_duration_since(begun.max(from)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_wakes_far_too_late_tells_how_long_the_machine_stood_still() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut seen = Seen::default();
        assert_eq!(seen.between(at(0), at(900)), Duration::ZERO, "no beat yet");
        for beat in [0, 2, 40, 89, 300, 302] {
            seen.beat(at(beat));
        }
        for (from, to, still) in [
            (0, 302, 211),
            (0, 89, 0),
            (100, 302, 200),
            (100, 150, 50),
            (300, 340, 0),
            // Nobody has looked since 302.
            (300, 400, 98),
            (100, 400, 298),
        ] {
            let found = seen.between(at(from), at(to));
            assert_eq!(found, Duration::from_millis(still), "{from} to {to}");
        }
    }
}
