//! The data behind the event log's lock: running games, ended games, challenges, events.
//!
//! Plain data with plain functions; the current time is an argument. Everything here is short: game
//! tasks write while they hold the lock.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use serde::{Serialize, Serializer};

use super::record_builder::{self, Header, MoveNote, millis};
use super::search_info::{SearchInfo, SearchInfoSlot};
use crate::archive::{
    ChallengeRecord, Direction, EndingRecord, EventRecord, GameRecord, Millis, Origin, WireRecord,
};
use crate::bot::game::{Ending, MovePlayed};
use crate::bot::status::{GameStatus, GameStreamStatus};
use crate::lichess::{GameState, Liveness, Side, Status};
use crate::rules::Game;

/// Challenges and events in memory.
const RING: usize = 1024;
/// Ended games always kept in memory.
pub(super) const RECENT: usize = 32;
/// Ended games that may wait for the archive.
pub(super) const MAX_WAITING: usize = 1000;
/// Games in progress without a game task.
const MAX_AWAY: usize = 1000;

/// A running game, for a page or a terminal.
#[derive(Clone, Debug, Serialize)]
pub struct LiveGame {
    #[serde(serialize_with = "whole")]
    pub record: Arc<GameRecord>,
    /// The last reported clocks; that of the side to move has run since then.
    pub clocks: Clocks,
    /// The running search; `None` without a reader when it began.
    pub search: Option<SearchInfo>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Clocks {
    pub white: Option<Millis>,
    pub black: Option<Millis>,
    /// When the server reported them.
    pub stated: Millis,
}

/// Changes since a version.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Includes everything up to this version since the requested one.
    pub version: u64,
    /// Games that changed, each whole.
    pub games: Vec<Arc<GameRecord>>,
    /// Challenges that changed, oldest first.
    pub challenges: Vec<Arc<ChallengeRecord>>,
    /// New events, oldest first.
    pub events: Vec<Arc<EventRecord>>,
    /// New traffic of games, oldest first.
    pub wire: Vec<Arc<WireRecord>>,
    /// Games, challenges, events and traffic dropped before they were archived, in total.
    pub lost: u64,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.games.is_empty()
            && self.challenges.is_empty()
            && self.events.is_empty()
            && self.wire.is_empty()
    }
}

/// A game and the version of its last change.
#[derive(Debug, Default)]
pub(super) struct LoggedGame {
    pub(super) record: Arc<GameRecord>,
    revision: u64,
    clocks: Clocks,
    slot: SearchInfoSlot,
    has_task: bool,
}

/// State of a game stream.
#[derive(Debug)]
struct StreamEntry {
    /// Its liveness while open.
    open: Option<Liveness>,
    since: Instant,
    openings: u64,
}

/// The data behind the lock.
#[derive(Debug, Default)]
pub(super) struct LogState {
    /// Counts the changes, the one in progress included.
    pub(super) version: u64,
    games: BTreeMap<String, LoggedGame>,
    streams: BTreeMap<String, StreamEntry>,
    ended: VecDeque<LoggedGame>,
    /// Games from the archive that had not ended when the process did.
    known: HashMap<String, GameRecord>,
    pub(super) challenges: RingBuffer<ChallengeRecord>,
    pub(super) events: RingBuffer<EventRecord>,
    pub(super) wire: RingBuffer<WireRecord>,
    /// Whether an archive stores ended games.
    archived: bool,
    settled: u64,
    lost: u64,
}

impl LogState {
    /// Connects an archive, which reports what it has stored; `unfinished` are its games in
    /// progress.
    pub(super) fn archive(&mut self, unfinished: Vec<GameRecord>) {
        self.archived = true;
        let known = unfinished.into_iter().map(|game| (game.id.clone(), game));
        self.known.extend(known);
    }

