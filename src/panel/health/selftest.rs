//! The self-test: now and then the engine must find a move.
//!
//! A healthy engine is tested only between games, on idle cores: games test it better, and the self-test
//! must not slow them. A failure counts only if the next test fails too, since the machine may have been
//! busy for a moment.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::engine::{Limits, Pool, SearchResult, StopReason};
use crate::panel::status_poller::StatusWatch;
use crate::rules::Game;

/// Time between two tests.
const EVERY: Duration = Duration::from_secs(300);
/// Time to the next test after a failure, and between two looks for a pause between games.
const LATER: Duration = Duration::from_secs(10);
/// Pause before the self-test restarts after a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);
/// Failures in a row that count.
const ENOUGH: u32 = 2;
/// Time for the search.
const PATIENCE: Duration = Duration::from_secs(30);
/// Limit of the search.
const NODES: u64 = 2000;
/// A game in which one move blows up the king.
const MOVES: &str = "g1f3 a7a6 f3g5 a6a5";
const WINS: &str = "g5f7";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SelfTestResult {
    /// The engine found the move in this time.
    Passed(Duration),
    /// Why it did not.
    Failed(String),
}

/// The last result that counts. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SelfTest(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    last: Option<SelfTestResult>,
    /// Failures since the last success.
    failures: u32,
}

impl SelfTest {
    /// Tests the engine for ever.
    pub async fn run(self, pool: Pool, watch: StatusWatch) {
        let test = || self.test(&pool, &watch);
        let control = watch.control();
        control
            .keep_running("the self-test", RESTART_PAUSE, test)
            .await;
    }

    async fn test(&self, pool: &Pool, watch: &StatusWatch) {
        loop {
            let idle = || watch.status().is_none_or(|status| status.games.is_empty());
            // After a failure tests continue during games, so that a recovered engine is noticed before
            // the bot is restarted.
            if matches!(self.last(), Some(SelfTestResult::Passed(_))) && !idle() {
                tokio::time::sleep(LATER).await;
                continue;
            }
            let tested = test(pool).await;
            #[cfg(test)]
            crate::panel::fault::strike();
            let pause = self.record(tested, idle(), watch);
            tokio::time::sleep(pause).await;
        }
    }

    /// The last result that counts.
    pub(super) fn last(&self) -> Option<SelfTestResult> {
        self.0.lock().last.clone()
    }

    /// Records a result and returns the time to the next test. The first failure in a row that counts is
    /// reported; while games use the cores, a failure says nothing about the engine.
    fn record(&self, tested: SelfTestResult, idle: bool, watch: &StatusWatch) -> Duration {
        let mut known = self.0.lock();
        let SelfTestResult::Failed(why) = &tested else {
            *known = Known {
                last: Some(tested),
                failures: 0,
            };
            return EVERY;
        };
        known.failures += u32::from(idle);
        if idle && known.failures < ENOUGH {
            tracing::warn!(why, "engine self-test failed; trying again");
        }
        if known.failures >= ENOUGH {
            if !matches!(known.last, Some(SelfTestResult::Failed(_))) {
                tracing::error!(why, "engine self-test failed");
                watch.control().engine_failed(why);
            }
            known.last = Some(tested);
        }
        LATER
    }

    /// A failed self-test.
    #[cfg(test)]
    pub(in crate::panel) fn failed(why: &str) -> Self {
        let failed = Known {
            last: Some(SelfTestResult::Failed(why.to_owned())),
            failures: ENOUGH,
        };
        Self(Arc::new(Mutex::new(failed)))
    }
}

async fn test(pool: &Pool) -> SelfTestResult {
    let Ok(game) = Game::from_uci_moves(MOVES) else {
        return SelfTestResult::Failed("the rules refuse the game of the test".to_owned());
    };
    let engine = pool.lease();
    let limits = Limits {
        nodes: Some(NODES),
        background: true,
        ..Limits::default()
    };
    let begun = Instant::now();
    let search = engine.think(&game, limits);
    match tokio::time::timeout(PATIENCE, search.answer()).await {
        Ok(Ok(result)) => evaluate(&result, begun.elapsed()),
        Ok(Err(_)) => SelfTestResult::Failed("the search ended without an answer".to_owned()),
        Err(_) => SelfTestResult::Failed(format!("no answer in {} s", PATIENCE.as_secs())),
    }
}

