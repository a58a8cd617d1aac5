//! How the move the bot owes is chosen: from the start of our turn until it is sent.
//!
//! From there `move_delivery` takes over. Only a legal move may be chosen, and always in time
//! whatever the search does: the machine has a timer of its own, and `fallback_move` needs no
//! search.

use std::time::{Duration, Instant};

use super::delivery_policy::{PendingMove, Stage};
use super::event::{Anomaly, GameEffect, RequestId};
use super::machine::GameMachine;
use super::move_list::MoveListChange;
use super::move_overhead::ClockState;
use super::opening_variety::replaced;
use super::time_budget::{SearchBudget, human_pace, search_budget};
use crate::engine::{Ranked, SearchResult};
use crate::rules::{Move, Outcome, Position, RepetitionRule};

/// The part of the clock that waiting for the server to end a drawn game or to take a move back may
/// cost.
const SETTLE_PART: u32 = 10;

impl GameMachine {
    /// Called after a list was read: any change of the list settles the pending move. Returns its
    /// search result if it is the move on the list.
    pub(super) fn settle_pending_move(&mut self, change: MoveListChange) -> Option<SearchResult> {
        if change == MoveListChange::Same {
            self.stop_measuring();
            return None;
        }
        let pending = self.pending.take()?;
        if pending.is_searching() {
            self.out.push(GameEffect::StopSearch);
        }
        let theirs = *self.move_list.game().moves().get(pending.ply)?;
        let ours = pending.sent()?;
        if matches!(change, MoveListChange::Rewritten) {
            return None;
        }
        if ours != theirs {
            self.out
                .push(GameEffect::Report(Anomaly::Overruled { ours, theirs }));
            return None;
        }
        if change == MoveListChange::Grown(1) {
            self.learn_cost(&pending);
        }
        pending.result
    }

    /// It is our turn on a list just read; `opened` if the list came with an opening.
    pub(super) fn start_pending_move(&mut self, opened: Option<Instant>) {
        if self.pending.is_some() {
            if let Some(opened) = opened {
                self.still_pending(opened);
            }
            return;
        }
        let position = self.move_list.game().position();
        if position.legal_moves().is_empty() {
            // No move is possible: the server must be about to end the game.
            self.stop_pondering();
            return self.check_after(self.timing.confirm);
        }
        self.pending = Some(PendingMove::new(self.move_list.ply(), self.now));
        if let Some(kept) = self.unconfirmed_move() {
            return self.send(kept, None);
        }
        let drawn = self.move_list.game().outcome(RepetitionRule::Threefold);
        if matches!(drawn, Some(Outcome::Draw(_))) {
            let until = self.affordable(self.timing.settle);
            self.stage(Stage::AwaitingDraw { until });
        } else {
            self.think();
        }
    }

    /// The unconfirmed move that an earlier machine sent after this very list.
    fn unconfirmed_move(&mut self) -> Option<Move> {
        let unconfirmed = self.unconfirmed.take()?;
        let (game, played) = (self.move_list.game(), unconfirmed.played);
        let kept = unconfirmed.after == game.moves();
        (kept && game.position().is_legal(played)).then_some(played)
    }

    /// The end of a wait for the server, as far as the clock allows it.
    fn affordable(&self, wait: Duration) -> Instant {
        let most = self.left_at().map_or(wait, |left| left / SETTLE_PART);
        self.now + wait.min(most)
    }

    pub(super) fn stage(&mut self, stage: Stage) {
        if let Some(pending) = &mut self.pending {
            pending.stage = stage;
        }
    }

    pub(super) fn think(&mut self) {
        let (Some(reading), Some(pending)) = (self.reading(), &mut self.pending) else {
            return;
        };
        let legal = self.move_list.game().position().legal_moves();
        let mut left: Vec<Move> = legal.iter().copied().collect();
        left.retain(|mv| !pending.refused.contains(mv));
        if left.is_empty() {
            pending.refused.clear();
        } else if left.len() == 1 {
            return self.send(left[0], None);
        }
        let refused = pending.refused.clone();
        if let Some(found) = self.book_move(&refused) {
            return self.play_or_hold_back(found);
        }
        let some_refused = !refused.is_empty();
        let allotment = self.budget(&reading);
        let mut limits = allotment.limits;
        limits.contempt = self.contempt();
        let plan = self.root_plan(self.move_list.game(), &left);
        if some_refused {
            limits.searchmoves = left;
        }
        plan.set(&mut limits);
        if let Some(level) = self.level() {
            limits = level.limits(limits);
        }
        // A search that pondered on this very position continues under its id.
        let request_id = match self.ponder_hit(&plan) {
            Some(request_id) if !some_refused => request_id,
            _ => self.next_request_id(),
        };
        self.stage(Stage::Searching {
            request_id,
            fallback: allotment.fallback,
            late: false,
        });
        self.out.push(GameEffect::Search { request_id, limits });
        self.out.push(GameEffect::Warm);
        self.keep_warm();
    }

