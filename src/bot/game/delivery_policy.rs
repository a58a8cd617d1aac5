//! The move the bot owes, as data, and what the reply to it means: confirm, retry or reopen the stream
//! and check.
//!
//! Pure: [`next_step`] has a row per reply, [`post_limit`] limits the next call. `move_delivery`
//! acts on both. The text of a refusal decides one row: "not your turn" means a stale state.
//!
//! The rule behind every row: while it is unknown whether the move arrived, only the same move may be
//! sent again. At worst the server refuses it: once played, its origin square is empty.

use std::time::{Duration, Instant};

use super::event::{CallOutcome, RequestId};
use super::move_overhead::{ClockKind, ClockState, SendSample};
use super::policy::grown;
use crate::bot::settings::BotTiming;
use crate::engine::SearchResult;
use crate::lichess::OfferDraw;
use crate::rules::Move;

/// Consecutive calls that may fail before a call gets more time.
const QUICK_CALLS: u32 = 2;
/// Refusals of the token or the account after which the pause no longer grows.
const MAX_GROWTH: u32 = 3;
/// How often "not your turn" counts as a stale state before the move itself is doubted.
const MAX_DOUBTS: u32 = 3;
/// The words in a refusal that mean a stale state rather than a bad move.
const STALE_WORDS: &str = "not your turn";

/// The move the bot owes at a ply.
#[derive(Debug)]
pub(super) struct PendingMove {
    pub(super) ply: usize,
    pub(super) stage: Stage,
    pub(super) sent: Option<SentMove>,
    pub(super) refused: Vec<Move>,
    pub(super) failures: FailureHistory,
    pub(super) result: Option<SearchResult>,
}

/// The stages of a pending move.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// The board is drawn and the server is about to say so.
    AwaitingDraw { until: Instant },
    /// A search runs; `late` once its best move so far was requested.
    Searching {
        request_id: RequestId,
        fallback: Instant,
        late: bool,
    },
    /// The move is chosen and held back until `until`: for a human pace, or while a takeback is
    /// granted.
    HeldBack {
        until: Instant,
        found: Box<SearchResult>,
    },
    /// The call is in progress; at `until` it counts as lost.
    Sent {
        request_id: RequestId,
        until: Instant,
    },
    /// The same move is sent again at `at`.
    Waiting { at: Instant },
    /// The server said "ok" at `since`; a state must show the move by `until`.
    Confirming { since: Instant, until: Instant },
    /// Only an opening of the stream requested after `since` decides: the server has answered, and
    /// a move repeated blindly might be played two plies later.
    Reopening { since: Instant, wanted: AfterReopen },
}

/// A chosen move, final from its first sending on.
#[derive(Clone, Debug)]
pub(super) struct SentMove {
    pub(super) played: Move,
    pub(super) draw: OfferDraw,
    /// The id of its first sending; none before that.
    pub(super) first: Option<RequestId>,
    /// The only sending, as long as its cost can be measured.
    pub(super) measured: Option<SendSample>,
}

impl PendingMove {
    pub(super) fn new(ply: usize, now: Instant) -> Self {
        Self {
            ply,
            stage: Stage::AwaitingDraw { until: now },
            sent: None,
            refused: Vec::new(),
            failures: FailureHistory::default(),
            result: None,
        }
    }

    pub(super) fn sent(&self) -> Option<Move> {
        self.sent.as_ref().map(|sent| sent.played)
    }

    pub(super) fn is_searching(&self) -> bool {
        matches!(self.stage, Stage::Searching { .. })
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match self.stage {
            Stage::AwaitingDraw { until }
            | Stage::HeldBack { until, .. }
            | Stage::Sent { until, .. }
            | Stage::Confirming { until, .. } => Some(until),
            Stage::Searching { fallback, .. } => Some(fallback),
            Stage::Waiting { at } => Some(at),
            Stage::Reopening { .. } => None,
        }
    }

    /// The server said "ok" and played nothing: perhaps because of the draw offer sent with the
    /// move, which by then has been made or accepted.
    pub(super) fn go_without_draw(&mut self) {
        if let Some(sent) = &mut self.sent {
            sent.draw = OfferDraw::No;
        }
    }

    /// Whether an answer counts: the one to the last sending does, and so does a late "ok" to an
    /// earlier sending of the same move.
    pub(super) fn concerns(&self, request_id: RequestId, answer: &CallOutcome) -> bool {
        let since = self.sent.as_ref().and_then(|sent| sent.first);
        let of_this_move = since.is_some_and(|first| request_id >= first);
        match self.stage {
            Stage::Sent {
                request_id: last, ..
            } if request_id == last => true,
            Stage::Sent { .. } | Stage::Waiting { .. } => {
                of_this_move && *answer == CallOutcome::Done
            }
            _ => false,
        }
    }
}

/// Failures so far of the current move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FailureHistory {
    /// Consecutive calls without an answer.
    pub lost: u32,
    /// Consecutive refusals because of the rate or the account.
    pub refused_calls: u32,
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
    Reopen(AfterReopen),
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
    failures: &mut FailureHistory,
    clock: &ClockState,
    timing: &BotTiming,
    now: Instant,
) -> NextStep {
    match answer {
        CallOutcome::Done => {
            let unshown = failures.unshown;
            *failures = FailureHistory {
                unshown,
                ..FailureHistory::default()
            };
            // Grows each time, or a slow opening of the stream would never be allowed to finish.
            NextStep::Confirm {
                wait: grown(timing.confirm, unshown + 1),
            }
        }
        CallOutcome::Lost => {
            failures.lost += 1;
            let doubled = 2_u32.saturating_pow(failures.lost - 1);
            let pause = timing.retry.saturating_mul(doubled);
            NextStep::Repeat {
                at: now + pause.min(retry_cap(clock, timing)),
            }
        }
        CallOutcome::Limited { wait } => {
            failures.refused_calls += 1;
            let advised = wait.unwrap_or(timing.limited_wait);
            NextStep::Repeat {
                at: now + polite_pause(advised, clock, timing, now),
            }
        }
        CallOutcome::Refused { status: 400, text } => refused(text, failures),
        // The token or the account, not the move: retry slowly; an alert has been raised. A renewed token
        // must not wait long for the next attempt.
        CallOutcome::Refused { .. } => {
            failures.refused_calls += 1;
            let pause = grown(timing.limited_retry, failures.refused_calls.min(MAX_GROWTH));
            NextStep::Repeat {
                at: now + polite_pause(pause, clock, timing, now),
            }
        }
        CallOutcome::Gone => NextStep::Reopen(AfterReopen::Same),
    }
}

fn refused(text: &str, failures: &mut FailureHistory) -> NextStep {
    failures.lost = 0;
    if text.to_ascii_lowercase().contains(STALE_WORDS) && failures.doubts < MAX_DOUBTS {
        failures.doubts += 1;
        return NextStep::Reopen(AfterReopen::Same);
    }
    failures.doubts = 0;
    NextStep::Reopen(AfterReopen::Another)
}

/// This wait if the clock allows it, else the shortest polite one: the game matters more than
/// courtesy, the account more than the game.
fn polite_pause(wait: Duration, clock: &ClockState, timing: &BotTiming, now: Instant) -> Duration {
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
pub(super) fn post_limit(failures: &FailureHistory, timing: &BotTiming) -> Duration {
    let slow = failures.lost.saturating_sub(QUICK_CALLS - 1);
    grown(timing.post_limit, slow + 1)
}