    /// A game stream opened with this header.
    pub(super) fn opened(
        &mut self,
        Header(header): Header,
        us: Side,
        game: &Game,
        state: &GameState,
        slot: &SearchInfoSlot,
        now: Millis,
    ) {
        let revision = self.version;
        let known = self.known.remove(&header.id);
        let origin = self.origin(&header);
        let entry = self.entry(&header.id, known.as_ref(), now);
        let record = Arc::make_mut(&mut entry.record);
        let old = std::mem::replace(record, header);
        record.us = Some(us);
        record.joined = old.joined;
        record.program = old.program.clone().or(record.program.take());
        record.origin = match old.origin {
            Origin::Unknown => origin,
            known => known,
        };
        for side in [Side::White, Side::Black] {
            let diff = old.player(side).rating_diff;
            let player = record.player_mut(side);
            player.rating_diff = player.rating_diff.or(diff);
        }
        record.moves = old.moves;
        record_builder::follow(record, game, known.as_ref());
        record_builder::clocks(record, state, now);
        entry.clocks = clocks(state, now);
        entry.slot = slot.clone();
        entry.has_task = true;
        entry.revision = revision;
    }

    /// The entry of a game, created if missing; an ended game is reopened.
    fn entry(&mut self, id: &str, known: Option<&GameRecord>, now: Millis) -> &mut LoggedGame {
        let back = self.ended.iter().position(|entry| entry.record.id == id);
        let back = back.and_then(|place| self.ended.remove(place));
        self.games.entry(id.to_owned()).or_insert_with(|| {
            back.unwrap_or_else(|| LoggedGame {
                record: Arc::new(known.cloned().unwrap_or_else(|| GameRecord {
                    joined: now,
                    ..GameRecord::default()
                })),
                ..LoggedGame::default()
            })
        })
    }

    /// The origin of a game: the challenge it came from has the same id.
    fn origin(&self, header: &GameRecord) -> Origin {
        if header.origin != Origin::Unknown {
            return header.origin;
        }
        let challenge = self.challenges.find(|it| it.id == header.id);
        match challenge.map(|challenge| challenge.direction) {
            Some(Direction::In) => Origin::Incoming,
            Some(Direction::Out) => Origin::Outgoing,
            None => Origin::Unknown,
        }
    }

    pub(super) fn moved(&mut self, id: &str, moved: &MovePlayed, note: MoveNote, now: Millis) {
        if let Some(entry) = self.games.get_mut(id)
            && record_builder::add(Arc::make_mut(&mut entry.record), moved, note, now)
        {
            entry.revision = self.version;
        }
    }

    /// Records a game state: clocks, and moves taken back or missed.
    pub(super) fn stated(&mut self, id: &str, game: &Game, state: &GameState, now: Millis) {
        let Some(entry) = self.games.get_mut(id) else {
            return;
        };
        entry.clocks = clocks(state, now);
        if !record_builder::is_level(&entry.record, game)
            && record_builder::follow(Arc::make_mut(&mut entry.record), game, None)
        {
            entry.revision = self.version;
        }
    }

    /// Records the end of a game. Without a reported end it counts as in progress.
    pub(super) fn over(&mut self, ending: &Ending, now: Millis) {
        let id = ending.game.as_str();
        let Some(status) = ending.status else {
            return self.leave(id);
        };
        self.streams.remove(id);
        let Some(mut entry) = self.games.remove(id) else {
            return;
        };
        let record = Arc::make_mut(&mut entry.record);
        record.ending = Some(EndingRecord {
            status,
            winner: ending.winner,
            at: now,
        });
        entry.revision = self.version;
        self.end(entry);
    }

    /// Records a game that ended unseen. Known details of its moves stay.
    pub(super) fn missed(&mut self, mut record: GameRecord, game: &Game) {
        if let Some(mut old) = self.take(&record.id) {
            record_builder::follow(&mut old, game, None);
            old.ending = record.ending.take();
            // An end that the bot did not see lies before the moment at which it saw the last move: the
            // server's time of that move, by its own clock, may be a little later.
            let seen = old.moves.last().and_then(|made| made.at);
            if let Some((ending, seen)) = old.ending.as_mut().zip(seen) {
                ending.at = ending.at.min(seen.saturating_sub(1));
            }
            for side in [Side::White, Side::Black] {
                let player = old.player_mut(side);
                player.rating_diff = record.player(side).rating_diff.or(player.rating_diff);
            }
            record = old;
        }
        self.end_unseen(record);
    }

