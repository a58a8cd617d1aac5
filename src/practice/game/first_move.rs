//! First moves in arenas: each side loses the game if its first move does not come in time.
//!
//! Games from challenges have no such limit.

use std::time::Duration;

use crate::practice::game_settings::{Speed, Status};
use crate::practice::time::Millis;
use crate::practice::wire::Expiration;

use super::ServerGame;

impl ServerGame {
    /// Time allowed for the first move of the side to move, if there is a limit.
    fn first_move_limit(&self) -> Option<Duration> {
        let limited = self.setup.arena.is_some() && self.is_playing() && self.plies() < 2;
        let seconds = match self.setup.settings.time.speed() {
            Speed::UltraBullet => 11,
            Speed::Bullet => 16,
            Speed::Blitz => 21,
            Speed::Rapid => 25,
            Speed::Classical | Speed::Correspondence => 30,
        };
        limited.then(|| self.setup.timing.first_move_seconds(seconds))
    }

    /// The part of a game state about the first move.
    pub(super) fn expiration(&self, now: Millis) -> Option<Expiration> {
        let limit = self.first_move_limit()?;
        let idle = (now - self.turn_since).min(limit);
        Some(Expiration {
            idle_millis: idle.as_millis() as u64,
            millis_to_move: limit.as_millis() as u64,
        })
    }

    pub(super) fn no_start_due(&self) -> Option<Millis> {
        Some(self.turn_since + self.first_move_limit()?)
    }

    /// The first move did not come.
    pub(super) fn no_start(&mut self, now: Millis) {
        let absent = self.turn();
        self.ended_by = Some(absent);
        self.finish(Status::NoStart, Some(!absent), now);
    }
}
