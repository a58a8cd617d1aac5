//! Evaluation histories of games without a running task, kept for the next one.
//!
//! A correspondence game's task ends after each of the bot's moves: without the cache its streaks
//! of level or lost moves would never exceed one. In memory only: a new process starts afresh.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::game::EvalHistory;
use crate::lichess::GameId;

/// Maximum games; reaching it clears the cache, which drops games that ended without a task.
const MOST: usize = 1000;

/// Evaluation histories by game. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct EvalCache(Arc<Mutex<BTreeMap<GameId, EvalHistory>>>);

impl EvalCache {
    /// Stores the history when a game task ends.
    pub(super) fn put(&self, game: &GameId, history: EvalHistory) {
        let mut kept = self.lock();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(game.clone(), history);
    }

    /// Takes the history for a new game task; empty for an unknown game.
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
        let cache = EvalCache::default();
        for number in 0..3 * MOST {
            cache.put(&GameId::new(number.to_string()), EvalHistory::default());
        }
        assert!(cache.lock().len() <= MOST);
        let last = GameId::new((3 * MOST - 1).to_string());
        assert_eq!(cache.take(&last), EvalHistory::default());
        assert!(!cache.lock().contains_key(&last), "taken once");
    }
}
