//! Aborts games in which the opponent never makes the first move, and counts them.
//!
//! No one else watches the first move of a challenge game: without an abort its slot would be lost
//! for a day. Arenas abort games themselves, and games without a clock have time. A game can be
//! aborted before its second move; a refused abort means that the bot missed a move. One that was made while
//! the stream opened may be missing, so the bot looks again before it aborts.

use std::time::{Duration, Instant};

use super::common::{RepeatedRequest, StateUpdate};
use crate::bot::game::event::{CallOutcome, GameEffect, GameRequest, Persist};
use crate::bot::game::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::move_list::MoveListChange;
use crate::lichess::Status;

/// Attempts without effect before the game is left alone.
const MAX_ABORTS: u32 = 5;
/// Refusals after which the bot accepts that the server means it.
const MAX_REFUSALS: u32 = 2;

#[derive(Debug, Default)]
pub(super) struct AbortPolicy {
    /// The next abort request.
    wait: Option<RepeatedRequest>,
    refused: u32,
    /// The opponent asked for more time and got it.
    extended: bool,
    /// The game can be neither played nor aborted.
    stuck: bool,
}

impl AbortPolicy {
    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        self.wait.map(|wait| wait.at)
    }

    pub(in crate::bot::game) fn is_stuck(&self) -> bool {
        self.stuck
    }
}

impl GameMachine {
    /// Whether the game looks abortable.
    fn is_abortable(&self) -> bool {
        let arena = self.setup.as_ref().is_none_or(|setup| setup.arena);
        !arena && self.ply() < FIRST_PLIES && !self.is_over()
    }

    /// Waits for the opponent's first move as long as the operator allows.
    pub(in crate::bot::game) fn watch_first_move(&mut self, update: StateUpdate) {
        let Some(setup) = &self.setup else { return };
        let rules = &self.settings.game;
        let patience = if setup.opponent_is_bot {
            rules.abort_bots
        } else {
            rules.abort_humans
        };
        let watched = setup.clocked && self.is_abortable();
        let theirs = !self.is_our_turn();
        let since = self.waited_since(patience, update);
        let first_move = &mut self.policies.first_move;
        if update.change != MoveListChange::Same {
            first_move.refused = 0;
            first_move.stuck = false;
        }
        if !watched || first_move.stuck {
            first_move.wait = None;
            return;
        }
        let waits = first_move.wait.is_some() && update.change == MoveListChange::Same;
        if !waits {
            let at = since.checked_add(patience).filter(|_| theirs);
            first_move.wait = at.map(RepeatedRequest::new);
        }
        let Some(wait) = first_move.wait.filter(|wait| wait.tries == 0) else {
            return;
        };
        // A move made while the stream opened may be missing: look soon, and again before giving up.
        let again = self.timing.again;
        let left = wait.at.saturating_duration_since(self.now);
        let is_new = update.opened && !waits;
        let next = if is_new { again } else { again.max(left / 2) };
        if next < left {
            self.check_after(next);
        }
    }

    /// Since when the opponent has owed the first move. A game found in progress, after a restart,
    /// has already waited: before any move, as long as the bot has known of it. The game's age by
    /// the server's clock, which may differ from ours, and that of a game in which the bot has
    /// moved count for at most half of the patience.
    fn waited_since(&self, patience: Duration, update: StateUpdate) -> Instant {
        if !update.opened {
            return self.now;
        }
        let begun = self.params.past.begun;
        let reported = [self.created, begun].into_iter().flatten().min();
        let least = self.now.checked_sub(patience / 2).unwrap_or(self.now);
        let reported = reported.map(|at| at.max(least));
        let known = begun.filter(|_| self.ply() == 0);
        [reported, known]
            .into_iter()
            .flatten()
            .fold(self.now, Instant::min)
    }

    /// How much longer the bot would wait for the opponent's first move if asked: as long again, for
    /// a human, once.
    pub(in crate::bot) fn more_time(&self) -> Option<Duration> {
        let human = !self.setup.as_ref()?.opponent_is_bot;
        let first_move = &self.policies.first_move;
        let waits = first_move.wait.as_ref().is_some_and(|wait| wait.tries == 0);
        (human && waits && !first_move.extended).then_some(self.settings.game.abort_humans)
    }

    pub(in crate::bot::game) fn wait_longer(&mut self) {
        let Some(more) = self.more_time() else { return };
        let first_move = &mut self.policies.first_move;
        first_move.extended = true;
        if let Some(wait) = &mut first_move.wait {
            wait.at = wait.at.checked_add(more).unwrap_or(wait.at);
        }
    }

    /// Handles the outcome of an abort.
    pub(in crate::bot::game) fn abort_answered(&mut self, answer: &CallOutcome) {
        let first_move = &mut self.policies.first_move;
        let Some(wait) = &mut first_move.wait else {
            return;
        };
        if wait.postponed_by(answer, &self.timing, self.now)
            || !matches!(answer, CallOutcome::Refused { .. })
        {
            return;
        }
        first_move.wait = None;
        first_move.refused += 1;
        if first_move.refused >= MAX_REFUSALS {
            first_move.stuck = true;
        } else {
            // Too late to abort: the stream must have missed a move.
            self.out.push(GameEffect::Reopen);
        }
    }

    pub(in crate::bot::game) fn first_move_tick(&mut self) {
        let again = self.now.checked_add(self.timing.again);
        let first_move = &mut self.policies.first_move;
        let Some(wait) = first_move.wait.as_mut().filter(|wait| wait.at <= self.now) else {
            return;
        };
        wait.tries += 1;
        if let Some(again) = again.filter(|_| wait.tries <= MAX_ABORTS) {
            wait.at = again;
            self.out.push(GameEffect::Request(GameRequest::Abort));
        } else {
            first_move.wait = None;
            first_move.stuck = true;
        }
    }

    /// Records a game that was aborted, by either side, while the opponent owed the first move: one who
    /// aborts each game takes as many slots as one who never moves. The bot aborts unsupported games itself.
    pub(in crate::bot::game) fn report_no_show(&mut self, status: Status) {
        let owed = self.ply() < FIRST_PLIES && !self.is_our_turn();
        if status == Status::Aborted && owed && !self.policies.refuses() {
            self.out.push(GameEffect::Persist(Persist::NoShow));
        }
    }
}
