//! Evaluations of games that have no task right now, until a task joins them again.
//!
//! A correspondence game is left after each of our moves; without this, its streak of level or lost moves
//! would never exceed one. Never on disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::game::EvalHistory;
use crate::lichess::GameId;

/// Games kept; what ended while no one sat there is dropped with the rest beyond it.
const MOST: usize = 1000;

/// Opinions by game. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct EvalCache(Arc<Mutex<BTreeMap<GameId, EvalHistory>>>);

impl EvalCache {
    /// The game is left.
    pub(super) fn put(&self, game: &GameId, opinion: EvalHistory) {
        let mut kept = self.lock();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(game.clone(), opinion);
    }

    /// Someone sits down at the game; one never left has no opinion yet.
    pub(super) fn take(&self, game: &GameId) -> EvalHistory {
        self.lock().remove(game).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<GameId, EvalHistory>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_that_ended_elsewhere_do_not_pile_up() {
        let shelf = EvalCache::default();
        for number in 0..3 * MOST {
            shelf.put(&GameId::new(number.to_string()), EvalHistory::default());
        }
        assert!(shelf.lock().len() <= MOST);
        let last = GameId::new((3 * MOST - 1).to_string());
        assert_eq!(shelf.take(&last), EvalHistory::default());
        assert!(!shelf.lock().contains_key(&last), "taken once");
    }
}
