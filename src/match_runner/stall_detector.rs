//! Detects stalls of the machine, so that they count on no clock.
//!
//! A thread on each core wakes every few milliseconds and records when it woke far too late. If the host of a
//! virtual machine takes a core away, that thread stalls too; a search that exceeds its time does not delay
//! the thread, and is never excused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
#[cfg(target_os = "linux")]
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The interval of the checks.
const BEAT: Duration = Duration::from_millis(2);
/// The shortest stall; shorter delays come from the scheduler and affect every player.
pub(super) const LEAST: Duration = Duration::from_millis(50);

/// The stalls of the machine, core by core.
#[derive(Debug, Default)]
pub(super) struct StallDetector(Vec<CoreProbe>);

/// The core that one thread watches.
#[derive(Debug, Default)]
pub(super) struct CoreProbe {
    /// The number of the core; none where threads cannot be bound to one.
    number: Option<usize>,
    seen: Mutex<StallSample>,
}

#[derive(Debug, Default)]
struct StallSample {
    /// Start and end of each stall.
    gaps: Vec<(Instant, Instant)>,
    /// When the watching thread was last awake.
    awake: Option<Instant>,
}

impl StallDetector {
    /// For the cores that this program may use. It detects nothing until threads watch them.
    pub(super) fn of_this_machine() -> Self {
        let core = |number| CoreProbe {
            number,
            seen: Mutex::default(),
        };
        Self(cores().into_iter().map(core).collect())
    }

    /// The cores to watch, each by its own thread.
    pub(super) fn cores(&self) -> &[CoreProbe] {
        &self.0
    }

    /// The longest stall of any core between two moments.
    pub(super) fn between(&self, from: Instant, to: Instant) -> Duration {
        let each = self.0.iter().map(|core| core.seen.lock().between(from, to));
        each.max().unwrap_or_default()
    }
}

impl CoreProbe {
    pub(super) fn watch(&self, over: &AtomicBool) {
        bind(self.number);
        while !over.load(Ordering::Relaxed) {
            self.seen.lock().beat(Instant::now());
            thread::sleep(BEAT);
        }
        self.seen.lock().awake = None;
    }
}

/// The numbers of the cores that threads of this program can be bound to; one without a number if there are
/// none.
#[cfg(target_os = "linux")]
fn cores() -> Vec<Option<usize>> {
    let Ok(allowed) = sched_getaffinity(None) else {
        return vec![None];
    };
    let numbers = (0..CpuSet::MAX_CPU).filter(|&number| allowed.is_set(number));
    numbers.map(Some).collect()
}

#[cfg(not(target_os = "linux"))]
fn cores() -> Vec<Option<usize>> {
    vec![None]
}

/// Binds this thread to a core. If that fails, it runs on any.
#[cfg(target_os = "linux")]
fn bind(core: Option<usize>) {
    if let Some(number) = core {
        let mut only = CpuSet::new();
        only.set(number);
        if let Err(error) = sched_setaffinity(None, &only) {
            tracing::debug!(number, %error, "a core is not watched by itself");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn bind(_: Option<usize>) {}

impl StallSample {
    fn beat(&mut self, now: Instant) {
        if let Some(gap) = self.gap(now) {
            self.gaps.push(gap);
        }
        self.awake = Some(now);
    }

    /// The stall that ends at `now`, if there is one.
    fn gap(&self, now: Instant) -> Option<(Instant, Instant)> {
        let awake = self.awake?;
        (now.saturating_duration_since(awake) >= LEAST).then_some((awake, now))
    }

    /// A player may wake before the watching thread, so a stall not yet recorded counts too.
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
    fn every_core_is_watched_and_the_longest_stall_counts() {
        let stalls = StallDetector::of_this_machine();
        let cores = thread::available_parallelism().unwrap().get();
        if cfg!(target_os = "linux") {
            // A CPU quota may allow fewer.
            assert!(stalls.cores().len() >= cores);
        }
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let stalls = StallDetector(vec![CoreProbe::default(), CoreProbe::default()]);
        for (core, beats) in stalls.cores().iter().zip([[0, 100, 102], [0, 2, 102]]) {
            for beat in beats {
                core.seen.lock().beat(at(beat));
            }
        }
        let found = stalls.between(at(0), at(102));
        assert_eq!(found, Duration::from_millis(100));
        assert_eq!(
            StallDetector::default().between(start, at(102)),
            Duration::ZERO
        );
    }

    #[test]
    fn a_late_wake_up_measures_the_stall() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let mut seen = StallSample::default();
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
            // No check since 302.
            (300, 400, 98),
            (100, 400, 298),
        ] {
            let found = seen.between(at(from), at(to));
            assert_eq!(found, Duration::from_millis(still), "{from} to {to}");
        }
    }
}