    fn budget(&self, reading: &ClockState) -> SearchBudget {
        let (overhead, settings) = (&self.overhead, &self.settings);
        search_budget(reading, overhead, settings, &self.timing, self.now)
    }

    /// The clock shows less than expected: a budget based on the old one must not overrun it.
    pub(super) fn tighten(&mut self) {
        let Some(reading) = self.reading() else {
            return;
        };
        let allotment = self.budget(&reading);
        match self.pending.as_mut().map(|pending| &mut pending.stage) {
            Some(Stage::Searching { fallback, .. }) => {
                *fallback = allotment.fallback.min(*fallback);
            }
            Some(Stage::HeldBack { until, .. }) => *until = self.now.min(*until),
            _ => {}
        }
    }

    /// Whether `request_id` is the search that the machine waits for.
    fn awaits(&self, request_id: RequestId) -> bool {
        self.pending.as_ref().is_some_and(
            |pending| matches!(pending.stage, Stage::Searching { request_id: t, .. } if t == request_id),
        )
    }

    pub(super) fn result(&mut self, request_id: RequestId, result: SearchResult) {
        if self.awaits(request_id) {
            self.play_or_hold_back(result);
        }
    }

    fn play_or_hold_back(&mut self, result: SearchResult) {
        match self.held_back_until() {
            Some(until) => self.stage(Stage::HeldBack {
                until,
                found: Box::new(result),
            }),
            None => self.choose(result.best, Some(result)),
        }
    }

    /// Until when to hold a chosen move back: for the effect of a granted takeback, since a "yes"
    /// that comes after our move proposes a takeback of ours; for a human pace if the operator wants
    /// it.
    fn held_back_until(&self) -> Option<Instant> {
        if self.grants_now() {
            return Some(self.takeback_shown_by());
        }
        let rules = &self.settings.clock;
        let human = !self.setup.as_ref()?.opponent_is_bot;
        if !rules.human_pace || !human {
            return None;
        }
        let until = human_pace(
            &self.reading()?,
            &self.overhead,
            rules,
            self.ply(),
            self.now,
        )?;
        (until > self.now).then_some(until)
    }

    /// Until when a granted takeback should show.
    fn takeback_shown_by(&self) -> Instant {
        self.affordable(self.timing.post_limit)
    }

    /// Holds a move that is already held back until a takeback granted now should show.
    pub(super) fn hold_for_takeback(&mut self) {
        let shown = self.takeback_shown_by();
        if let Some(Stage::HeldBack { until, .. }) =
            self.pending.as_mut().map(|pending| &mut pending.stage)
        {
            *until = shown.max(*until);
        }
    }

    pub(super) fn best_so_far(&mut self, request_id: RequestId, best: Option<Move>) {
        if self.awaits(request_id) {
            self.out.push(GameEffect::Report(Anomaly::Late));
            self.choose(best, None);
            self.out.push(GameEffect::StopSearch);
        }
    }

    /// Chooses the move of the ply and sends it.
    fn choose(&mut self, best: Option<Move>, result: Option<SearchResult>) {
        let Some(pending) = &self.pending else { return };
        let (game, variety) = (self.move_list.game(), &self.settings.variety);
        let mut left: Vec<Move> = game.position().legal_moves().to_vec();
        left.retain(|mv| !pending.refused.contains(mv));
        let plan = self.root_plan(game, &left);
        let vary = |result| match self.earlier_games() {
            Some(earlier) => {
                let excluded = [pending.refused.clone(), plan.avoided()].concat();
                let game = (&self.params.game, game);
                earlier.pick_variation(result, game, &excluded, variety)
            }
            None => result,
        };
        let result = result
            .map(|result| self.weakened(result))
            .map(vary)
            .map(|result| plan.choose(result, &left, &self.settings.experience));
        let best = result.as_ref().map_or(best, |result| result.best);
        if let Some(text) = best.and_then(|best| plan.explain(game.position(), best)) {
            self.out.push(GameEffect::Note(text));
        }
        let position = self.move_list.game().position();
        let fits = |mv: &Move| position.is_legal(*mv) && !pending.refused.contains(mv);
        if let Some(best) = best.filter(fits) {
            return self.send(best, result);
        }
        let safe = fallback_move(position, &pending.refused);
        self.out.push(GameEffect::Report(Anomaly::NoSearchResult));
        if let Some(safe) = safe {
            self.send(safe, None);
        }
    }

