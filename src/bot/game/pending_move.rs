//! The move the bot owes, from the start of our turn until it is chosen.
//!
//! From there `move_delivery` takes over. The chosen move is always legal, and chosen in time
//! whatever the search does: the machine has a timer of its own.

use std::time::Instant;

use super::delivery_policy::{AfterReopen, FailureHistory};
use super::event::{Anomaly, GameEffect, RequestId};
use super::fallback_move::fallback_move;
use super::machine::GameMachine;
use super::move_delivery::SentMove;
use super::move_list::MoveListChange;
use crate::bot::game::time_budget::{human_pace, search_budget};
use crate::engine::SearchResult;
use crate::rules::{Move, Outcome, RepetitionRule};

/// The part of the clock that waiting for the server to end a drawn game may cost.
const SETTLE_PART: u32 = 10;

#[derive(Debug)]
pub(super) struct PendingMove {
    pub(super) ply: usize,
    pub(super) stage: Stage,
    pub(super) sent: Option<SentMove>,
    pub(super) refused: Vec<Move>,
    pub(super) trouble: FailureHistory,
    pub(super) thought: Option<SearchResult>,
}

/// The stages of a pending move.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// The board is drawn and the server is about to say so.
    Held { until: Instant },
    /// A search runs; `late` once its best move so far was requested.
    Thinking {
        request_id: RequestId,
        fallback: Instant,
        late: bool,
    },
    /// The move is chosen and held back until `until`, for a human pace.
    Dwelling {
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
    Looking { since: Instant, wanted: AfterReopen },
}

impl PendingMove {
    fn new(ply: usize, now: Instant) -> Self {
        Self {
            ply,
            stage: Stage::Held { until: now },
            sent: None,
            refused: Vec::new(),
            trouble: FailureHistory::default(),
            thought: None,
        }
    }

    pub(super) fn sent(&self) -> Option<Move> {
        self.sent.as_ref().map(|sent| sent.played)
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self.stage, Stage::Thinking { .. })
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        match self.stage {
            Stage::Held { until }
            | Stage::Dwelling { until, .. }
            | Stage::Sent { until, .. }
            | Stage::Confirming { until, .. } => Some(until),
            Stage::Thinking { fallback, .. } => Some(fallback),
            Stage::Waiting { at } => Some(at),
            Stage::Looking { .. } => None,
        }
    }
}

impl GameMachine {
    /// Called after a list was read: any change of the list settles the pending move. Returns its
    /// search result if it is the move on the list.
    pub(super) fn settle_owed(
        &mut self,
        change: MoveListChange,
        out: &mut Vec<GameEffect>,
    ) -> Option<SearchResult> {
        if change == MoveListChange::Same {
            self.stop_measuring();
            return None;
        }
        let pending = self.pending.take()?;
        if pending.is_thinking() {
            out.push(GameEffect::StopThinking);
        }
        let theirs = *self.move_list.game().moves().get(pending.ply)?;
        let ours = pending.sent()?;
        if matches!(change, MoveListChange::Rewritten { .. }) {
            return None;
        }
        if ours != theirs {
            out.push(GameEffect::Note(Anomaly::Overruled { ours, theirs }));
            return None;
        }
        if change == MoveListChange::Grown(1) {
            self.learn_cost(&pending, out);
        }
        pending.thought
    }

    /// It is our turn on a list just read; `opened` if the list came with an opening.
    pub(super) fn start_pending_move(
        &mut self,
        opened: Option<Instant>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        if self.pending.is_some() {
            if let Some(opened) = opened {
                self.still_owed(opened, now, out);
            }
            return;
        }
        let position = self.move_list.game().position();
        if position.legal_moves().is_empty() {
            // No move is possible: the server must be about to end the game.
            self.stop_pondering(out);
            return self.look_after(self.timing.confirm, now);
        }
        self.pending = Some(PendingMove::new(self.move_list.ply(), now));
        if let Some(kept) = self.kept_promise() {
            return self.send(kept, None, now, out);
        }
        let drawn = self.move_list.game().outcome(RepetitionRule::Threefold);
        if matches!(drawn, Some(Outcome::Draw(_))) {
            self.hold(now);
        } else {
            self.think(now, out);
        }
    }

    /// The unconfirmed move that an earlier machine sent after this very list.
    fn kept_promise(&mut self) -> Option<Move> {
        let unconfirmed = self.unconfirmed.take()?;
        let kept = unconfirmed.after == self.move_list.game().moves();
        (kept
            && self
                .move_list
                .game()
                .position()
                .is_legal(unconfirmed.played))
        .then_some(unconfirmed.played)
    }

    fn hold(&mut self, now: Instant) {
        let left = self.reading().and_then(|reading| reading.left_at(now));
        let settle = self.timing.settle;
        let wait = left.map_or(settle, |left| settle.min(left / SETTLE_PART));
        self.stage(Stage::Held { until: now + wait });
    }

    fn stage(&mut self, stage: Stage) {
        if let Some(pending) = &mut self.pending {
            pending.stage = stage;
        }
    }

