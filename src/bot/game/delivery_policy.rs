//! What the reply to a sent move means: confirm, retry or look again. One pure function, a row per reply.
//!
//! The rule behind every row: while it is unknown whether the move arrived, only the same move may be
//! sent again. At worst the server refuses it: once played, its origin square is empty.

use std::time::{Duration, Instant};

use super::event::CallOutcome;
use super::move_overhead::{ClockKind, ClockState};
use crate::bot::settings::BotTiming;

/// Consecutive calls that may fail before a call gets more time.
const QUICK_CALLS: u32 = 2;
/// Limits how often pauses after repeated failures double.
const MOST_DOUBLINGS: u32 = 5;
/// How often "not your turn" counts as a stale state before the move itself is doubted.
const MOST_DOUBTS: u32 = 3;
/// The words in a refusal that mean a stale state rather than a bad move.
const STALE_WORDS: &str = "not your turn";

/// Failures so far of the current move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureHistory {
    /// Consecutive calls without an answer.
    pub lost: u32,
    /// Consecutive refusals because of the rate or the account.
    pub barred: u32,
    /// Consecutive "not your turn" refusals.
    pub doubts: u32,
    /// How often no state followed an "ok".
    pub unshown: u32,
}

/// The next step in delivering a sent move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Wait for a state that shows it.
    Confirm {
        /// How long, if the clock allows it.
        wait: Duration,
    },
    /// Send the same move again.
    Repeat { at: Instant },
    /// Reopen the stream and check.
    Look(AfterReopen),
}

/// What to do if the reopened stream shows that the bot still owes the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterReopen {
    /// Send the same move again.
    Same,
    /// Another move may be chosen.
    Another,
}

/// What `answer` means for a sent move with these failures, on this clock, at this moment.
pub fn next_step(
    answer: &CallOutcome,
    trouble: &mut FailureHistory,
    clock: &ClockState,
    timing: &BotTiming,
    now: Instant,
) -> NextStep {
    match answer {
        CallOutcome::Done => {
            let unshown = trouble.unshown;
            *trouble = FailureHistory {
                unshown,
                ..FailureHistory::default()
            };
            // Grows each time, or a slow opening of the stream would never be allowed to finish.
            NextStep::Confirm {
                wait: grown(timing.confirm, unshown + 1),
            }
        }
        CallOutcome::Lost => {
            trouble.lost += 1;
            let doubled = 2_u32.saturating_pow(trouble.lost - 1);
            let pause = timing.retry.saturating_mul(doubled);
            NextStep::Repeat {
                at: now + pause.min(retry_cap(clock, timing)),
            }
        }
        CallOutcome::Limited { wait } => {
            trouble.barred += 1;
            let advised = wait.unwrap_or(timing.limited_wait);
            NextStep::Repeat {
                at: now + decent_pause(advised, clock, timing, now),
            }
        }
        CallOutcome::Refused { status: 400, text } => refused(text, trouble),
        // The token or the account, not the move: retry slowly; an alert has been raised.
        CallOutcome::Refused { .. } => {
            trouble.barred += 1;
            let pause = grown(timing.limited_retry, trouble.barred);
            NextStep::Repeat {
                at: now + decent_pause(pause, clock, timing, now),
            }
        }
        CallOutcome::Gone => NextStep::Look(AfterReopen::Same),
    }
}

fn refused(text: &str, trouble: &mut FailureHistory) -> NextStep {
    trouble.lost = 0;
    if text.to_ascii_lowercase().contains(STALE_WORDS) && trouble.doubts < MOST_DOUBTS {
        trouble.doubts += 1;
        return NextStep::Look(AfterReopen::Same);
    }
    trouble.doubts = 0;
    NextStep::Look(AfterReopen::Another)
}

/// This wait if the clock allows it, else the shortest polite one: the game matters more than
/// courtesy, the account more than the game.
fn decent_pause(wait: Duration, clock: &ClockState, timing: &BotTiming, now: Instant) -> Duration {
    let wait = wait.max(timing.limited_retry);
    if clock.can_wait(wait, timing, now) {
        wait
    } else {
        timing.limited_retry
    }
}

/// The longest pause before a lost move is sent again: without a running clock there is no hurry.
fn retry_cap(clock: &ClockState, timing: &BotTiming) -> Duration {
    match clock.kind {
        ClockKind::Running | ClockKind::Standing => timing.retry_cap,
        ClockKind::Unclocked => timing.limited_wait / 2,
    }
}

/// The timeout of the next call. A server that hangs should find a fresh call soon after it
/// recovers; one that is always slow gets more time in the end.
pub(super) fn post_limit(trouble: &FailureHistory, timing: &BotTiming) -> Duration {
    let slow = trouble.lost.saturating_sub(QUICK_CALLS - 1);
    grown(timing.post_limit, slow + 1)
}

/// `base`, doubled for every failure after the first.
pub(super) fn grown(base: Duration, times: u32) -> Duration {
    base * 2_u32.pow(times.saturating_sub(1).min(MOST_DOUBLINGS))
}
