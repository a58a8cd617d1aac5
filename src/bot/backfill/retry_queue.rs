//! Which games to look up, when, and when to give up. Pure.
//!
//! If the server does not know a game, ask a few times, since a fresh game may not be on all of its
//! machines yet; after that it never existed. Retry other failures at growing intervals, then at
//! the next start, for a week.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::bot::settings::BotTiming;
use crate::bot::state::UnfinishedGame;
use crate::lichess::GameId;
use crate::store::Timestamp;

/// Maximum look-ups of a game per run.
const MOST_TRIES: u32 = 10;
/// Unknown answers after which the game does not exist.
const MOST_UNKNOWN: u32 = 3;
/// Older games are given up for good.
const LIFE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Outcome of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LookupOutcome {
    /// The finished game, or one that the bot does not play in.
    Settled,
    Running,
    Nothing,
    /// No intelligible answer, with the advised wait, if any.
    Failed(Option<Duration>),
}

/// What to do with the game next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextLookup {
    /// It is settled, or will be retried later.
    Stay,
    /// Leave it for the next start.
    Leave,
    /// Give it up for good.
    Forget,
}

/// The games to look up.
#[derive(Debug)]
pub(super) struct RetryQueue {
    first: Duration,
    longest: Duration,
    entries: BTreeMap<GameId, RetryEntry>,
}

#[derive(Debug)]
struct RetryEntry {
    since: Timestamp,
    /// When to look it up; `None`: no more in this run.
    due: Option<Instant>,
    tries: u32,
    unknown: u32,
}

impl RetryQueue {
    pub(super) fn new(timing: &BotTiming) -> Self {
        Self {
            first: timing.again * 2,
            longest: timing.reconcile,
            entries: BTreeMap::new(),
        }
    }

    /// Replaces the games with these: uncounted and not running.
    pub(super) fn set(&mut self, missing: Vec<UnfinishedGame>, now: Instant) {
        let before = std::mem::take(&mut self.entries);
        let mut before: BTreeMap<_, _> = before.into_iter().collect();
        for UnfinishedGame { game, since } in missing {
            let entry = before.remove(&game).unwrap_or(RetryEntry {
                since,
                due: Some(now),
                tries: 0,
                unknown: 0,
            });
            self.entries.insert(game, entry);
        }
    }

    /// The game to look up now: the oldest of those due.
    pub(super) fn next(&mut self, now: Instant) -> Option<GameId> {
        let due = self.entries.iter_mut();
        let due = due.filter(|(_, entry)| entry.due.is_some_and(|at| at <= now));
        let (game, entry) = due.min_by_key(|(_, entry)| entry.since)?;
        entry.due = None;
        entry.tries += 1;
        Some(game.clone())
    }

