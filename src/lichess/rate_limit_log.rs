//! Collects calls refused with 429 until the bot reads them.
//!
//! It sums them by class and game, so a storm takes a few entries. A caller never waits for a reader.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::endpoint_class::EndpointClass;
use super::error_body::ErrorBody;
use super::ids::GameId;

/// Beyond this many entries, calls of further games are summed up without their game.
const MAX_APART: usize = 16;

/// Calls of one class that were refused with 429.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateLimitedCalls {
    pub class: EndpointClass,
    /// The game they concerned.
    pub game: Option<GameId>,
    pub times: u64,
    /// How long the class pauses since the last refusal, if known.
    pub wait: Option<Duration>,
    /// The server's last message.
    pub message: String,
}

impl fmt::Display for RateLimitedCalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: rate limited", self.class.as_str())?;
        if self.times > 1 {
            write!(f, " {} times", self.times)?;
        }
        if let Some(wait) = self.wait {
            write!(f, ", to wait {} s", wait.as_secs_f64().ceil())?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

type PendingReport = BTreeMap<(EndpointClass, Option<GameId>), RateLimitedCalls>;

#[derive(Debug, Default)]
pub(super) struct RateLimitLog {
    untaken: Mutex<PendingReport>,
    added: Notify,
}

impl RateLimitLog {
    pub(super) fn add(
        &self,
        class: EndpointClass,
        game: Option<&GameId>,
        wait: Option<Duration>,
        body: &ErrorBody,
    ) {
        let mut untaken = self.untaken.lock();
        let mut key = (class, game.cloned());
        if untaken.len() >= MAX_APART && !untaken.contains_key(&key) {
            key.1 = None;
        }
        let game = key.1.clone();
        let known = untaken.entry(key).or_insert_with(|| RateLimitedCalls {
            class,
            game,
            times: 0,
            wait: None,
            message: String::new(),
        });
        known.times += 1;
        known.wait = wait;
        known.message.clone_from(&body.message);
        drop(untaken);
        self.added.notify_one();
    }

    /// Everything since the last call of this method, the most urgent classes first.
    pub(super) fn take(&self) -> Vec<RateLimitedCalls> {
        std::mem::take(&mut *self.untaken.lock())
            .into_values()
            .collect()
    }

    /// Waits until there may be an entry to take.
    pub(super) async fn added(&self) {
        self.added.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(message: &str) -> ErrorBody {
        ErrorBody {
            message: message.to_owned(),
            ..ErrorBody::default()
        }
    }

    #[test]
    fn rate_limits_are_summed_by_class_and_game_until_taken() {
        let log = RateLimitLog::default();
        let (one, other) = (GameId::new("onegame1"), GameId::new("another2"));
        let minute = Some(Duration::from_secs(60));
        log.add(EndpointClass::Create, None, minute, &body("slow"));
        log.add(EndpointClass::Move, Some(&one), None, &body(""));
        log.add(EndpointClass::Move, Some(&other), minute, &body("slow"));
        log.add(EndpointClass::Move, Some(&one), minute, &body("slower"));
        let taken = log.take();
        let lines: Vec<String> = taken.iter().map(ToString::to_string).collect();
        assert_eq!(
            lines,
            [
                "move: rate limited, to wait 60 s: slow",
                "move: rate limited 2 times, to wait 60 s: slower",
                "create: rate limited, to wait 60 s: slow",
            ]
        );
        let games: Vec<Option<&str>> = taken
            .iter()
            .map(|it| it.game.as_ref().map(GameId::as_str))
            .collect();
        assert_eq!(games, [Some("another2"), Some("onegame1"), None]);
        assert!(log.take().is_empty());
    }

    #[test]
    fn a_storm_in_many_games_is_a_few_entries_and_counts_fully() {
        let log = RateLimitLog::default();
        for number in 0..10_000 {
            let game = GameId::new(format!("game{}", number % 100));
            let class = EndpointClass::ALL[number % EndpointClass::ALL.len()];
            log.add(class, Some(&game), None, &body("storm"));
        }
        let taken = log.take();
        assert!(
            taken.len() <= MAX_APART + EndpointClass::ALL.len(),
            "{taken:?}"
        );
        assert_eq!(taken.iter().map(|it| it.times).sum::<u64>(), 10_000);
    }
}
