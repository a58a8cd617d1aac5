//! Games of another kind: they are aborted, or where that is refused resigned.
//!
//! Nothing on their board is read. A server that lets us do neither is asked ever more rarely.

use std::time::Instant;

use crate::bot::table::event::{Action, Answer, Oddity, Request};
use crate::bot::table::play::Table;
use crate::bot::table::verdict::grown;

/// Requests after which nothing seems to help.
const MANY: u32 = 6;

/// A game that is given up because it is of another kind.
#[derive(Debug)]
pub(super) struct Refusal {
    request: Request,
    at: Instant,
    tries: u32,
}

impl Refusal {
    pub(super) fn wake_at(&self) -> Instant {
        self.at
    }

    pub(super) fn is_stuck(&self) -> bool {
        self.tries > MANY
    }
}

impl Table {
    /// A game of another kind.
    pub(in crate::bot::table) fn refuse_game(&mut self, now: Instant, out: &mut Vec<Action>) {
        if !self.manners.refuses() {
            out.push(Action::Note(Oddity::NotOurs));
            self.ask_to_leave(Request::Abort, now, out);
        }
    }

    fn ask_to_leave(&mut self, request: Request, now: Instant, out: &mut Vec<Action>) {
        let tries = self
            .manners
            .refusal
            .as_ref()
            .map_or(0, |refusal| refusal.tries)
            + 1;
        let at = now + grown(self.pace.again, tries.saturating_sub(MANY / 2));
        self.manners.refusal = Some(Refusal { request, at, tries });
        out.push(Action::Ask(request));
    }

    /// What became of the abort of such a game.
    pub(super) fn refused_abort(&mut self, answer: &Answer, now: Instant, out: &mut Vec<Action>) {
        if matches!(answer, Answer::Refused { .. }) {
            self.ask_to_leave(Request::Resign, now, out);
        }
    }

    pub(super) fn refusal_tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if let Some(refusal) = &self.manners.refusal
            && refusal.at <= now
        {
            let request = refusal.request;
            self.ask_to_leave(request, now, out);
        }
    }
}
