//! Evaluations of the bot's last moves: how long in a row the game was level, no better than level,
//! or lost, what endgame tables prove of the position, and when the bot offered a draw last.
//!
//! A move without a search or a proof ends every streak: the bot neither resigns nor agrees to a
//! draw on a guess. A ply counts once, however often its move was chosen anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::bot::game::machine::GameMachine;
use crate::bot::game::move_list::MoveListChange;
use crate::engine::{Score, SearchResult, StopReason, Wdl};
use crate::lichess::GameId;

/// This far below level, in centipawns, a draw is a gift.
const GIFT: i64 = 150;

/// Kept when the bot leaves a game and resumes it later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvalHistory {
    /// The score of the last searched move.
    pub(super) score: Option<Score>,
    /// What endgame tables proved at our last move, which kept it.
    pub(super) proved: Option<Wdl>,
    /// The streaks up to our last move.
    pub(super) streaks: Streaks,
    /// The length of the list at our last draw offer.
    pub(super) last_offer: Option<usize>,
    /// The last ply counted, and the streaks before it.
    counted: Option<(usize, Streaks)>,
}

/// Consecutive moves of the bot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Streaks {
    /// With a level score.
    pub(super) level: u32,
    /// With a level or worse score.
    pub(super) no_better: u32,
    /// Lost, by a deep search on a healthy clock.
    pub(super) lost: u32,
}

impl EvalHistory {
    /// Handles a change of the move list: evaluations of moves that were taken back do not count.
    pub(in crate::bot::game) fn handle_change(&mut self, change: MoveListChange, ply: usize) {
        let is_of_a_longer_game = self.counted.is_some_and(|(counted, _)| counted > ply);
        if is_of_a_longer_game || matches!(change, MoveListChange::Rewritten) {
            *self = Self {
                last_offer: self.last_offer,
                ..Self::default()
            };
        }
    }

    /// Whether the last score is below level by more than noise.
    pub(in crate::bot::game) fn is_worse(&self, level: u32) -> bool {
        match self.score {
            Some(Score::Cp(score)) => i64::from(score) <= -(i64::from(level) + GIFT),
            Some(Score::Mate(moves)) => moves <= 0,
            None => false,
        }
    }
}

impl GameMachine {
    /// The evaluations so far, for resuming this game.
    pub fn eval_history(&self) -> EvalHistory {
        self.policies.eval_history
    }

    /// Counts the evaluation of the move about to be sent; none without a search.
    pub(in crate::bot::game) fn record_eval(&mut self, result: Option<&SearchResult>) {
        let clock = self.move_list.game().position().halfmove_clock();
        // A move that the tables leave as the only one needs no search to be proved.
        let proved = result.and_then(|result| result.proved(clock));
        let sound = |result: &&SearchResult| {
            !matches!(
                result.ended,
                StopReason::Failed | StopReason::OnlyMove | StopReason::Book
            )
        };
        let result = result.filter(sound);
        let lost = match proved {
            Some(proved) => proved == Wdl::Loss,
            None => result.is_some_and(|result| self.is_lost(result)),
        };
        let level = i64::from(self.settings.draw.score);
        // A dead draw has exactly this score, which contempt may put outside of level.
        let draw = -i64::from(self.contempt());
        let (least, most) = (draw.min(-level), draw.max(level));
        let ply = self.ply();
        let eval_history = &mut self.policies.eval_history;
        let before = match eval_history.counted {
            Some((counted, before)) if counted == ply => before,
            _ => eval_history.streaks,
        };
        let mut streaks = before;
        if let Some(result) = result {
            let score = i64::from(result.score.centipawns());
            streaks.level = longer(streaks.level, (least..=most).contains(&score));
            streaks.no_better = longer(streaks.no_better, score <= most);
            eval_history.score = Some(result.score);
        } else if proved.is_none() {
            (streaks.level, streaks.no_better) = (0, 0);
        }
        streaks.lost = longer(streaks.lost, lost);
        (eval_history.proved, eval_history.streaks) = (proved, streaks);
        eval_history.counted = Some((ply, before));
    }

    /// Whether a search counts as lost by the operator's rules.
    fn is_lost(&self, result: &SearchResult) -> bool {
        let rules = &self.settings.resign;
        let low = match result.score {
            Score::Cp(score) => i64::from(score) <= -i64::from(rules.score),
            Score::Mate(moves) => moves <= 0,
        };
        // A proof needs no depth.
        let deep = result.depth >= rules.depth || result.ended == StopReason::Decided;
        let left = self.left_at();
        low && deep && left.is_none_or(|left| left >= self.timing.healthy_clock)
    }
}

fn longer(row: u32, more: bool) -> u32 {
    if more { row.saturating_add(1) } else { 0 }
}

/// Maximum games; reaching it clears the cache, which drops games that ended without a task.
const MOST: usize = 1000;

/// Evaluation histories by game. Clones share them.
///
/// Without the cache, the streaks of level or lost moves would never exceed one in a correspondence
/// game, whose task ends after each of the bot's moves. In memory only: a new process starts
/// afresh.
#[derive(Clone, Debug, Default)]
pub(in crate::bot) struct EvalCache(Arc<Mutex<BTreeMap<GameId, EvalHistory>>>);

impl EvalCache {
    /// Stores the history when a game task ends.
    pub(in crate::bot) fn put(&self, game: &GameId, history: EvalHistory) {
        let mut kept = self.0.lock();
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(game.clone(), history);
    }

    /// Takes the history for a new game task; empty for an unknown game.
    pub(in crate::bot) fn take(&self, game: &GameId) -> EvalHistory {
        self.0.lock().remove(game).unwrap_or_default()
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
        assert!(cache.0.lock().len() <= MOST);
        let last = GameId::new((3 * MOST - 1).to_string());
        assert_eq!(cache.take(&last), EvalHistory::default());
        assert!(!cache.0.lock().contains_key(&last), "taken once");
    }
}
