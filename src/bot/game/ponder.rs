//! Pondering: searching on the opponent's time, if enabled.
//!
//! Only after the first moves, only with a clock, only the expected reply, and never a position that ends
//! the game. It uses cores that running clocks leave idle and stops when another move is played.

use std::time::Instant;

use super::event::{GameEffect, RequestId};
use super::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::time_budget::ponder;
use crate::rules::{Game, Move, RepetitionRule};

/// A search on a position that is not on the board yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pondering {
    request_id: RequestId,
    /// The expected reply, and its ply.
    reply: Move,
    ply: usize,
}

impl GameMachine {
    /// Called on the opponent's turn with the expected reply.
    pub(super) fn start_pondering(
        &mut self,
        reply: Option<Move>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        let ply = self.move_list.ply();
        let (Some(reply), Some(reading)) = (reply, self.reading()) else {
            return;
        };
        if !self.settings.ponder || ply < FIRST_PLIES || !goes_on(self.move_list.game(), reply) {
            return;
        }
        let limits = ponder(&reading, &self.latency, &self.settings, &self.timing, now);
        let Some(limits) = limits else { return };
        let request_id = self.next_ticket();
        self.pondering = Some(Pondering {
            request_id,
            reply,
            ply,
        });
        out.push(GameEffect::Ponder {
            request_id,
            reply,
            limits,
        });
    }

    /// The id of the search that pondered on the current position, if any.
    pub(super) fn ponder_hit(&mut self) -> Option<RequestId> {
        let pondering = self.pondering.take()?;
        let moves = self.move_list.game().moves();
        let is_hit = moves.len() == pondering.ply + 1 && moves.last() == Some(&pondering.reply);
        is_hit.then_some(pondering.request_id)
    }

    /// Drops a ponder search that has become useless.
    pub(super) fn stop_pondering(&mut self, out: &mut Vec<GameEffect>) {
        if self.pondering.take().is_some() {
            out.push(GameEffect::StopThinking);
        }
    }
}

/// Whether the reply is legal and leaves the bot a choice to think about.
fn goes_on(game: &Game, reply: Move) -> bool {
    if !game.position().is_legal(reply) {
        return false;
    }
    let mut after = game.clone();
    after.push(reply);
    let over = after.outcome(RepetitionRule::Threefold).is_some();
    !over && after.position().legal_moves().len() > 1
}
