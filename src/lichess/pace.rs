//! The pace of calls whose limit is unknown: faster with each call that the server takes, slower after a
//! 429, and then never as fast again for a while.
//!
//! Pure: time is an argument.

use std::time::{Duration, Instant};

/// The fastest pace, as a part of the first.
const FASTEST: u32 = 12;
/// The slowest pace, as a multiple of the first.
const SLOWEST: u32 = 4;
/// Each accepted call shortens the spacing to this part.
const GAIN: f64 = 0.9;
/// How many minutes the pace that led to a 429 is avoided.
const CAUTION_MINUTES: u32 = 10;

#[derive(Clone, Debug)]
pub(super) struct Pace {
    first: Duration,
    spacing: Duration,
    /// The shortest spacing, and until when it is more than the usual one.
    least: Duration,
    cautious_until: Option<Instant>,
    caution: Duration,
    /// When the next call is due, without the burst that may precede it.
    due: Option<Instant>,
}

impl Pace {
    pub(super) fn new(first: Duration, minute: Duration) -> Self {
        Self {
            first,
            spacing: first,
            least: first / FASTEST,
            cautious_until: None,
            caution: minute * CAUTION_MINUTES,
            due: None,
        }
    }

    /// When the next call may go out, where `burst` calls may follow each other at once.
    pub(super) fn next(&self, burst: u32) -> Option<Instant> {
        self.due?.checked_sub(self.spacing * (burst - 1))
    }

    pub(super) fn spend(&mut self, now: Instant) {
        if self.cautious_until.is_some_and(|until| until <= now) {
            self.least = self.first / FASTEST;
        }
        let due = self.due.map_or(now, |due| due.max(now));
        self.due = Some(due + self.spacing);
    }

    /// The server took a call.
    pub(super) fn accepted(&mut self) {
        self.spacing = self.spacing.mul_f64(GAIN).max(self.least);
    }

    /// The server answered 429: half the pace, at most for ten minutes.
    pub(super) fn limited(&mut self, now: Instant) {
        self.least = (self.spacing * 2).min(self.first * SLOWEST);
        self.spacing = self.least;
        self.cautious_until = Some(now + self.caution);
    }
}