    /// When the next one is due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.entries.values().filter_map(|entry| entry.due).min()
    }

    /// Records the outcome of a look-up.
    pub(super) fn answered(
        &mut self,
        game: &GameId,
        found: LookupOutcome,
        now: Instant,
        today: Timestamp,
    ) -> NextLookup {
        let Some(entry) = self.entries.get_mut(game) else {
            return NextLookup::Stay;
        };
        let advised = match found {
            LookupOutcome::Settled => {
                self.entries.remove(game);
                return NextLookup::Stay;
            }
            LookupOutcome::Failed(advised) => advised,
            LookupOutcome::Running => None,
            LookupOutcome::Nothing => {
                entry.unknown += 1;
                None
            }
        };
        let old = today.since(entry.since) >= LIFE && found != LookupOutcome::Running;
        if entry.unknown >= MOST_UNKNOWN || old {
            self.entries.remove(game);
            return NextLookup::Forget;
        }
        if entry.tries >= MOST_TRIES {
            return NextLookup::Leave;
        }
        let doubled = self.first * 2_u32.pow(entry.tries.saturating_sub(1).min(16));
        let wait = doubled.min(self.longest).max(advised.unwrap_or_default());
        entry.due = now.checked_add(wait);
        NextLookup::Stay
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn open(game: &str, since: u64) -> UnfinishedGame {
        UnfinishedGame {
            game: GameId::new(game),
            since: Timestamp::from_millis(since),
        }
    }

    fn retry_queue(games: &[(&str, u64)]) -> (RetryQueue, Instant) {
        let mut retry_queue = RetryQueue::new(&BotTiming::default());
        let now = Instant::now();
        let missing = games.iter().map(|(game, since)| open(game, *since));
        retry_queue.set(missing.collect(), now);
        (retry_queue, now)
    }

    fn ask(retry_queue: &mut RetryQueue, found: LookupOutcome, now: Instant) -> NextLookup {
        let game = retry_queue.next(now).expect("one is due");
        retry_queue.answered(&game, found, now, Timestamp::from_millis(1000))
    }

    #[test]
    fn the_oldest_game_is_looked_up_first_and_each_once() {
        let (mut retry_queue, now) = retry_queue(&[("a", 30), ("b", 10), ("c", 20)]);
        let order: Vec<_> = std::iter::from_fn(|| retry_queue.next(now)).collect();
        assert_eq!(order, ["b", "c", "a"].map(GameId::new));
        assert_eq!(retry_queue.next_timeout(), None);
        for game in &order {
            let today = Timestamp::from_millis(100);
            let next = retry_queue.answered(game, LookupOutcome::Settled, now, today);
            assert_eq!(next, NextLookup::Stay);
        }
        assert!(retry_queue.entries.is_empty());
    }

    #[test]
    fn a_game_unknown_to_the_server_is_given_up_after_three_look_ups() {
        let (mut retry_queue, mut now) = retry_queue(&[("a", 0)]);
        for wait in [10, 20] {
            assert_eq!(
                ask(&mut retry_queue, LookupOutcome::Nothing, now),
                NextLookup::Stay
            );
            assert_eq!(retry_queue.next_timeout(), Some(now + SECOND * wait));
            now += SECOND * wait;
        }
        assert_eq!(
            ask(&mut retry_queue, LookupOutcome::Nothing, now),
            NextLookup::Forget
        );
        assert_eq!(retry_queue.next_timeout(), None);
    }

    #[test]
    fn a_failing_server_is_asked_less_and_less_and_then_at_the_next_start() {
        let (mut retry_queue, mut now) = retry_queue(&[("a", 0)]);
        let mut waits = Vec::new();
        let left = loop {
            let next = ask(&mut retry_queue, LookupOutcome::Failed(None), now);
            let Some(due) = retry_queue.next_timeout() else {
                break next;
            };
            waits.push((due - now).as_secs());
            now = due;
        };
        assert_eq!(left, NextLookup::Leave);
        assert_eq!(waits, [10, 20, 40, 80, 160, 300, 300, 300, 300]);
        // The next list changes nothing about that.
        retry_queue.set(vec![open("a", 0)], now);
        assert_eq!(retry_queue.next(now), None);
    }

    #[test]
    fn an_advised_wait_is_honoured() {
        let (mut retry_queue, now) = retry_queue(&[("a", 0)]);
        ask(
            &mut retry_queue,
            LookupOutcome::Failed(Some(SECOND * 60)),
            now,
        );
        assert_eq!(retry_queue.next_timeout(), Some(now + SECOND * 60));
    }

    #[test]
    fn an_unavailable_game_is_given_up_after_a_week_unless_it_runs() {
        for (found, expected) in [
            (LookupOutcome::Failed(None), NextLookup::Forget),
            (LookupOutcome::Running, NextLookup::Stay),
        ] {
            let (mut retry_queue, now) = retry_queue(&[("a", 0)]);
            let game = retry_queue.next(now).unwrap();
            let later = Timestamp::from_millis(0) + LIFE;
            assert_eq!(retry_queue.answered(&game, found, now, later), expected);
        }
    }

    #[test]
    fn a_game_counted_or_played_meanwhile_is_not_looked_up() {
        let (mut retry_queue, now) = retry_queue(&[("a", 0), ("b", 1)]);
        retry_queue.set(vec![open("b", 1)], now);
        assert_eq!(retry_queue.next(now), Some(GameId::new("b")));
        assert_eq!(retry_queue.next(now), None);
    }
}
