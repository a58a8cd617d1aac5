//! Stalled games: the bot keeps them, but frees their slot.
//!
//! Some games can be neither played, aborted nor resigned, and the server keeps them for weeks.
//! Once the side to move should long have lost on time, or aborting fails, the account state is
//! told, and told again if the game continues.

use std::time::Instant;

use super::common::{RepeatedRequest, StateUpdate, grown};
use crate::bot::game::event::{Anomaly, CallOutcome, GameEffect, GameRequest, Notification};
use crate::bot::game::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::move_list::MoveListChange;

#[derive(Debug, Default)]
pub(super) struct StalledGame {
    /// When the game counts as stalled.
    at: Option<Instant>,
    reported: bool,
}

impl StalledGame {
    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        self.at.filter(|_| !self.reported)
    }
}

impl GameMachine {
    /// A state was read: from now on one side's clock runs.
    pub(in crate::bot::game) fn watch_progress(&mut self, update: StateUpdate) {
        let moved = update.change != MoveListChange::Same;
        if moved && std::mem::take(&mut self.policies.stalled.reported) {
            self.out.push(GameEffect::Notify(Notification::Moving));
        }
        let left = self.flag_falls_within();
        let patience = left.map(|left| left.saturating_add(self.timing.stalled));
        let at = patience.and_then(|patience| self.now.checked_add(patience));
        // Once a flag should have fallen, another look changes nothing.
        let known = self.policies.stalled.at.filter(|_| !moved);
        self.policies.stalled.at = known.into_iter().chain(at).min();
    }

    /// The most that the side to move can take.
    fn flag_falls_within(&self) -> Option<std::time::Duration> {
        let (setup, last_state) = self.known()?;
        if !setup.clocked || self.ply() < FIRST_PLIES {
            return None;
        }
        let mover = self.game().position().turn();
        last_state.state.time(mover.into())
    }

    pub(in crate::bot::game) fn stalled_tick(&mut self) {
        let mut overdue = self.policies.stalled.at.is_some_and(|at| at <= self.now);
        if overdue && self.is_our_turn() && self.sent().is_none() {
            // The bot is to move: after the host was suspended, its move comes first.
            self.policies.stalled.at = self.now.checked_add(self.timing.stalled);
            overdue = false;
        }
        let stuck = self.policies.first_move.is_stuck()
            || self
                .policies
                .refusal
                .as_ref()
                .is_some_and(UnsupportedGame::is_stuck);
        if overdue {
            self.policies.stalled.at = None;
        }
        if (overdue || stuck) && !self.policies.stalled.reported {
            self.policies.stalled.reported = true;
            self.out.push(GameEffect::Report(Anomaly::Stalled));
            self.out.push(GameEffect::Notify(Notification::Stalled));
        }
    }
}

/// Requests after which nothing seems to help.
const MANY: u32 = 6;

/// An unsupported game: the bot aborts it, or resigns if that is refused.
///
/// It never reads the board. If the server refuses both, requests become ever rarer.
#[derive(Debug)]
pub(super) struct UnsupportedGame {
    request: GameRequest,
    repeat: RepeatedRequest,
}

impl UnsupportedGame {
    pub(in crate::bot::game) fn next_timeout(&self) -> Instant {
        self.repeat.at
    }

    pub(in crate::bot::game) fn is_stuck(&self) -> bool {
        self.repeat.tries > MANY
    }
}

impl GameMachine {
    /// Gives up an unsupported game.
    pub(in crate::bot::game) fn refuse_game(&mut self) {
        if !self.policies.refuses() {
            self.out.push(GameEffect::Report(Anomaly::NotOurs));
            self.ask_to_leave(GameRequest::Abort);
        }
    }

    fn ask_to_leave(&mut self, request: GameRequest) {
        let known = self.policies.refusal.as_ref();
        let mut repeat = known.map_or_else(|| RepeatedRequest::new(self.now), |it| it.repeat);
        repeat.tries += 1;
        repeat.at = self.now + grown(self.timing.again, repeat.tries.saturating_sub(MANY / 2));
        self.policies.refusal = Some(UnsupportedGame { request, repeat });
        self.out.push(GameEffect::Request(request));
    }

    /// Handles the outcome of aborting or resigning it.
    pub(in crate::bot::game) fn leave_answered(&mut self, answer: &CallOutcome) {
        if let Some(refusal) = &mut self.policies.refusal
            && !refusal.repeat.postponed_by(answer, &self.timing, self.now)
            && refusal.request == GameRequest::Abort
            && matches!(answer, CallOutcome::Refused { .. })
        {
            self.ask_to_leave(GameRequest::Resign);
        }
    }

    pub(in crate::bot::game) fn refusal_tick(&mut self) {
        if let Some(refusal) = &self.policies.refusal
            && refusal.repeat.at <= self.now
        {
            let request = refusal.request;
            self.ask_to_leave(request);
        }
    }
}
