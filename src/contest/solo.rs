//! An engine for one board: its own table, one search at a time.

use crate::engine::{Engine, EngineOptions, Limits, Pool, Thought};
use crate::rules::Game;

/// A pool of one core with its only lease.
pub(super) struct Solo(Engine);

impl Solo {
    pub(super) fn new(options: &EngineOptions) -> Self {
        Self(Pool::new(options).lease())
    }

    /// Forget everything.
    pub(super) fn new_game(&mut self) {
        self.0.pool().clear_hash();
        self.0.new_game();
    }

    pub(super) fn think(&mut self, game: &Game, limits: &Limits) -> Thought {
        self.0.think(game, limits.clone()).wait()
    }
}
