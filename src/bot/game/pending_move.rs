//! The move we owe: from the turn's coming to the choice of the move.
//!
//! `sent` takes it from there to the server's showing it. What is chosen here is always legal, and
//! it is chosen in time whatever the search does: the table has a timer of its own.

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

/// The obligation of one ply.
#[derive(Debug)]
pub(super) struct PendingMove {
    pub(super) ply: usize,
    pub(super) stage: Stage,
    pub(super) frozen: Option<SentMove>,
    pub(super) refused: Vec<Move>,
    pub(super) trouble: FailureHistory,
    pub(super) thought: Option<SearchResult>,
}

/// How far the obligation has come.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// The board is drawn and the server is about to say so.
    Held { until: Instant },
    /// A search runs; `late` once its best move so far was asked for.
    Thinking {
        ticket: RequestId,
        fallback: Instant,
        late: bool,
    },
    /// The move is found and sent at `until`, no sooner than a person would play.
    Dwelling {
        until: Instant,
        found: Box<SearchResult>,
    },
    /// The call is under way; at `until` it counts as lost.
    Sent { ticket: RequestId, until: Instant },
    /// The same move is sent again at `at`.
    Waiting { at: Instant },
    /// The server said "ok" at `since`; a state must show the move by `until`.
    Confirming { since: Instant, until: Instant },
    /// An opening of the stream asked for after `since` decides, and nothing else: the server has
    /// spoken, and a move repeated blindly might meet a position two plies on.
    Looking { since: Instant, wanted: AfterReopen },
}

impl PendingMove {
    fn new(ply: usize, now: Instant) -> Self {
        Self {
            ply,
            stage: Stage::Held { until: now },
            frozen: None,
            refused: Vec::new(),
            trouble: FailureHistory::default(),
            thought: None,
        }
    }

    pub(super) fn frozen(&self) -> Option<Move> {
        self.frozen.as_ref().map(|frozen| frozen.played)
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self.stage, Stage::Thinking { .. })
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
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
    /// After a list was read: an obligation is settled by any change of the list. Returns what was
    /// thought of the move, if it is the one on the list.
    pub(super) fn settle_owed(
        &mut self,
        change: MoveListChange,
        out: &mut Vec<GameEffect>,
    ) -> Option<SearchResult> {
        if change == MoveListChange::Same {
            self.stop_measuring();
            return None;
        }
        let owed = self.owed.take()?;
        if owed.is_thinking() {
            out.push(GameEffect::StopThinking);
        }
        let theirs = *self.record.game().moves().get(owed.ply)?;
        let ours = owed.frozen()?;
        if matches!(change, MoveListChange::Rewritten { .. }) {
            return None;
        }
        if ours != theirs {
            out.push(GameEffect::Note(Anomaly::Overruled { ours, theirs }));
            return None;
        }
        if change == MoveListChange::Grown(1) {
            self.learn_cost(&owed, out);
        }
        owed.thought
    }

    /// It is our turn on a list just read; `opened` if the list came with an opening.
    pub(super) fn owe(&mut self, opened: Option<Instant>, now: Instant, out: &mut Vec<GameEffect>) {
        if self.owed.is_some() {
            if let Some(opened) = opened {
                self.still_owed(opened, now, out);
            }
            return;
        }
        let position = self.record.game().position();
        if position.legal_moves().is_empty() {
            // Nothing can be owed: the end must be on its way.
            self.stop_pondering(out);
            return self.look_after(self.pace.confirm, now);
        }
        self.owed = Some(PendingMove::new(self.record.ply(), now));
        if let Some(kept) = self.kept_promise() {
            return self.send(kept, None, now, out);
        }
        let drawn = self.record.game().outcome(RepetitionRule::Threefold);
        if matches!(drawn, Some(Outcome::Draw(_))) {
            self.hold(now);
        } else {
            self.think(now, out);
        }
    }

    /// The move promised for this very list by the table before this one.
    fn kept_promise(&mut self) -> Option<Move> {
        let promise = self.promise.take()?;
        let kept = promise.after == self.record.game().moves();
        (kept && self.record.game().position().is_legal(promise.played)).then_some(promise.played)
    }

    fn hold(&mut self, now: Instant) {
        let left = self.reading().and_then(|reading| reading.left_at(now));
        let settle = self.pace.settle;
        let wait = left.map_or(settle, |left| settle.min(left / SETTLE_PART));
        self.stage(Stage::Held { until: now + wait });
    }

