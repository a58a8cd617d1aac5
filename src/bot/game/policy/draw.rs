//! Draws: answers each offer once, and makes a few of its own.
//!
//! An offer that appears on the opponent's turn is answered at once by a request; on ours the move
//! answers it, with consent or without. A state's flag is inexact: it can outlive its offer, so it
//! counts when it appears and only until our next move stands. Our own offer cannot be withdrawn,
//! ends the game at once against a bare king, and saves an opponent whose flag falls: the bot makes
//! none where that would cost anything.
//!
//! Where endgame tables prove the result, it replaces ply and streak: a proved draw is accepted and
//! offered at once, a proved win never.

use std::time::Instant;

use super::common::{Retry, StateUpdate};
use crate::bot::game::event::{CallOutcome, GameEffect, GameRequest, Persist};
use crate::bot::game::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::move_list::MoveListChange;
use crate::engine::Wdl;
use crate::lichess::{OfferDraw, Side};

/// The server ignores an offer within this many plies of our previous one.
const PLIES_BETWEEN_OFFERS: usize = 20;
/// An offer stands while the opponent thinks: their clock must hold this multiple of little time.
const STANDING: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct DrawPolicy {
    /// Their flag in the last state.
    flag: bool,
    /// Their unanswered offer: the length of the list when it was made.
    pending: Option<usize>,
    accepting: Option<Retry>,
    offers: u32,
}

impl DrawPolicy {
    pub(in crate::bot::game) fn new(offers: u32) -> Self {
        Self {
            offers,
            ..Self::default()
        }
    }

    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        self.accepting
            .and_then(|accepting| accepting.next_timeout())
    }
}

/// Number of moves by `side` among the first `plies`.
fn moves_of(side: Side, plies: usize) -> usize {
    match side {
        Side::White => plies.div_ceil(2),
        Side::Black => plies / 2,
    }
}

impl GameMachine {
    /// Handles their flag in the state just read.
    pub(in crate::bot::game) fn draw_flag(&mut self, update: StateUpdate) {
        let Some((setup, last_state)) = self.known() else {
            return;
        };
        let us = setup.us;
        let flag = last_state.state.offers_draw(us.other());
        let (ply, our_turn) = (self.ply(), self.is_our_turn());
        let draws = &mut self.policies.draws;
        if draws.offers > 0 {
            // After a restart the time of the last offer is unknown.
            self.policies.eval_history.last_offer.get_or_insert(ply);
        }
        let appeared = flag && !draws.flag;
        draws.flag = flag;
        let answered = |&seen: &usize| moves_of(us, ply) > moves_of(us, seen);
        let rewritten = matches!(update.change, MoveListChange::Rewritten);
        if !flag || rewritten || draws.pending.as_ref().is_some_and(answered) {
            draws.pending = None;
            draws.accepting = None;
        }
        // The state with our move may still carry the offer that the move declined.
        let declined_by_move = matches!(update.change, MoveListChange::Grown(_)) && !our_turn;
        if !appeared || rewritten || (declined_by_move && !update.opened) {
            return;
        }
        draws.pending = Some(ply);
        if !our_turn {
            self.answer_draw();
        }
    }

    /// Answers by a request, on their turn.
    fn answer_draw(&mut self) {
        if self.accepts_draw() {
            self.policies.draws.accepting = Some(Retry::begun());
            self.out.push(GameEffect::Request(GameRequest::AcceptDraw));
        } else {
            self.policies.draws.pending = None;
            self.out.push(GameEffect::Request(GameRequest::DeclineDraw));
        }
    }

    /// Whether to send a draw with the next move: consent to theirs, or an offer.
    pub(in crate::bot::game) fn draw_with_move(&mut self) -> OfferDraw {
        let agrees = self.policies.draws.pending.is_some() && self.accepts_draw();
        if agrees {
            // If their offer is gone by then, this counts as ours.
            self.policies.eval_history.last_offer = Some(self.ply());
            return OfferDraw::Yes;
        }
        if !self.offers_draw() {
            return OfferDraw::No;
        }
        let ply = self.ply();
        let draws = &mut self.policies.draws;
        draws.offers += 1;
        self.policies.eval_history.last_offer = Some(ply);
        self.out.push(GameEffect::Persist(Persist::DrawOffered {
            so_far: draws.offers,
        }));
        OfferDraw::Yes
    }

    /// Proved to be no win, or late enough, and level or worse for some time, or clearly worse in the
    /// last search.
    fn accepts_draw(&self) -> bool {
        let rules = &self.settings.draw;
        let Some(setup) = &self.setup else {
            return false;
        };
        if !rules.accepts(setup.opponent_is_bot) {
            return false;
        }
        let eval_history = &self.policies.eval_history;
        let late_enough = self.ply() >= rules.ply as usize;
        let steady = match eval_history.proved {
            Some(Wdl::Win) => return false,
            Some(Wdl::Loss | Wdl::BlessedLoss) => return true,
            Some(Wdl::Draw) => true,
            Some(Wdl::CursedWin) | None => {
                late_enough && eval_history.streaks.no_better >= rules.moves.max(1)
            }
        };
        let has_nothing_to_win =
            late_enough && (self.is_bare(setup.us) || eval_history.is_worse(rules.score));
        has_nothing_to_win || (steady && !self.opponent_is_short(self.timing.short_clock))
    }

    /// Proved, or late enough and level for some time; within the budget, and nothing better in sight.
    fn offers_draw(&self) -> bool {
        let (rules, draws) = (&self.settings.draw, &self.policies.draws);
        let Some(setup) = &self.setup else {
            return false;
        };
        let willing = if setup.opponent_is_bot {
            rules.offer_bots && !setup.opponent_is_ai
        } else {
            rules.offer_humans
        };
        let eval_history = &self.policies.eval_history;
        let steady = match eval_history.proved {
            Some(Wdl::Draw) => self.ply() >= FIRST_PLIES,
            // The opponent may fail to hold the draw.
            Some(Wdl::CursedWin | Wdl::Win) => false,
            Some(Wdl::BlessedLoss | Wdl::Loss) | None => {
                self.ply() >= (rules.ply as usize).max(FIRST_PLIES)
                    && eval_history.streaks.level >= rules.moves.max(1)
            }
        };
        let last = eval_history.last_offer;
        let rested = last.is_none_or(|last| self.ply() > last + PLIES_BETWEEN_OFFERS);
        willing
            && steady
            && draws.offers < rules.offers
            && rested
            && !self.is_bare(setup.us.other())
            && !self.opponent_is_short(self.timing.short_clock * STANDING)
            && !self.opponent_is_away()
    }

    /// Handles the outcome of accepting a draw.
    pub(in crate::bot::game) fn draw_answered(&mut self, answer: &CallOutcome) {
        if let Some(accepting) = &mut self.policies.draws.accepting {
            accepting.answered(answer, &self.timing, self.now);
        }
    }

    pub(in crate::bot::game) fn draw_tick(&mut self) {
        let draws = &mut self.policies.draws;
        if let Some(accepting) = &mut draws.accepting
            && accepting.is_due(self.now)
            && draws.pending.is_some()
            && !self.is_our_turn()
        {
            self.out.push(GameEffect::Request(GameRequest::AcceptDraw));
        }
    }
}
