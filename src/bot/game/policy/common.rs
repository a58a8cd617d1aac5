//! Shared by the policies: the state just read, and how a lost request is repeated a few times.
//!
//! [`Retry`] is only for requests that are safe to repeat. The owner decides whether it still makes
//! sense, and drops the [`Retry`] once it does not. A [`RepeatedRequest`] may go on until the game is
//! over. Moves are repeated by `move_delivery`, with pauses that grow alike.

use std::time::{Duration, Instant};

use crate::bot::game::event::CallOutcome;
use crate::bot::game::move_list::MoveListChange;
use crate::bot::settings::BotTiming;

/// Maximum number of attempts.
const MAX_TRIES: u32 = 4;
/// Limits how often pauses after repeated failures double.
const MAX_DOUBLINGS: u32 = 5;

/// A state just read, as far as policies need it.
#[derive(Clone, Copy, Debug)]
pub(in crate::bot::game) struct StateUpdate {
    /// How it changed the list.
    pub(in crate::bot::game) change: MoveListChange,
    /// It came with an opening: several things may have happened since the last state.
    pub(in crate::bot::game) opened: bool,
}

/// The state of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retry {
    tries: u32,
    at: Option<Instant>,
    /// The outcome of the last attempt is unknown.
    under_way: bool,
}

impl Retry {
    /// The first attempt was just made.
    pub(in crate::bot::game) fn begun() -> Self {
        Self {
            tries: 1,
            at: None,
            under_way: true,
        }
    }

    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        self.at
    }

    /// Whether it is in progress or will be repeated: another request would be too many.
    pub(in crate::bot::game) fn is_active(&self, now: Instant) -> bool {
        self.under_way || self.at.is_some_and(|at| at > now)
    }

    /// Handles the answer: a request that did not reach the server is repeated.
    pub(in crate::bot::game) fn answered(
        &mut self,
        answer: &CallOutcome,
        timing: &BotTiming,
        now: Instant,
    ) {
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

    /// Repeats it after a pause, unless attempts are used up.
    pub(in crate::bot::game) fn again_after(&mut self, pause: Duration, now: Instant) {
        self.at = now.checked_add(pause).filter(|_| self.tries < MAX_TRIES);
    }

    /// Whether to repeat it now.
    pub(in crate::bot::game) fn is_due(&mut self, now: Instant) -> bool {
        let due = self.at.is_some_and(|at| at <= now);
        if due {
            self.tries += 1;
            self.under_way = true;
            self.at = None;
        }
        due
    }
}

/// A request that is repeated until it takes effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct RepeatedRequest {
    pub(super) at: Instant,
    /// Attempts, except those that the server did not decide.
    pub(super) tries: u32,
    lost: u32,
}

impl RepeatedRequest {
    /// A request to make first at this time.
    pub(super) fn new(at: Instant) -> Self {
        Self {
            at,
            tries: 0,
            lost: 0,
        }
    }

    /// Whether the server did not decide the last attempt: then the attempt does not count, and the
    /// next one waits.
    pub(super) fn postponed_by(
        &mut self,
        answer: &CallOutcome,
        timing: &BotTiming,
        now: Instant,
    ) -> bool {
        let pause = match answer {
            CallOutcome::Done | CallOutcome::Gone | CallOutcome::Refused { status: 400, .. } => {
                return false;
            }
            CallOutcome::Limited { wait } => limited(*wait, timing),
            // No answer, or one about the token or the account.
            CallOutcome::Lost | CallOutcome::Refused { .. } => {
                self.lost += 1;
                grown(timing.again, self.lost).min(timing.limited_wait)
            }
        };
        self.tries = self.tries.saturating_sub(1);
        self.at = self.at.max(now + pause);
        true
    }
}

/// The wait advised by the server, else the default; capped, as a game does not last for ever.
pub(super) fn limited(advised: Option<Duration>, timing: &BotTiming) -> Duration {
    advised
        .unwrap_or(timing.limited_retry)
        .clamp(timing.limited_retry, timing.limited_wait)
}

/// `base`, doubled for every failure after the first.
pub(in crate::bot::game) fn grown(base: Duration, times: u32) -> Duration {
    base * 2_u32.pow(times.saturating_sub(1).min(MAX_DOUBLINGS))
}