    /// The result with the move of the level at which this game is played.
    fn weakened(&self, result: SearchResult) -> SearchResult {
        let Some(level) = self.level() else {
            return result;
        };
        let seed = self.seed ^ self.move_list.game().position().key();
        let drawn = level.choose(&result, &mut fastrand::Rng::with_seed(seed));
        let others = result.ranking.iter();
        let mut others = others.filter(|it| Some(it.mv) != result.best);
        match others.find(|it| Some(it.mv) == drawn).copied() {
            Some(Ranked { mv, score }) => replaced(result, mv, score),
            None => result,
        }
    }

    /// The timers of a pending move.
    pub(super) fn pending_move_tick(&mut self) {
        let Some(pending) = &mut self.pending else {
            return;
        };
        if pending.next_timeout().is_none_or(|at| at > self.now) {
            return;
        }
        match &mut pending.stage {
            Stage::AwaitingDraw { .. } => self.think(),
            Stage::Searching {
                request_id, late, ..
            } if !*late => {
                *late = true;
                self.out.push(GameEffect::TakeBest {
                    request_id: *request_id,
                });
            }
            Stage::Searching { .. } => {
                self.out.push(GameEffect::Report(Anomaly::Late));
                self.choose(None, None);
                self.out.push(GameEffect::StopSearch);
            }
            Stage::HeldBack { found, .. } => {
                let found = SearchResult::clone(found);
                self.choose(found.best, Some(found));
            }
            Stage::Sent { .. } | Stage::Waiting { .. } | Stage::Confirming { .. } => {
                self.sent_tick();
            }
            Stage::Reopening { .. } => {}
        }
    }
}

/// A legal move without a search, for when the engine has none in time: one outside
/// `refused_moves`, or a refused one if there is no other. None if there is no legal move at all.
///
/// Sound rather than good: it wins at once if possible and avoids losing at once if possible. It
/// must never be illegal, and never be missing while a legal move exists. Looking two plies ahead
/// takes a few microseconds.
pub fn fallback_move(position: &Position, refused_moves: &[Move]) -> Option<Move> {
    let legal = position.legal_moves();
    let allowed = || {
        legal
            .iter()
            .copied()
            .filter(|mv| !refused_moves.contains(mv))
    };
    allowed()
        .find(|&mv| wins(position, mv))
        .or_else(|| allowed().find(|&mv| is_quiet_and_safe(position, mv)))
        .or_else(|| allowed().find(|&mv| !position.play(mv).can_explode()))
        .or_else(|| allowed().next())
        .or_else(|| legal.first().copied())
}

fn wins(position: &Position, mv: Move) -> bool {
    position.explodes_king(mv)
}

/// Whether it leaves the opponent no explosion and loses nothing by capturing.
fn is_quiet_and_safe(position: &Position, mv: Move) -> bool {
    let after = position.play(mv);
    !position.is_capture(mv)
        && !after.can_explode()
        && after.outcome().is_none()
        && !after
            .legal_moves()
            .iter()
            .any(|&reply| after.is_capture(reply) && after.blast(reply).count() >= 4)
}

#[cfg(test)]
mod fallback_tests {
    use super::*;

    #[test]
    fn a_win_is_taken() {
        let position = Position::from_fen("4k3/3r4/8/8/8/8/8/3QK3 w - - 0 1").unwrap();
        assert_eq!(fallback_move(&position, &[]).unwrap().to_string(), "d1d7");
    }

    #[test]
    fn refused_moves_are_the_last_resort() {
        let position = Position::default();
        let legal = position.legal_moves();
        let refused_moves = &legal[..legal.len() - 1];
        assert_eq!(
            fallback_move(&position, refused_moves),
            legal.last().copied()
        );
        assert!(fallback_move(&position, &legal).is_some());
    }

    #[test]
    fn there_is_no_fallback_without_a_king() {
        let position = Position::from_fen("8/8/8/8/8/8/8/3QK3 w - - 0 1");
        assert!(position.is_ok_and(|position| fallback_move(&position, &[]).is_none()));
    }
}