    /// Records that nobody knows how a game ended.
    pub(super) fn end_unknown(&mut self, id: &str) {
        if let Some(mut record) = self.take(id) {
            let seen = record.moves.last().and_then(|made| made.at);
            record.ending = Some(EndingRecord {
                status: Status::UnknownFinish,
                winner: None,
                at: seen.unwrap_or(record.began()),
            });
            self.end_unseen(record);
        }
    }

    /// Removes what is known of a game that has not ended.
    fn take(&mut self, id: &str) -> Option<GameRecord> {
        let known = self.known.remove(id);
        let entry = self.games.remove(id);
        let logged = entry.map(|entry| Arc::unwrap_or_clone(entry.record));
        logged.or(known)
    }

    fn end_unseen(&mut self, record: GameRecord) {
        self.end(LoggedGame {
            record: Arc::new(record),
            revision: self.version,
            ..LoggedGame::default()
        });
    }

    fn end(&mut self, mut entry: LoggedGame) {
        entry.slot.done();
        entry.has_task = false;
        self.ended.push_back(entry);
        self.forget();
    }

    /// Drops ended games that are archived, and the oldest if too many are not.
    fn forget(&mut self) {
        let most = if self.archived { MAX_WAITING } else { RECENT };
        while self.ended.len() > RECENT {
            let oldest = self.ended.front().map_or(0, |entry| entry.revision);
            let unsafe_yet = self.archived && oldest > self.settled;
            if unsafe_yet && self.ended.len() <= most {
                break;
            }
            self.ended.pop_front();
            self.lost += u64::from(unsafe_yet);
        }
    }

    /// Records the rating changes, the opponent's if known. They come on another stream, before or
    /// after the game's end.
    pub(super) fn rated(&mut self, id: &str, ours: i32, theirs: Option<i32>) {
        let mut ended = self.ended.iter_mut().rev();
        let running = self.games.get_mut(id);
        let entry = running.or_else(|| ended.find(|entry| entry.record.id == id));
        let logged = entry.map(|entry| {
            entry.revision = self.version;
            Arc::make_mut(&mut entry.record)
        });
        // The stream of a game of an earlier run may not be open yet.
        let Some(record) = logged.or_else(|| self.known.get_mut(id)) else {
            return;
        };
        if let Some(us) = record.us {
            record.player_mut(us).rating_diff = Some(ours);
            let opponent = record.player_mut(us.other());
            opponent.rating_diff = theirs.or(opponent.rating_diff);
        }
    }

    /// The game task ended; another may start later.
    pub(super) fn leave(&mut self, id: &str) {
        self.streams.remove(id);
        if let Some(entry) = self.games.get_mut(id) {
            entry.has_task = false;
            entry.slot.done();
        }
        let away = self.games.iter().filter(|(_, entry)| !entry.has_task);
        let (count, oldest) = (away.clone().count(), away.min_by_key(|(_, it)| it.revision));
        if count > MAX_AWAY
            && let Some(oldest) = oldest.map(|(id, _)| id.clone())
        {
            self.games.remove(&oldest);
        }
    }

    pub(super) fn with_task(&self) -> impl Iterator<Item = (&String, &LoggedGame)> {
        self.games.iter().filter(|(_, entry)| entry.has_task)
    }

    /// Games with a task, oldest start first.
    pub(super) fn running(&self) -> Vec<LiveGame> {
        let live = |(_, entry): (&String, &LoggedGame)| LiveGame {
            record: Arc::clone(&entry.record),
            clocks: entry.clocks,
            search: None,
        };
        let mut games: Vec<LiveGame> = self.with_task().map(live).collect();
        games.sort_by_key(|game| game.record.began());
        games
    }

    /// Records that a game stream is wanted, open or lost.
    pub(super) fn stream(&mut self, id: &str, open: Option<Liveness>) {
        let entry = self.streams.entry(id.to_owned()).or_insert(StreamEntry {
            open: None,
            since: Instant::now(),
            openings: 0,
        });
        if entry.open.is_some() || open.is_some() {
            entry.since = Instant::now();
        }
        entry.openings += u64::from(open.is_some());
        entry.open = open;
    }