fn evaluate(result: &SearchResult, took: Duration) -> SelfTestResult {
    let best = result.best.map(|best| best.to_string());
    let best = best.as_deref().unwrap_or("no move");
    if best == WINS && result.ended != StopReason::Failed {
        SelfTestResult::Passed(took)
    } else {
        SelfTestResult::Failed(format!("it plays {best} where {WINS} wins"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::{BotEvent, channel};
    use crate::engine::EngineOptions;

    #[tokio::test]
    async fn the_engine_passes_its_test() {
        let options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        let tested = test(&Pool::new(&options)).await;
        assert!(matches!(tested, SelfTestResult::Passed(_)), "{tested:?}");
    }

    #[tokio::test]
    async fn a_panic_of_the_self_test_is_reported_and_the_next_one_passes() {
        let options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        let (control, mut commands) = channel();
        let mut failures = commands.take_failures();
        let (watch, _watcher) = StatusWatch::new(control);
        let selftest = SelfTest::default();
        let running = selftest.clone().run(Pool::new(&options), watch);
        let running = tokio::spawn(crate::panel::fault::once(running));
        let failure = failures.recv().await;
        assert!(
            matches!(&failure, Some(BotEvent::ServiceFailed { service: "the self-test", reason }) if reason == "an injected fault"),
            "{failure:?}"
        );
        let passed = async {
            while !matches!(selftest.last(), Some(SelfTestResult::Passed(_))) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE * 2, passed).await.unwrap();
        running.abort();
    }

    #[test]
    fn only_the_first_of_consecutive_failures_is_reported() {
        let (control, mut commands) = channel();
        let (watch, _watcher) = StatusWatch::new(control);
        let selftest = SelfTest::default();
        let mut failures = commands.take_failures();
        let mut news_of = |tested: SelfTestResult| {
            selftest.record(tested, true, &watch);
            match failures.try_recv() {
                Ok(BotEvent::EngineFailed { reason }) => Some(reason),
                _ => None,
            }
        };
        let failed = |why: &str| SelfTestResult::Failed(why.to_owned());
        assert_eq!(news_of(SelfTestResult::Passed(Duration::ZERO)), None);
        assert_eq!(news_of(failed("not yet")), None);
        assert_eq!(news_of(failed("one")).as_deref(), Some("one"));
        assert_eq!(news_of(failed("two")), None);
        assert_eq!(news_of(SelfTestResult::Passed(Duration::ZERO)), None);
        assert_eq!(news_of(failed("not yet")), None);
        assert_eq!(news_of(failed("three")).as_deref(), Some("three"));
        assert_eq!(selftest.last(), Some(failed("three")));
    }

    #[test]
    fn a_failure_counts_once_it_is_repeated_soon_and_none_while_a_game_takes_the_cores() {
        let (control, _commands) = channel();
        let (watch, _watcher) = StatusWatch::new(control);
        let selftest = SelfTest::default();
        let failed = || SelfTestResult::Failed("no answer in 30 s".to_owned());
        let passed = SelfTestResult::Passed(Duration::from_millis(4));
        let take_in = |tested, idle| selftest.record(tested, idle, &watch);
        assert_eq!(take_in(passed.clone(), true), EVERY);
        assert_eq!(take_in(failed(), true), LATER);
        assert_eq!(selftest.last(), Some(passed.clone()), "once is not enough");
        for _ in 0..3 {
            assert_eq!(take_in(failed(), false), LATER);
        }
        assert_eq!(selftest.last(), Some(passed.clone()), "a game was played");
        assert_eq!(take_in(failed(), true), LATER);
        assert_eq!(selftest.last(), Some(failed()));
        assert_eq!(take_in(passed.clone(), false), EVERY);
        assert_eq!(selftest.last(), Some(passed), "it is well, game or not");
    }
}
