//! The registry of running games, for status readers.
//!
//! It follows the event bus, and game streams report here; readers copy. The lock is held only while
//! copying: no move waits here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::events::BotEvent;
use super::game::MovePlayed;
use super::status::{GameStatus, GameStreamStatus};
use crate::engine::Score;
use crate::lichess::{GameId, Liveness, Side};

/// The running games. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct GameRegistry(Arc<Mutex<RegistryEntries>>);

#[derive(Debug, Default)]
struct RegistryEntries {
    games: BTreeMap<GameId, RegisteredGame>,
    streams: BTreeMap<GameId, StreamEntry>,
}

/// State of a game stream.
#[derive(Debug)]
struct StreamEntry {
    /// Its liveness while open.
    open: Option<Liveness>,
    since: Instant,
    openings: u64,
}

#[derive(Debug)]
struct RegisteredGame {
    opponent: String,
    us: Option<Side>,
    ply: usize,
    our_clock: Option<Duration>,
    their_clock: Option<Duration>,
    score: Option<Score>,
    moved: Instant,
}

impl GameRegistry {
    /// Follows the event bus.
    pub(super) fn handle(&self, event: &BotEvent) {
        match event {
            BotEvent::Joined {
                game,
                opponent,
                us,
                ply,
            } => {
                let entry = RegisteredGame {
                    opponent: opponent.clone(),
                    us: *us,
                    ply: *ply,
                    our_clock: None,
                    their_clock: None,
                    score: None,
                    moved: Instant::now(),
                };
                self.lock().games.insert(game.clone(), entry);
            }
            BotEvent::Moved { game, moved } => self.moved(game, moved),
            BotEvent::Finished { ending } => self.leave(&ending.game),
            _ => {}
        }
    }

    /// Records that a game stream is wanted, open or lost.
    pub(super) fn stream(&self, game: &GameId, open: Option<Liveness>) {
        let mut lines = self.lock();
        let line = lines.streams.entry(game.clone()).or_insert(StreamEntry {
            open: None,
            since: Instant::now(),
            openings: 0,
        });
        if line.open.is_some() || open.is_some() {
            line.since = Instant::now();
        }
        line.openings += u64::from(open.is_some());
        line.open = open;
    }

    fn moved(&self, game: &GameId, moved: &MovePlayed) {
        let mut lines = self.lock();
        let Some(line) = lines.games.get_mut(game) else {
            return;
        };
        line.ply = moved.ply + 1;
        line.moved = Instant::now();
        if let Some(us) = line.us {
            line.our_clock = (*moved.clocks.of(us)).or(line.our_clock);
            line.their_clock = (*moved.clocks.of(us.other())).or(line.their_clock);
        }
        if let Some(search_result) = &moved.search_result {
            line.score = Some(search_result.score);
        }
    }

    /// Removes a game that is over or whose task ended.
    pub(super) fn leave(&self, game: &GameId) {
        let mut lines = self.lock();
        lines.games.remove(game);
        lines.streams.remove(game);
    }

    /// Games in which not both sides have moved: the server lets the bot abort them.
    pub(super) fn barely_begun(&self) -> Vec<GameId> {
        let lines = self.lock();
        let begun = lines.games.iter().filter(|(_, line)| line.ply < 2);
        begun.map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.lock().games.len()
    }

    /// All games, for display.
    pub(super) fn games(&self) -> Vec<GameStatus> {
        let lines = self.lock();
        let stream = |id: &GameId| lines.streams.get(id).map(shown).unwrap_or_default();
        let show = |(id, line): (&GameId, &RegisteredGame)| GameStatus {
            id: id.to_string(),
            stream: stream(id),
            opponent: line.opponent.clone(),
            us: line.us.map(|us| us.as_str().to_owned()),
            ply: line.ply,
            our_clock: line.our_clock.map(millis),
            their_clock: line.their_clock.map(millis),
            score: line.score.map(|score| score.to_string()),
            moved_ago: millis(line.moved.elapsed()),
        };
        let mut games: Vec<GameStatus> = lines.games.iter().map(show).collect();
        // Games whose streams have not yet delivered their details.
        let unseen = lines
            .streams
            .keys()
            .filter(|id| !lines.games.contains_key(id));
        games.extend(unseen.map(|id| GameStatus {
            id: id.to_string(),
            stream: stream(id),
            ..GameStatus::default()
        }));
        games
    }

    fn lock(&self) -> MutexGuard<'_, RegistryEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shown(line: &StreamEntry) -> GameStreamStatus {
    let received = line.open.as_ref().map(Liveness::last_heard);
    GameStreamStatus {
        open: received.is_some(),
        since: millis(line.since.elapsed()),
        heard_ago: received.map(|received| millis(received.elapsed())),
        reopened: line.openings.saturating_sub(1),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
