//! A searcher on the calling thread with its own table: for self-play and matches.
//!
//! It uses no pool and no core queue; callers that want several threads run several of these. The
//! same game and limits after [`SingleThread::new_game`] give the same result.

use std::fmt;
use std::sync::Arc;

use super::core_scheduler::CorePermits;
use super::limits::Limits;
use super::options::EngineOptions;
use super::search::{Searcher, Task, safe_move};
use super::search_handle::SearchShared;
use super::search_result::SearchResult;
use super::tt::TranspositionTable;
use crate::rules::Game;

/// A searcher that blocks its caller. [`EngineOptions::threads`] is ignored: it has one.
pub struct SingleThread {
    table: Arc<TranspositionTable>,
    searcher: Searcher,
}

impl fmt::Debug for SingleThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleThread").finish_non_exhaustive()
    }
}

impl SingleThread {
    /// A searcher with an empty table.
    pub fn new(options: &EngineOptions) -> SingleThread {
        let table = Arc::new(TranspositionTable::new(options.hash_mb));
        let permits = Arc::new(CorePermits::new(1));
        let searcher = Searcher::new(Arc::clone(&table), permits, options);
        SingleThread { table, searcher }
    }

    /// Clears table and histories.
    pub fn new_game(&mut self) {
        self.table.clear();
        self.searcher.forget();
    }

    /// Searches the current position of `game` until a limit is reached. Limits that wait for a
    /// command (`infinite`, `ponder`) would never end here and are ignored.
    pub fn think(&mut self, game: &Game, limits: &Limits) -> SearchResult {
        let limits = Limits {
            infinite: false,
            ponder: false,
            ..limits.clone()
        };
        let first = safe_move(game.position(), &limits.searchmoves);
        let search_shared = Arc::new(SearchShared::new(false, first));
        self.searcher
            .run(Task::new(game, limits, None, search_shared))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::engine::Clock;

    fn searcher() -> SingleThread {
        SingleThread::new(&EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        })
    }

    #[test]
    fn a_forgotten_game_leaves_no_trace() {
        let (mut searcher, game) = (searcher(), Game::new());
        let think = |searcher: &mut SingleThread, game: &Game| {
            let result = searcher.think(game, &Limits::nodes(3000));
            (result.best, result.score, result.nodes, result.line)
        };
        let fresh = think(&mut searcher, &game);
        let other = Game::from_uci_moves("e2e4 g8f6 e4e5").expect("legal moves");
        think(&mut searcher, &other);
        searcher.new_game();
        assert_eq!(think(&mut searcher, &game), fresh);
    }

    #[test]
    fn soft_nodes_end_between_iterations_and_hard_ones_at_once() {
        let (mut searcher, game) = (searcher(), Game::new());
        let soft = Limits {
            soft_nodes: Some(2000),
            ..Limits::default()
        };
        let result = searcher.think(&game, &soft);
        let again = {
            searcher.new_game();
            searcher.think(&game, &Limits::depth(result.depth))
        };
        assert!(result.nodes >= 2000);
        assert_eq!((result.best, result.nodes), (again.best, again.nodes));
        searcher.new_game();
        let both = Limits {
            nodes: Some(500),
            ..soft
        };
        assert!(searcher.think(&game, &both).nodes <= 500);
    }

    #[test]
    fn a_clock_that_counts_nodes_gives_the_same_answer_again() {
        let clock = Clock {
            time: Duration::from_secs(1),
            increment: Duration::ZERO,
            moves_to_go: None,
            overhead: Duration::ZERO,
        };
        let search = |rate| {
            let limits = Limits {
                nodes_per_ms: Some(rate),
                ..Limits::clock(clock)
            };
            searcher().think(&Game::new(), &limits)
        };
        let (first, again) = (search(50), search(50));
        assert_eq!((first.best, first.nodes), (again.best, again.nodes));
        // Not one node beyond the share of the clock that a move may take at most.
        assert!((100..=22_500).contains(&first.nodes), "{}", first.nodes);
        assert!(search(500).nodes > first.nodes);
    }

    #[test]
    fn an_infinite_search_ends_by_its_other_limits() {
        let limits = Limits {
            infinite: true,
            ponder: true,
            ..Limits::depth(3)
        };
        assert_eq!(searcher().think(&Game::new(), &limits).depth, 3);
    }

    #[test]
    fn the_time_of_a_move_follows_the_parameters_of_its_searcher() {
        let mut options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        for (name, value) in [
            ("time_hard_share", "800"),
            ("time_moves_ahead", "80"),
            ("time_nodes_base", "4000"),
            ("time_nodes_slope", "0"),
            ("time_stable_base", "2500"),
            ("time_stable_slope", "0"),
        ] {
            assert_eq!(options.params.set(name, value), Some(Ok(())));
        }
        let time = Duration::from_millis(200);
        let clock = Clock {
            time,
            increment: Duration::ZERO,
            moves_to_go: None,
            overhead: Duration::ZERO,
        };
        let searcher = SingleThread::new(&options);
        // A search may run on another thread than the one that set it up.
        let search = move || {
            let mut searcher = searcher;
            searcher.think(&Game::new(), &Limits::clock(clock))
        };
        let result = std::thread::Builder::new()
            .stack_size(8 << 20)
            .spawn(search)
            .expect("a thread")
            .join()
            .expect("a result");
        // The default ends after 45 percent of the clock at the latest.
        assert!(result.time > time.mul_f64(0.7), "{:?}", result.time);
    }
}
