//! Claims games that the opponent has left.
//!
//! The server counts down, with a message about every five seconds; at zero the game may be claimed
//! on the opponent's turn. It does not announce an early return: the messages just stop, so each
//! expires. A zero received on our turn is used once our move stands. A "yes" proves nothing, and
//! some games cannot be claimed at all: after a few failures the bot stops trying.

use std::time::Instant;

use super::common::limited;
use crate::bot::game::event::{CallOutcome, GameEffect, GameRequest};
use crate::bot::game::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::move_list::MoveListChange;
use crate::lichess::OpponentGone;

/// Claims answered with "yes" without effect, after which the bot stops claiming.
const MAX_IN_VAIN: u32 = 3;
/// Claims refused or lost, after which the bot stops claiming.
const MAX_FAILED: u32 = 12;

#[derive(Debug, Default)]
pub(super) struct OpponentAbsence {
    /// When the server last reported the opponent as gone.
    received_at: Option<Instant>,
    /// Since when the game may be claimed, by the server's last message.
    due_since: Option<Instant>,
    claims: ClaimPolicy,
}

/// The claims during one absence.
#[derive(Debug, Default)]
struct ClaimPolicy {
    under_way: bool,
    in_vain: u32,
    failed: u32,
    /// No claim before this: the server checks only now and then.
    not_before: Option<Instant>,
    /// When to claim again even without another message.
    at: Option<Instant>,
}

impl OpponentAbsence {
    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        self.claims.at
    }
}

impl ClaimPolicy {
    fn are_worth_it(&self, now: Instant) -> bool {
        !self.under_way
            && self.in_vain < MAX_IN_VAIN
            && self.failed < MAX_FAILED
            && self.not_before.is_none_or(|at| at <= now)
    }
}

impl GameMachine {
    /// Handles a report that the opponent left, is still gone, or came back.
    pub(in crate::bot::game) fn absence(&mut self, absence: OpponentGone) {
        if !absence.gone {
            self.policies.absence = OpponentAbsence::default();
            return;
        }
        let due = absence.claim_win_in.is_some_and(|left| left.is_zero());
        let known = &mut self.policies.absence;
        known.received_at = Some(self.now);
        known.due_since = due.then_some(self.now);
        self.claim_if_due();
    }

    /// Whether the latest report, not too old, has the opponent gone.
    pub(in crate::bot::game) fn opponent_is_away(&self) -> bool {
        self.is_fresh(self.policies.absence.received_at)
    }

    fn is_fresh(&self, received_at: Option<Instant>) -> bool {
        received_at.is_some_and(|at| self.now.saturating_duration_since(at) <= self.timing.absence)
    }

    /// A move of theirs ends their absence.
    pub(in crate::bot::game) fn watch_presence(&mut self, change: MoveListChange) {
        let only_ours = change == MoveListChange::Grown(1) && !self.is_our_turn();
        if change != MoveListChange::Same && !only_ours {
            self.policies.absence = OpponentAbsence::default();
        }
    }

    /// Claims the game if possible: the win, or the draw where the bot cannot win.
    pub(in crate::bot::game) fn claim_if_due(&mut self) {
        let Some(setup) = &self.setup else { return };
        let claimable = setup.clocked
            && self.ply() >= FIRST_PLIES
            && self.is_trusted()
            && !self.is_our_turn()
            && !self.policies.refuses()
            && self.is_fresh(self.policies.absence.due_since);
        if !claimable || !self.policies.absence.claims.are_worth_it(self.now) {
            return;
        }
        let request = if self.is_bare(setup.us) {
            GameRequest::ClaimDraw
        } else {
            GameRequest::ClaimVictory
        };
        let claims = &mut self.policies.absence.claims;
        claims.under_way = true;
        claims.at = None;
        self.out.push(GameEffect::Request(request));
    }

    /// Handles the outcome of a claim. A successful one is followed by the end of the game.
    pub(in crate::bot::game) fn claim_answered(&mut self, answer: &CallOutcome) {
        let again = self.timing.again;
        let (soonest, again) = match answer {
            CallOutcome::Limited { wait } => {
                let wait = limited(*wait, &self.timing);
                (wait, wait.max(again))
            }
            _ => (again / 2, again),
        };
        let claims = &mut self.policies.absence.claims;
        claims.under_way = false;
        match answer {
            CallOutcome::Done => claims.in_vain += 1,
            _ => claims.failed += 1,
        }
        claims.not_before = self.now.checked_add(soonest);
        claims.at = self.now.checked_add(again);
    }

    pub(in crate::bot::game) fn absence_tick(&mut self) {
        let claims = &mut self.policies.absence.claims;
        if claims.at.is_some_and(|at| at <= self.now) {
            claims.at = None;
            self.claim_if_due();
        }
    }
}
