//! Everything about a game except its moves: draw offers, resignation, takebacks, absent opponents,
//! games that never start, and games the bot does not play.
//!
//! A policy can never delay or change a pending move. Each has its file, its state, and its part in
//! three steps: a state was read, a request was answered, a timer fired.
//!
//! * `eval_history`: evaluations of our last moves
//! * `draw`, `takeback`: the opponent's offers, and our own draw offers
//! * `resign`: resigning lost games
//! * `opponent_gone`: claiming a win or draw from an absent opponent
//! * `abort`: opponents who never make their first move
//! * `stalled_game`: games in which nothing happens any more, and games of another variant
//! * `common`: the state just read, and retries of lost requests

mod abort;
mod common;
mod draw;
mod eval_history;
mod opponent_gone;
mod resign;
mod stalled_game;
mod takeback;

use std::time::{Duration, Instant};

use self::abort::AbortPolicy;
pub(in crate::bot::game) use self::common::Glance;
use self::draw::DrawPolicy;
pub(in crate::bot) use self::eval_history::EvalCache;
pub use self::eval_history::EvalHistory;
use self::opponent_gone::OpponentAbsence;
use self::resign::ResignPolicy;
use self::stalled_game::{StalledGame, UnsupportedGame};
use self::takeback::TakebackPolicy;
use super::event::{CallOutcome, GameEffect, GameRequest, ResumeState};
use super::machine::{FIRST_PLIES, GameMachine};
use super::move_list::MoveListChange;
use crate::lichess::Side;
use crate::rules::Color;

/// With an increment, little time is divided by this.
const INCREMENT_HELPS: u32 = 6;

#[derive(Debug)]
pub(in crate::bot::game) struct Policies {
    eval_history: EvalHistory,
    draws: DrawPolicy,
    takebacks: TakebackPolicy,
    resigning: ResignPolicy,
    absence: OpponentAbsence,
    first_move: AbortPolicy,
    stalled: StalledGame,
    refusal: Option<UnsupportedGame>,
}

impl Policies {
    /// Continues from the stored state of this game.
    pub(in crate::bot::game) fn new(past: ResumeState) -> Self {
        Self {
            eval_history: past.eval_history,
            draws: DrawPolicy::new(past.draw_offers),
            takebacks: TakebackPolicy::new(past.takebacks),
            resigning: ResignPolicy::default(),
            absence: OpponentAbsence::default(),
            first_move: AbortPolicy::default(),
            stalled: StalledGame::default(),
            refusal: None,
        }
    }

    pub(in crate::bot::game) fn refuses(&self) -> bool {
        self.refusal.is_some()
    }

    /// When the earliest timer fires.
    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        [
            self.refusal.as_ref().map(UnsupportedGame::next_timeout),
            self.first_move.next_timeout(),
            self.draws.next_timeout(),
            self.takebacks.next_timeout(),
            self.resigning.next_timeout(),
            self.absence.next_timeout(),
            self.stalled.next_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}

impl GameMachine {
    /// Handles a state that does not end the game; a required move is already in progress.
    pub(in crate::bot::game) fn apply_policies(
        &mut self,
        glance: Glance,
        out: &mut Vec<GameEffect>,
    ) {
        let rewritten = matches!(glance.change, MoveListChange::Rewritten { .. });
        if rewritten || self.policies.eval_history.is_of_a_longer_game(self.ply()) {
            self.policies.eval_history = EvalHistory::default();
        }
        self.watch_presence(glance.change);
        self.takeback_flag(out);
        self.draw_flag(glance, out);
        self.watch_first_move(glance);
        self.watch_progress(glance, out);
        if glance.change != MoveListChange::Same && !self.is_our_turn() {
            self.resign_if_lost(glance.now, out);
            self.claim_if_due(glance.now, out);
        }
    }

    /// Handles the outcome of a request.
    pub(in crate::bot::game) fn asked(
        &mut self,
        request: GameRequest,
        answer: &CallOutcome,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        match request {
            GameRequest::Abort if self.policies.refuses() => self.refused_abort(answer, now, out),
            GameRequest::Abort => self.first_move_asked(answer, out),
            GameRequest::Resign => self.resign_asked(answer, now),
            GameRequest::AcceptDraw => self.draw_asked(answer, now),
            GameRequest::AcceptTakeback => self.takeback_asked(answer, now),
            GameRequest::ClaimVictory | GameRequest::ClaimDraw => self.claim_asked(answer, now),
            // Whether a decline arrived or not: the next move declines too.
            GameRequest::DeclineDraw | GameRequest::DeclineTakeback => {}
        }
        self.standstill_tick(now, out);
    }

    /// Fires the timers of all policies.
    pub(in crate::bot::game) fn manners_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        self.refusal_tick(now, out);
        self.first_move_tick(now, out);
        self.draw_tick(now, out);
        self.takeback_tick(now, out);
        self.resign_tick(now, out);
        self.absence_tick(now, out);
        self.standstill_tick(now, out);
    }

    /// Whether a side has only its king: it cannot win, not even on time.
    fn is_bare(&self, side: Side) -> bool {
        let color = match side {
            Side::White => Color::White,
            Side::Black => Color::Black,
        };
        self.move_list.game().position().by_color(color).count() == 1
    }

    /// Whether the opponent is about to lose on time: they have less than `little` and less than
    /// the bot, and no increment to speak of.
    fn opponent_is_short(&self, little: Duration) -> bool {
        let (Some(setup), Some(shown)) = (&self.setup, &self.shown) else {
            return false;
        };
        if !setup.clocked || self.ply() < FIRST_PLIES {
            return false;
        }
        let (us, them) = (setup.us, setup.us.other());
        let (Some(ours), Some(theirs)) = (shown.state.time(us), shown.state.time(them)) else {
            return false;
        };
        let little = if shown.state.increment(them).is_zero() {
            little
        } else {
            little / INCREMENT_HELPS
        };
        theirs < little && theirs < ours
    }
}
