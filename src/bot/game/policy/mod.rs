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
//! * `common`: the state just read, retries of lost requests, and growing pauses

mod abort;
mod common;
mod draw;
mod eval_history;
mod opponent_gone;
mod resign;
mod stalled_game;
mod takeback;

use std::time::Instant;

use self::abort::AbortPolicy;
pub(in crate::bot::game) use self::common::{StateUpdate, grown};
use self::draw::DrawPolicy;
pub(in crate::bot) use self::eval_history::EvalCache;
pub use self::eval_history::EvalHistory;
use self::opponent_gone::OpponentAbsence;
use self::resign::ResignPolicy;
use self::stalled_game::{StalledGame, UnsupportedGame};
use self::takeback::TakebackPolicy;
use super::event::ResumeState;

#[derive(Debug, Default)]
pub(in crate::bot::game) struct Policies {
    pub(in crate::bot::game) eval_history: EvalHistory,
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
            ..Self::default()
        }
    }

    pub(in crate::bot::game) fn refuses(&self) -> bool {
        self.refusal.is_some()
    }

    /// When a failed answer to an offer, or a failed resignation, is repeated.
    pub(in crate::bot::game) fn retry_timeout(&self) -> Option<Instant> {
        let offers = [self.draws.next_timeout(), self.takebacks.next_timeout()];
        let offers = offers.into_iter().flatten();
        offers.chain(self.resigning.next_timeout()).min()
    }

    /// When the earliest timer fires.
    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        [
            self.refusal.as_ref().map(UnsupportedGame::next_timeout),
            self.first_move.next_timeout(),
            self.retry_timeout(),
            self.absence.next_timeout(),
            self.stalled.next_timeout(),
        ]
        .into_iter()
        .flatten()
        .min()
    }
}
