//! A request whose loss is made good: it is made again a few times, as long as it makes sense.
//!
//! Only for requests that may be repeated without harm. Whether it still makes sense is the owner's
//! affair: it forgets the insistence as soon as it does not.

use std::time::{Duration, Instant};

use crate::bot::game::event::CallOutcome;
use crate::bot::settings::BotTiming;

/// How often a request is made in all.
const MOST_TRIES: u32 = 4;

/// How far one request has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retry {
    tries: u32,
    at: Option<Instant>,
    /// Nothing is known yet of what came of the last try.
    under_way: bool,
}

impl Retry {
    /// The request was just made for the first time.
    pub(super) fn begun() -> Self {
        Self {
            tries: 1,
            at: None,
            under_way: true,
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.at
    }

    /// Whether it is under way, or will be made again: another one now would be too many.
    pub(super) fn goes_on(&self, now: Instant) -> bool {
        self.under_way || self.at.is_some_and(|at| at > now)
    }

    /// The answer came: whatever did not reach the server is made again.
    pub(super) fn answered(&mut self, answer: &CallOutcome, timing: &BotTiming, now: Instant) {
        let pause = match answer {
            CallOutcome::Lost => Some(timing.retry_cap),
            CallOutcome::Limited { wait } => Some(limited(*wait, timing)),
            CallOutcome::Done | CallOutcome::Refused { .. } | CallOutcome::Gone => None,
        };
        self.under_way = false;
        self.at = None;
        if let Some(pause) = pause {
            self.again_after(pause, now);
        }
    }

    /// It is to be made again after a pause, unless it has been made too often.
    pub(super) fn again_after(&mut self, pause: Duration, now: Instant) {
        self.at = now.checked_add(pause).filter(|_| self.tries < MOST_TRIES);
    }

    /// Whether it is to be made again now.
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.at.is_some_and(|at| at <= now);
        if due {
            self.tries += 1;
            self.under_way = true;
            self.at = None;
        }
        due
    }
}

/// The server's wait, or ours where it names none; a game does not last for ever, though.
pub(super) fn limited(advised: Option<Duration>, timing: &BotTiming) -> Duration {
    advised
        .unwrap_or(timing.limited_retry)
        .clamp(timing.limited_retry, timing.limited_wait)
}
