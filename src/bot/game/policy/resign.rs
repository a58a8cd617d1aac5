//! Resigning: off unless the operator wants it, and then only a game that offers nothing any more.
//!
//! Decided once our move stands on the list, on the opponent's turn. A game is played on as long as
//! the opponent may lose it by the clock, by leaving, or by overlooking that the next move blows up
//! or mates their king.

use std::time::Instant;

use super::retry::Retry;
use crate::bot::game::event::{CallOutcome, GameEffect, GameRequest};
use crate::bot::game::machine::{FIRST_PLIES, GameMachine};
use crate::rules::{Outcome, Position};

/// What is remembered about it.
#[derive(Debug, Default)]
pub(super) struct ResignPolicy {
    /// The length of the list when we resigned, and how the request fares.
    asked: Option<(usize, Retry)>,
}

impl ResignPolicy {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.asked.and_then(|(_, asked)| asked.next_timeout())
    }
}

impl GameMachine {
    /// Our move stands: whether the game is worth going on with.
    pub(super) fn resign_if_lost(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        // A pause continues though the game does too: the server may have asked for it, or may be about to.
        let before = self.policies.resigning.asked.take();
        let before = before.filter(|(_, asked)| asked.goes_on(now));
        if !self.is_given_up(now) {
            self.policies.resigning.asked = before;
            return;
        }
        let asked = before.map_or_else(Retry::begun, |(_, asked)| asked);
        self.policies.resigning.asked = Some((self.ply(), asked));
        if before.is_none() {
            out.push(GameEffect::Ask(GameRequest::Resign));
        }
    }

    fn is_given_up(&self, now: Instant) -> bool {
        let (Some(setup), rules) = (&self.setup, &self.settings.resign) else {
            return false;
        };
        // Earlier, resigning would abort the game.
        rules.enabled
            && self.ply() >= FIRST_PLIES
            && self.policies.eval_history.streaks.lost >= rules.moves.max(1)
            && !self.is_bare(setup.us.other())
            && !self.opponent_is_short(self.timing.short_clock)
            && !self.opponent_is_away(now)
            && !threatens_to_win(self.move_list.game().position())
    }

    pub(super) fn resign_asked(&mut self, answer: &CallOutcome, now: Instant) {
        let timing = self.timing;
        if let Some((_, asked)) = &mut self.policies.resigning.asked {
            asked.answered(answer, &timing, now);
            if matches!(answer, CallOutcome::Done) {
                // The end should follow at once. A yes that did nothing must not be the last word.
                asked.again_after(timing.again, now);
            }
        }
    }

    pub(super) fn resign_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let ply = self.ply();
        let resigning = &mut self.policies.resigning;
        if let Some((at, asked)) = &mut resigning.asked
            && asked.is_due(now)
        {
            if *at == ply {
                out.push(GameEffect::Ask(GameRequest::Resign));
            } else {
                // The pause is over; whether to ask again is seen once our next move stands.
                resigning.asked = None;
            }
        }
    }
}

/// Whether the side that waits would win at once if it were its turn: the side to move may overlook
/// it.
fn threatens_to_win(position: &Position) -> bool {
    if position.is_threatened() || position.in_check() {
        return true;
    }
    let ours = position.pass();
    let wins = |mv: &crate::rules::Move| matches!(ours.play(*mv).outcome(), Some(Outcome::Win { winner, .. }) if winner == ours.turn());
    ours.legal_moves().iter().any(wins)
}
