//! What the reply to a sent move means: confirm, retry or look again. One pure function, a row per reply.
//!
//! The rule behind every row: while it is unknown whether the move arrived, only the same move may be sent
//! again. At worst the repetition is refused: once played, the square it starts from is empty.

use std::time::{Duration, Instant};

use super::event::CallOutcome;
use crate::bot::game::clock::{ClockKind, ClockState};
use crate::bot::settings::BotTiming;

/// So many calls in a row may bring nothing before they are given more time.
const QUICK_CALLS: u32 = 2;
/// Longest factor by which pauses after repeated trouble grow.
const MOST_DOUBLINGS: u32 = 5;
/// How often "not your turn" is taken for a stale state before the move itself is doubted.
const MOST_DOUBTS: u32 = 3;
/// The words in a refusal that say our picture of the game is old, not that the move is bad.
const STALE_WORDS: &str = "not your turn";

/// What went wrong so far for the move at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureHistory {
    /// Calls in a row that brought nothing.
    pub lost: u32,
    /// Refusals in a row for the rate or for the account.
    pub barred: u32,
    /// "Not your turn" in a row.
    pub doubts: u32,
    /// How often an "ok" was not followed by a state.
    pub unshown: u32,
}

/// What is done next about a sent move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// Wait for a state that shows it.
    Confirm {
        /// How long, if the clock bears it.
        wait: Duration,
    },
    /// Send the same move again.
    Repeat { at: Instant },
    /// Open the stream anew and look.
    Look(AfterReopen),
}

/// What happens once a freshly opened stream still shows the move owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterReopen {
    /// The same move is sent again.
    Same,
    /// Another move may be chosen.
    Another,
}

/// What `answer` means for a move sent in this trouble, on this clock, at this moment.
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
            // Ever more patience, or a slow opening of the stream would never be let finish.
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
        // The token or the account: nothing about the move. Slowly, an alarm is out.
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

/// This wait where the clock affords it, else the shortest that is decent: the game is worth more
/// than the courtesy, the account more than the game.
fn decent_pause(wait: Duration, clock: &ClockState, timing: &BotTiming, now: Instant) -> Duration {
    let wait = wait.max(timing.limited_retry);
    if clock.can_wait(wait, timing, now) {
        wait
    } else {
        timing.limited_retry
    }
}

/// The longest pause before a lost move is sent again: where no clock runs there is no hurry.
fn retry_cap(clock: &ClockState, timing: &BotTiming) -> Duration {
    match clock.kind {
        ClockKind::Running | ClockKind::Standing => timing.retry_cap,
        ClockKind::Unclocked => timing.limited_wait / 2,
    }
}

/// How long the next call is waited for. A server that hangs is to find a fresh call soon after it
/// is well again; one that is always this slow is given more time in the end.
pub(super) fn post_limit(trouble: &FailureHistory, timing: &BotTiming) -> Duration {
    let slow = trouble.lost.saturating_sub(QUICK_CALLS - 1);
    grown(timing.post_limit, slow + 1)
}

/// `base` doubled for every trouble after the first.
pub(super) fn grown(base: Duration, times: u32) -> Duration {
    base * 2_u32.pow(times.saturating_sub(1).min(MOST_DOUBLINGS))
}
