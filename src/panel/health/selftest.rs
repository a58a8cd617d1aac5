//! The engine, asked now and then for a move that it must find.
//!
//! Only while no game runs, and with what no search wants: a game that is played tests the engine
//! better than this does, and must not be slowed by it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use crate::engine::{Ended, Limits, Pool, Thought};
use crate::panel::watch::Watch;
use crate::rules::Game;

/// From one test to the next.
const EVERY: Duration = Duration::from_secs(300);
/// How long it waits for a pause between games.
const LATER: Duration = Duration::from_secs(10);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// Positions that it may visit.
const NODES: u64 = 2000;
/// A game in which one move blows up the king.
const MOVES: &str = "g1f3 a7a6 f3g5 a6a5";
/// That move.
const WINS: &str = "g5f7";

/// What came of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tested {
    /// The move was found, in so long.
    Passed(Duration),
    /// It was not; why.
    Failed(String),
}

/// What came of the last test. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SelfTest(Arc<Mutex<Option<Tested>>>);

impl SelfTest {
    /// Tests the engine for ever.
    pub async fn run(self, pool: Pool, watch: Watch) {
        loop {
            let idle = || watch.status().is_some_and(|status| status.games.is_empty());
            if self.last().is_some() && !idle() {
                tokio::time::sleep(LATER).await;
                continue;
            }
            let tested = test(&pool).await;
            // A game that began meanwhile takes the cores: then it says nothing about the engine.
            let told = matches!(tested, Tested::Passed(_)) || self.last().is_none() || idle();
            if told {
                self.take_in(tested, &watch);
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// What came of the last one.
    pub(super) fn last(&self) -> Option<Tested> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Takes in what came of a test. Of failures in a row the first is news.
    fn take_in(&self, tested: Tested, watch: &Watch) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Tested::Failed(why) = &tested {
            tracing::error!(why, "the engine fails its test");
            if !matches!(*last, Some(Tested::Failed(_))) {
                watch.engine_failed(why);
            }
        }
        *last = Some(tested);
    }

    /// One whose last test failed.
    #[cfg(test)]
    pub(in crate::panel) fn failed(why: &str) -> Self {
        let failed = Tested::Failed(why.to_owned());
        Self(Arc::new(Mutex::new(Some(failed))))
    }
}

async fn test(pool: &Pool) -> Tested {
    let Ok(game) = Game::from_uci_moves(MOVES) else {
        return Tested::Failed("the rules refuse the game of the test".to_owned());
    };
    let engine = pool.lease();
    let limits = Limits {
        nodes: Some(NODES),
        background: true,
        ..Limits::default()
    };
    let begun = Instant::now();
    let search = engine.think(&game, limits);
    let (done, answer) = oneshot::channel();
    search.on_done(Box::new(move |thought| {
        // Whoever waited may have given up.
        let _ = done.send(thought);
    }));
    match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(thought)) => judged(&thought, begun.elapsed()),
        Ok(Err(_)) => Tested::Failed("the search ended without an answer".to_owned()),
        Err(_) => Tested::Failed(format!("no answer in {} s", PATIENCE.as_secs())),
    }
}

fn judged(thought: &Thought, took: Duration) -> Tested {
    let best = thought.best.map(|best| best.to_string());
    let best = best.as_deref().unwrap_or("no move");
    if best == WINS && thought.ended != Ended::Failed {
        Tested::Passed(took)
    } else {
        Tested::Failed(format!("it plays {best} where {WINS} wins"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::channel;
    use crate::engine::EngineOptions;

    #[tokio::test]
    async fn the_engine_passes_its_test() {
        let options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        let tested = test(&Pool::new(&options)).await;
        assert!(matches!(tested, Tested::Passed(_)), "{tested:?}");
    }

    #[test]
    fn of_failures_in_a_row_the_bot_is_told_the_first() {
        let (control, commands) = channel();
        let (watch, _watcher) = Watch::new(control);
        let selftest = SelfTest::default();
        let mut failures = commands.failures();
        let mut news_of = |tested: Tested| {
            selftest.take_in(tested, &watch);
            let news = failures.has_changed().unwrap();
            let said = failures.borrow_and_update().clone();
            said.filter(|_| news)
        };
        let failed = |why: &str| Tested::Failed(why.to_owned());
        assert_eq!(news_of(Tested::Passed(Duration::ZERO)), None);
        assert_eq!(news_of(failed("one")).as_deref(), Some("one"));
        assert_eq!(news_of(failed("two")), None);
        assert_eq!(news_of(Tested::Passed(Duration::ZERO)), None);
        assert_eq!(news_of(failed("three")).as_deref(), Some("three"));
        assert_eq!(selftest.last(), Some(failed("three")));
    }
}