    fn stage(&mut self, stage: Stage) {
        if let Some(owed) = &mut self.owed {
            owed.stage = stage;
        }
    }

    pub(super) fn think(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let (Some(reading), Some(owed)) = (self.reading(), &mut self.owed) else {
            return;
        };
        let legal = self.record.game().position().legal_moves();
        let mut left: Vec<Move> = legal.iter().copied().collect();
        left.retain(|mv| !owed.refused.contains(mv));
        if left.is_empty() {
            owed.refused.clear();
        } else if left.len() == 1 {
            return self.send(left[0], None, now, out);
        }
        let some_refused = !owed.refused.is_empty();
        let allotment = search_budget(&reading, &self.lag, &self.settings, &self.pace, now);
        let mut limits = allotment.limits;
        limits.multipv = self.lines_to_weigh();
        if some_refused {
            limits.searchmoves = left;
        }
        // A search that pondered on this very position goes on under its number.
        let ticket = match self.ponder_hit() {
            Some(ticket) if !some_refused && limits.multipv == 1 => ticket,
            _ => self.next_ticket(),
        };
        self.stage(Stage::Thinking {
            ticket,
            fallback: allotment.fallback,
            late: false,
        });
        out.push(GameEffect::Think { ticket, limits });
        out.push(GameEffect::Warm);
        self.keep_warm(now);
    }

    /// The clock shows less than it should: what was planned on the old one must not overrun it.
    pub(super) fn tighten(&mut self, now: Instant) {
        let Some(reading) = self.reading() else {
            return;
        };
        let allotment = search_budget(&reading, &self.lag, &self.settings, &self.pace, now);
        match self.owed.as_mut().map(|owed| &mut owed.stage) {
            Some(Stage::Thinking { fallback, .. }) => {
                *fallback = allotment.fallback.min(*fallback);
            }
            Some(Stage::Dwelling { until, .. }) => *until = now.min(*until),
            _ => {}
        }
    }

    /// Whether `ticket` is the search whose answer is waited for.
    fn awaits(&self, ticket: RequestId) -> bool {
        self.owed.as_ref().is_some_and(
            |owed| matches!(owed.stage, Stage::Thinking { ticket: t, .. } if t == ticket),
        )
    }

    pub(super) fn thought(
        &mut self,
        ticket: RequestId,
        thought: SearchResult,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        if !self.awaits(ticket) {
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

    /// Until when a move found by now is kept back, where the operator wants a person's pace.
    fn leisure(&self, now: Instant) -> Option<Instant> {
        let rules = &self.settings.clock;
        let human = !self.setting.as_ref()?.opponent_is_bot;
        if !rules.human_pace || !human {
            return None;
        }
        let until = human_pace(&self.reading()?, &self.lag, rules, self.ply(), now)?;
        (until > now).then_some(until)
    }

    pub(super) fn best_so_far(
        &mut self,
        ticket: RequestId,
        best: Option<Move>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        if self.awaits(ticket) {
            out.push(GameEffect::Note(Anomaly::Late));
            self.choose(best, None, now, out);
            out.push(GameEffect::StopThinking);
        }
    }

    /// Settles on a move for the ply and sends it.
    fn choose(
        &mut self,
        best: Option<Move>,
        thought: Option<SearchResult>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        let Some(owed) = &self.owed else { return };
        let thought = thought.map(|thought| self.vary(thought, &owed.refused));
        let best = thought.as_ref().map_or(best, |thought| thought.best);
        let position = self.record.game().position();
        let fits = |mv: &Move| position.is_legal(*mv) && !owed.refused.contains(mv);
        if let Some(best) = best.filter(fits) {
            return self.send(best, thought, now, out);
        }
        let safe = fallback_move(position, &owed.refused);
        out.push(GameEffect::Note(Anomaly::NoThought));
        if let Some(safe) = safe {
            self.send(safe, None, now, out);
        }
    }

    /// The timers of the obligation.
    pub(super) fn owed_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let Some(owed) = &mut self.owed else { return };
        if owed.wake_at().is_none_or(|at| at > now) {
            return;
        }
        match &mut owed.stage {
            Stage::Held { .. } => self.think(now, out),
            Stage::Thinking { ticket, late, .. } if !*late => {
                *late = true;
                out.push(GameEffect::TakeBest { ticket: *ticket });
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