    pub(super) fn think(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let (Some(reading), Some(pending)) = (self.reading(), &mut self.pending) else {
            return;
        };
        let legal = self.move_list.game().position().legal_moves();
        let mut left: Vec<Move> = legal.iter().copied().collect();
        left.retain(|mv| !pending.refused.contains(mv));
        if left.is_empty() {
            pending.refused.clear();
        } else if left.len() == 1 {
            return self.send(left[0], None, now, out);
        }
        let some_refused = !pending.refused.is_empty();
        let allotment = search_budget(&reading, &self.latency, &self.settings, &self.timing, now);
        let mut limits = allotment.limits;
        limits.multipv = self.lines_to_weigh();
        if some_refused {
            limits.searchmoves = left;
        }
        // A search that pondered on this very position continues under its id.
        let request_id = match self.ponder_hit() {
            Some(request_id) if !some_refused && limits.multipv == 1 => request_id,
            _ => self.next_ticket(),
        };
        self.stage(Stage::Thinking {
            request_id,
            fallback: allotment.fallback,
            late: false,
        });
        out.push(GameEffect::Think { request_id, limits });
        out.push(GameEffect::Warm);
        self.keep_warm(now);
    }

    /// The clock shows less than expected: a budget based on the old one must not overrun it.
    pub(super) fn tighten(&mut self, now: Instant) {
        let Some(reading) = self.reading() else {
            return;
        };
        let allotment = search_budget(&reading, &self.latency, &self.settings, &self.timing, now);
        match self.pending.as_mut().map(|pending| &mut pending.stage) {
            Some(Stage::Thinking { fallback, .. }) => {
                *fallback = allotment.fallback.min(*fallback);
            }
            Some(Stage::Dwelling { until, .. }) => *until = now.min(*until),
            _ => {}
        }
    }

    /// Whether `request_id` is the search that the machine waits for.
    fn awaits(&self, request_id: RequestId) -> bool {
        self.pending.as_ref().is_some_and(
            |pending| matches!(pending.stage, Stage::Thinking { request_id: t, .. } if t == request_id),
        )
    }

    pub(super) fn thought(
        &mut self,
        request_id: RequestId,
        thought: SearchResult,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        if !self.awaits(request_id) {
            return;
        }
        match self.leisure(now) {
            Some(until) => self.stage(Stage::Dwelling {
                until,
                found: Box::new(thought),
            }),
            None => self.choose(thought.best, Some(thought), now, out),
        }
    }

    /// Until when to hold a chosen move back, if the operator wants a human pace.
    fn leisure(&self, now: Instant) -> Option<Instant> {
        let rules = &self.settings.clock;
        let human = !self.setup.as_ref()?.opponent_is_bot;
        if !rules.human_pace || !human {
            return None;
        }
        let until = human_pace(&self.reading()?, &self.latency, rules, self.ply(), now)?;
        (until > now).then_some(until)
    }

    pub(super) fn best_so_far(
        &mut self,
        request_id: RequestId,
        best: Option<Move>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        if self.awaits(request_id) {
            out.push(GameEffect::Note(Anomaly::Late));
            self.choose(best, None, now, out);
            out.push(GameEffect::StopThinking);
        }
    }

    /// Chooses the move of the ply and sends it.
    fn choose(
        &mut self,
        best: Option<Move>,
        thought: Option<SearchResult>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        let Some(pending) = &self.pending else { return };
        let thought = thought.map(|thought| self.vary(thought, &pending.refused));
        let best = thought.as_ref().map_or(best, |thought| thought.best);
        let position = self.move_list.game().position();
        let fits = |mv: &Move| position.is_legal(*mv) && !pending.refused.contains(mv);
        if let Some(best) = best.filter(fits) {
            return self.send(best, thought, now, out);
        }
        let safe = fallback_move(position, &pending.refused);
        out.push(GameEffect::Note(Anomaly::NoThought));
        if let Some(safe) = safe {
            self.send(safe, None, now, out);
        }
    }

    /// The timers of a pending move.
    pub(super) fn owed_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        if pending.next_timeout().is_none_or(|at| at > now) {
            return;
        }
        match &mut pending.stage {
            Stage::Held { .. } => self.think(now, out),
            Stage::Thinking {
                request_id, late, ..
            } if !*late => {
                *late = true;
                out.push(GameEffect::TakeBest {
                    request_id: *request_id,
                });
            }
            Stage::Thinking { .. } => {
                out.push(GameEffect::Note(Anomaly::Late));
                self.choose(None, None, now, out);
                out.push(GameEffect::StopThinking);
            }
            Stage::Dwelling { found, .. } => {
                let found = SearchResult::clone(found);
                self.choose(found.best, Some(found), now, out);
            }
            Stage::Sent { .. } | Stage::Waiting { .. } | Stage::Confirming { .. } => {
                self.sent_tick(now, out);
            }
            Stage::Looking { .. } => {}
        }
    }
}
