//! Unsupported games: the bot aborts them, or resigns if that is refused.
//!
//! It never reads their board. If the server refuses both, requests become ever rarer.

use std::time::Instant;

use crate::bot::game::delivery_policy::grown;
use crate::bot::game::event::{Anomaly, CallOutcome, GameEffect, GameRequest};
use crate::bot::game::machine::GameMachine;

/// Requests after which nothing seems to help.
const MANY: u32 = 6;

#[derive(Debug)]
pub(super) struct UnsupportedGame {
    request: GameRequest,
    at: Instant,
    tries: u32,
}

impl UnsupportedGame {
    pub(super) fn next_timeout(&self) -> Instant {
        self.at
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.tries > MANY
    }
}

impl GameMachine {
    /// Gives up an unsupported game.
    pub(in crate::bot::game) fn refuse_game(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        if !self.policies.refuses() {
            out.push(GameEffect::Note(Anomaly::NotOurs));
            self.ask_to_leave(GameRequest::Abort, now, out);
        }
    }

    fn ask_to_leave(&mut self, request: GameRequest, now: Instant, out: &mut Vec<GameEffect>) {
        let tries = self
            .policies
            .refusal
            .as_ref()
            .map_or(0, |refusal| refusal.tries)
            + 1;
        let at = now + grown(self.timing.again, tries.saturating_sub(MANY / 2));
        self.policies.refusal = Some(UnsupportedGame { request, at, tries });
        out.push(GameEffect::Ask(request));
    }

    /// Handles the outcome of aborting it.
    pub(super) fn refused_abort(
        &mut self,
        answer: &CallOutcome,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        if matches!(answer, CallOutcome::Refused { .. }) {
            self.ask_to_leave(GameRequest::Resign, now, out);
        }
    }

    pub(super) fn refusal_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        if let Some(refusal) = &self.policies.refusal
            && refusal.at <= now
        {
            let request = refusal.request;
            self.ask_to_leave(request, now, out);
        }
    }
}