    /// The running games, then those whose streams have not delivered their details yet.
    pub(super) fn statuses(&self, now: Millis) -> Vec<GameStatus> {
        let running = self.with_task().map(|(id, entry)| entry.status(id, now));
        let has_task = |id: &String| self.games.get(id).is_some_and(|entry| entry.has_task);
        let unseen = self.streams.keys().filter(|id| !has_task(id));
        let unseen = unseen.map(|id| GameStatus {
            id: id.clone(),
            ..GameStatus::default()
        });
        let stream = |mut game: GameStatus| {
            let entry = self.streams.get(&game.id);
            game.stream = entry.map(StreamEntry::status).unwrap_or_default();
            game
        };
        running.chain(unseen).map(stream).collect()
    }

    /// The search info slots of these games: read them without the lock.
    pub(super) fn search_slots(&self) -> Vec<(String, SearchInfoSlot)> {
        let slot = |(id, entry): (&String, &LoggedGame)| (id.clone(), entry.slot.clone());
        self.with_task().map(slot).collect()
    }

    /// Ended games in memory, the latest first.
    pub(super) fn recent(&self) -> Vec<Arc<GameRecord>> {
        let ended = self.ended.iter().rev();
        ended.map(|entry| Arc::clone(&entry.record)).collect()
    }

    /// A running or recently ended game.
    pub(super) fn game(&self, id: &str) -> Option<Arc<GameRecord>> {
        let ended = || self.ended.iter().find(|entry| entry.record.id == id);
        let entry = self.games.get(id).or_else(ended)?;
        Some(Arc::clone(&entry.record))
    }

    /// Changes after a version.
    pub(super) fn since(&self, version: u64) -> Changes {
        let entries = self.games.values().chain(self.ended.iter());
        let changed = entries.filter(|entry| entry.revision > version);
        Changes {
            version: self.version,
            games: changed.map(|entry| Arc::clone(&entry.record)).collect(),
            challenges: self.challenges.since(version),
            events: self.events.since(version),
            wire: self.wire.since(version),
            lost: self.lost + self.challenges.lost() + self.events.lost() + self.wire.lost(),
        }
    }

    /// Everything up to this version is archived.
    pub(super) fn settle(&mut self, version: u64) {
        self.settled = self.settled.max(version);
        self.challenges.settle(version);
        self.events.settle(version);
        self.wire.settle(version);
        // An export of a game of an earlier run: the archive has merged it with the analysis. It stays
        // for a rating change that may come.
        self.ended.retain(|entry| {
            let record = &entry.record;
            let lacks_rating = record.rated && record.white.rating_diff.is_none();
            record.program.is_some() || lacks_rating || entry.revision > version
        });
        self.forget();
    }
}

impl LoggedGame {
    fn status(&self, id: &str, now: Millis) -> GameStatus {
        let record = &self.record;
        let us = record.us.unwrap_or(Side::White);
        let clock = |side| match side {
            Side::White => self.clocks.white,
            Side::Black => self.clocks.black,
        };
        let scored = record.moves.iter().rev().find_map(|made| made.score);
        let moved = record.moves.last().and_then(|made| made.at);
        GameStatus {
            id: id.to_owned(),
            opponent: record.player(us.other()).name.clone(),
            us: Some(us.as_str().to_owned()),
            ply: record.moves.len(),
            our_clock: clock(us),
            their_clock: clock(us.other()),
            our_turn: record.to_move() == us,
            score: scored.map(|score| score.to_string()),
            moved_ago: now.saturating_sub(moved.unwrap_or(record.joined)),
            stream: GameStreamStatus::default(),
        }
    }
}

impl StreamEntry {
    fn status(&self) -> GameStreamStatus {
        let open = self.open.as_ref();
        let received = open.map(|liveness| liveness.last_received().elapsed());
        GameStreamStatus {
            open: self.open.is_some(),
            since: millis(self.since.elapsed()),
            received_ago: received.map(millis),
            reopened: self.openings.saturating_sub(1),
        }
    }
}

