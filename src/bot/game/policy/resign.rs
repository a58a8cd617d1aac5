//! Resigns lost games: off by default, and only if nothing can save the game.
//!
//! Decided once our move is on the list, on the opponent's turn. The bot plays on as long as the
//! opponent may lose on time, by leaving, or by overlooking that the next move explodes or mates
//! their king. A loss that endgame tables prove needs no streak; a draw that they prove, by the
//! fifty-move rule too, is never resigned.

use std::time::Instant;

use super::common::Retry;
use crate::bot::game::event::{CallOutcome, GameEffect, GameRequest};
use crate::bot::game::machine::{FIRST_PLIES, GameMachine};
use crate::engine::Wdl;
use crate::rules::{Outcome, Position};

#[derive(Debug, Default)]
pub(super) struct ResignPolicy {
    /// The length of the list when the bot resigned, and the state of the request.
    asked: Option<(usize, Retry)>,
}

impl ResignPolicy {
    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        self.asked.and_then(|(_, asked)| asked.next_timeout())
    }
}

impl GameMachine {
    /// Called once our move stands: resigns if the game is lost.
    pub(in crate::bot::game) fn resign_if_lost(&mut self) {
        // A pause outlasts the moves: the server may have requested it, or may be about to.
        let before = self.policies.resigning.asked.take();
        let before = before.filter(|(_, asked)| asked.is_active(self.now));
        if !self.is_given_up() {
            self.policies.resigning.asked = before;
            return;
        }
        let asked = before.map_or_else(Retry::begun, |(_, asked)| asked);
        self.policies.resigning.asked = Some((self.ply(), asked));
        if before.is_none() {
            self.out.push(GameEffect::Request(GameRequest::Resign));
        }
    }

    fn is_given_up(&self) -> bool {
        let (Some(setup), rules) = (&self.setup, &self.settings.resign) else {
            return false;
        };
        let eval_history = &self.policies.eval_history;
        let lost = match eval_history.proved {
            Some(proved) => proved == Wdl::Loss,
            None => eval_history.streaks.lost >= rules.moves.max(1),
        };
        // Earlier, resigning would abort the game.
        rules.enabled
            && self.ply() >= FIRST_PLIES
            && lost
            && !self.is_bare(setup.us.other())
            && !self.opponent_is_short(self.timing.short_clock)
            && !self.opponent_is_away()
            && !threatens_to_win(self.move_list.game().position())
    }

    pub(in crate::bot::game) fn resign_answered(&mut self, answer: &CallOutcome) {
        if self.policies.refuses() {
            return self.leave_answered(answer);
        }
        if let Some((_, asked)) = &mut self.policies.resigning.asked {
            asked.answered(answer, &self.timing, self.now);
            if matches!(answer, CallOutcome::Done) {
                // The end should follow at once. A "yes" without effect must not be final.
                asked.again_after(self.timing.again, self.now);
            }
        }
    }

    pub(in crate::bot::game) fn resign_tick(&mut self) {
        let ply = self.ply();
        let resigning = &mut self.policies.resigning;
        if let Some((at, asked)) = &mut resigning.asked
            && asked.is_due(self.now)
        {
            if *at == ply {
                self.out.push(GameEffect::Request(GameRequest::Resign));
            } else {
                // After the pause, whether to ask again is decided once our next move stands.
                resigning.asked = None;
            }
        }
    }
}

/// Whether the side not to move would win at once if it could move: the side to move may overlook
/// it.
fn threatens_to_win(position: &Position) -> bool {
    if position.is_threatened() || position.in_check() {
        return true;
    }
    let ours = position.pass();
    let wins = |mv: &crate::rules::Move| matches!(ours.play(*mv).outcome(), Some(Outcome::Win { winner, .. }) if winner == ours.turn());
    ours.legal_moves().iter().any(wins)
}