fn whole<S: Serializer>(record: &Arc<GameRecord>, serializer: S) -> Result<S::Ok, S::Error> {
    record.serialize(serializer)
}

fn clocks(state: &GameState, now: Millis) -> Clocks {
    Clocks {
        white: state.time.white.map(millis),
        black: state.time.black.map(millis),
        stated: now,
    }
}

/// A bounded list that drops its oldest entries and counts those dropped unread. Every entry
/// carries the version of its last change.
#[derive(Debug)]
pub(super) struct RingBuffer<T> {
    entries: VecDeque<RingEntry<T>>,
    most: usize,
    /// Entries up to this version have been read and are not counted when dropped.
    read: u64,
    lost: u64,
}

#[derive(Debug)]
struct RingEntry<T> {
    value: Arc<T>,
    revision: u64,
}

impl<T: Clone> Default for RingBuffer<T> {
    fn default() -> Self {
        Self::new(RING)
    }
}

impl<T: Clone> RingBuffer<T> {
    /// A ring buffer of this capacity.
    pub(super) fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            most: most.max(1),
            read: 0,
            lost: 0,
        }
    }

    /// Adds an entry at this version.
    pub(super) fn push(&mut self, value: T, revision: u64) {
        if self.entries.len() >= self.most
            && let Some(gone) = self.entries.pop_front()
        {
            self.lost += u64::from(gone.revision > self.read);
        }
        let value = Arc::new(value);
        self.entries.push_back(RingEntry { value, revision });
    }

    /// Changes the latest matching entry; false if there is none.
    pub(super) fn change(
        &mut self,
        fits: impl Fn(&T) -> bool,
        revision: u64,
        change: impl FnOnce(&mut T),
    ) -> bool {
        let found = self.entries.iter_mut().rev().find(|it| fits(&it.value));
        let Some(found) = found else { return false };
        change(Arc::make_mut(&mut found.value));
        found.revision = revision;
        true
    }

    /// The latest matching entry.
    pub(super) fn find(&self, fits: impl Fn(&T) -> bool) -> Option<&T> {
        let mut found = self.entries.iter().rev().map(|it| it.value.as_ref());
        found.find(|value| fits(value))
    }

    /// Entries changed after a version, oldest first.
    pub(super) fn since(&self, version: u64) -> Vec<Arc<T>> {
        let changed = self.entries.iter().filter(|it| it.revision > version);
        changed.map(|it| Arc::clone(&it.value)).collect()
    }

    /// The latest entries, newest first.
    pub(super) fn latest(&self, most: usize) -> Vec<Arc<T>> {
        let latest = self.entries.iter().rev().take(most);
        latest.map(|it| Arc::clone(&it.value)).collect()
    }

    /// Everything up to this version has been read.
    pub(super) fn settle(&mut self, version: u64) {
        self.read = self.read.max(version);
    }

    /// Number of entries dropped unread.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_dropped_unread_are_counted_and_read_ones_are_not() {
        let mut buffer = RingBuffer::new(3);
        for version in 1..=3 {
            buffer.push(version * 10, version);
        }
        assert_eq!(buffer.lost(), 0);
        buffer.settle(2);
        buffer.push(40, 4);
        buffer.push(50, 5);
        assert_eq!(buffer.lost(), 0, "10 and 20 had been read");
        buffer.push(60, 6);
        assert_eq!(buffer.lost(), 1);
        let values = |entries: Vec<Arc<u64>>| entries.iter().map(|it| **it).collect::<Vec<_>>();
        assert_eq!(values(buffer.since(4)), [50, 60]);
        assert_eq!(values(buffer.latest(2)), [60, 50]);
    }

    #[test]
    fn a_changed_entry_counts_as_new() {
        let mut buffer = RingBuffer::new(3);
        buffer.push(1, 1);
        buffer.push(2, 2);
        assert!(buffer.change(|it| *it == 1, 3, |it| *it = 11));
        assert!(!buffer.change(|it| *it == 1, 4, |it| *it = 12));
        assert_eq!(*buffer.since(2)[0], 11);
        assert_eq!(buffer.find(|it| *it > 5), Some(&11));
    }
}
