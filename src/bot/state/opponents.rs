//! The opponents met, when, and the results.
//!
//! Plain data with plain functions, behind the state's lock.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use crate::lichess::{GameId, Side, UserId};
use crate::store::{
    Change, FinishedGame, GameResult, Interaction, InteractionKind, OpponentRow, Origin, State,
    TimeSpan, Timestamp,
};

/// A game whose end is not counted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfinishedGame {
    pub game: GameId,
    /// When the bot first learned of it.
    pub since: Timestamp,
}

/// How long an interaction is kept.
pub(super) const ENCOUNTERS_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// How long complete results are kept in memory.
const RESULTS_KEPT: Duration = Duration::from_secs(48 * 3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// How soon after a game's end the server reports its rating change, at the latest.
const RATING_CHANGE_WITHIN: Duration = Duration::from_secs(30);
/// Games of a pair that the server compares with the next one.
const GAMES_COMPARED: usize = 2;
/// Rating changes kept that arrived before the game's end.
const MAX_EARLY: usize = 256;
/// Interactions kept: a week of 3,500 challenges a day that become games.
const MAX_ENCOUNTERS: usize = 50_000;
/// Opponents whose record is kept, the latest seen; on disk the same.
const MAX_OPPONENTS: usize = crate::store::MAX_OPPONENTS;
/// Complete results kept in memory.
const MAX_RESULTS: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartedGame {
    pub game: GameId,
    /// None for anonymous players.
    pub opponent: Option<UserId>,
    pub is_bot: bool,
    /// What led to it, if known; otherwise it counts as incoming.
    pub origin: Option<Origin>,
    pub rematch: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpponentRecord {
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    /// Games started in the last 24 hours.
    pub games_today: u32,
    pub rematches_in_a_row: u32,
    /// Missed first moves in the last 24 hours.
    pub no_shows_today: u32,
    /// The last two games, latest first.
    pub last: Vec<KnownGame>,
    /// Until when their own limit of bot games is reached.
    pub spent_until: Option<Timestamp>,
}

/// An earlier game of a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownGame {
    /// The first twenty half-moves in UCI, separated by spaces.
    pub opening: String,
    pub color: Side,
    /// From the bot's point of view.
    pub result: GameResult,
}

#[derive(Debug)]
pub(super) struct Opponents {
    rows: HashMap<UserId, OpponentRow>,
    last: HashMap<UserId, Vec<KnownGame>>,
    results: IndexedQueue<GameId, FinishedGame>,
    encounters: IndexedQueue<(InteractionKind, String), Interaction>,
    /// The interactions with each opponent, in order.
    meetings: HashMap<UserId, VecDeque<(InteractionKind, Timestamp)>>,
    /// Rating changes that arrived before the game's end.
    early: VecDeque<(GameId, i32)>,
}

impl Opponents {
    pub(super) fn new(kept: &State) -> Self {
        let mut opponents = Self {
            rows: kept
                .opponents
                .iter()
                .map(|row| (row.id.clone(), row.clone()))
                .collect(),
            last: HashMap::new(),
            results: IndexedQueue::new(MAX_RESULTS),
            encounters: IndexedQueue::new(MAX_ENCOUNTERS),
            meetings: HashMap::new(),
            early: VecDeque::new(),
        };
        for met in &kept.encounters {
            opponents.remember_meeting(met);
        }
        for game in &kept.results {
            opponents.remember_line(game);
            opponents.remember_result(game);
        }
        opponents
    }

    pub(super) fn record(&self, id: &UserId, now: Timestamp) -> OpponentRecord {
        let row = self.rows.get(id).cloned();
        let row = row.unwrap_or_else(|| OpponentRow::new(id.clone(), now));
        let spent = row.spent.filter(|span| span.holds(now));
        let count = |kind| self.met(id, kind, DAY, now);
        OpponentRecord {
            wins: row.wins,
            draws: row.draws,
            losses: row.losses,
            games_today: count(InteractionKind::Started),
            rematches_in_a_row: row.rematches,
            no_shows_today: count(InteractionKind::NoShow),
            last: self.last.get(id).cloned().unwrap_or_default(),
            spent_until: spent.map(|span| span.until),
        }
    }

    /// Number of interactions with an opponent within a time of up to a week.
    pub(super) fn met(
        &self,
        opponent: &UserId,
        kind: InteractionKind,
        within: Duration,
        now: Timestamp,
    ) -> u32 {
        let met = self.meetings.get(opponent).into_iter().flatten().rev();
        let recent = met.take_while(|(_, at)| *at + within > now);
        recent.filter(|(other, _)| *other == kind).count() as u32
    }

    /// Games started in the last 24 hours, with bots or with humans.
    pub(super) fn games_today(&self, with_bots: bool, now: Timestamp) -> u32 {
        let recent = self.encounters.iter().rev();
        let recent = recent.take_while(|met| met.at + DAY > now);
        let wanted =
            |met: &&Interaction| met.kind == InteractionKind::Started && met.is_bot == with_bots;
        recent.filter(wanted).count() as u32
    }

    /// When a game started, as far as known.
    pub(super) fn begun(&self, game: &GameId) -> Option<Timestamp> {
        let key = (InteractionKind::Started, game.to_string());
        self.encounters.get(&key).map(|met| met.at)
    }

    /// Records an interaction, once for each id and kind.
    pub(super) fn meet(&mut self, met: Interaction, changes: &mut Vec<Change>) -> bool {
        let is_new = self.remember_meeting(&met);
        if is_new {
            changes.push(Change::Encounter(met));
        }
        is_new
    }

    fn remember_meeting(&mut self, met: &Interaction) -> bool {
        let key = (met.kind, met.id.clone());
        let is_new = self.encounters.push(key, met.clone());
        if is_new {
            let meetings = self.meetings.entry(met.opponent.clone()).or_default();
            meetings.push_back((met.kind, met.at));
        }
        while let Some(old) = self.encounters.overflow() {
            if let Some(meetings) = self.meetings.get_mut(&old.opponent) {
                meetings.pop_front();
            }
        }
        is_new
    }

    /// Records a started game; false if already known.
    pub(super) fn started(
        &mut self,
        started: &StartedGame,
        now: Timestamp,
        changes: &mut Vec<Change>,
    ) -> bool {
        let met = Interaction {
            id: started.game.to_string(),
            kind: InteractionKind::Started,
            // No account has an empty name.
            opponent: started.opponent.clone().unwrap_or_else(|| UserId::new("")),
            is_bot: started.is_bot,
            at: now,
        };
        let is_new = self.meet(met, changes);
        if let Some(opponent) = started.opponent.as_ref().filter(|_| is_new) {
            let row = self.row(opponent, now);
            row.rematches = if started.rematch {
                row.rematches + 1
            } else {
                0
            };
            changes.push(Change::Opponent(row.clone()));
        }
        is_new
    }

    /// Records a finished game; returns it for storing, or none if already known.
    pub(super) fn finished(
        &mut self,
        mut game: FinishedGame,
        changes: &mut Vec<Change>,
    ) -> Option<FinishedGame> {
        if self.has_counted(&game.game) {
            return None;
        }
        if let Some(index) = self.early.iter().position(|(id, _)| *id == game.game) {
            let told = self.early.remove(index).map(|(_, diff)| diff);
            game.rating_diff = game.rating_diff.or(told);
        }
        self.remember_line(&game);
        if let (Some(opponent), true) = (&game.opponent, game.counts()) {
            let row = self.row(opponent, game.at);
            match game.result() {
                GameResult::Win => row.wins += 1,
                GameResult::Draw => row.draws += 1,
                GameResult::Loss => row.losses += 1,
            }
            changes.push(Change::Opponent(row.clone()));
        }
        changes.push(Change::Result(game.clone()));
        self.remember_result(&game);
        Some(game)
    }

    /// Whether the end of a game was counted, as far back as complete results reach.
    pub(super) fn has_counted(&self, game: &GameId) -> bool {
        self.results.get(game).is_some()
    }

    /// Records a game's rating change; returns the game if its end is known.
    pub(super) fn rated(
        &mut self,
        id: &GameId,
        diff: i32,
        changes: &mut Vec<Change>,
    ) -> Option<FinishedGame> {
        if let Some(game) = self.results.get_mut(id) {
            if game.rating_diff == Some(diff) {
                return None;
            }
            game.rating_diff = Some(diff);
            changes.push(Change::Result(game.clone()));
            return Some(game.clone());
        }
        if !self.early.iter().any(|(known, _)| known == id) {
            self.early.push_back((id.clone(), diff));
        }
        if self.early.len() > MAX_EARLY {
            self.early.pop_front();
        }
        None
    }

    /// Rated games whose rating change is overdue, the oldest first.
    pub(super) fn missing_rating_changes(&self, now: Timestamp) -> Vec<UnfinishedGame> {
        let ended = self.results.iter();
        let untold = ended.filter(|game| lacks_rating_change(game, now));
        let untold = untold.map(|game| UnfinishedGame {
            game: game.game.clone(),
            since: game.at,
        });
        untold.collect()
    }

    pub(super) fn lacks_rating(&self, game: &GameId, now: Timestamp) -> bool {
        let known = self.results.get(game);
        known.is_some_and(|game| lacks_rating_change(game, now))
    }

    pub(super) fn spent(&mut self, opponent: &UserId, span: TimeSpan) -> Change {
        let row = self.row(opponent, span.at);
        row.spent = Some(span);
        Change::Opponent(row.clone())
    }

    fn remember_result(&mut self, game: &FinishedGame) {
        self.results.push(game.game.clone(), game.clone());
        self.results.overflow();
    }

    fn remember_line(&mut self, game: &FinishedGame) {
        let (Some(opponent), Some(color), true) = (&game.opponent, game.color, game.counts())
        else {
            return;
        };
        let lines = self.last.entry(opponent.clone()).or_default();
        let latest = KnownGame {
            opening: game.opening.clone(),
            color,
            result: game.result(),
        };
        lines.insert(0, latest);
        lines.truncate(GAMES_COMPARED);
    }

    fn row(&mut self, id: &UserId, now: Timestamp) -> &mut OpponentRow {
        let new = || OpponentRow::new(id.clone(), now);
        let row = self.rows.entry(id.clone()).or_insert_with(new);
        row.seen = now;
        row
    }

    /// Adjusts to a clock set back: nothing may have happened after `now`.
    pub(super) fn set_back(&mut self, now: Timestamp, changes: &mut Vec<Change>) {
        for met in self.encounters.iter_mut().filter(|met| met.at > now) {
            met.at = now;
            changes.push(Change::Encounter(met.clone()));
        }
        for (_, at) in self.meetings.values_mut().flatten() {
            *at = now.min(*at);
        }
        for game in self.results.iter_mut().filter(|game| game.at > now) {
            game.at = now;
            changes.push(Change::Result(game.clone()));
        }
        for row in self.rows.values_mut() {
            let before = (row.seen, row.spent);
            row.seen = row.seen.min(now);
            row.spent = row.spent.map(|span| span.not_after(now));
            if (row.seen, row.spent) != before {
                changes.push(Change::Opponent(row.clone()));
            }
        }
    }

    /// Removes entries that are too old to matter.
    pub(super) fn prune(&mut self, now: Timestamp) {
        self.encounters
            .forget(|met| met.at + ENCOUNTERS_KEPT <= now);
        self.results.forget(|game| game.at + RESULTS_KEPT <= now);
        self.meetings.retain(|_, meetings| {
            meetings.retain(|(_, at)| *at + ENCOUNTERS_KEPT > now);
            !meetings.is_empty()
        });
        let surplus = self.rows.len().saturating_sub(MAX_OPPONENTS);
        if surplus > 0 {
            let mut seen: Vec<_> = self.rows.values().map(|row| row.seen).collect();
            let (_, kept_from, _) = seen.select_nth_unstable(surplus);
            let kept_from = *kept_from;
            self.rows.retain(|_, row| row.seen >= kept_from);
            self.last.retain(|id, _| self.rows.contains_key(id));
        }
    }

    pub(super) fn knows(&self, opponent: &UserId) -> bool {
        self.rows.contains_key(opponent)
    }

    /// The latest timestamp of any event.
    pub(super) fn latest(&self) -> Timestamp {
        let met = self.encounters.iter().map(|met| met.at);
        let ended = self.results.iter().map(|game| game.at);
        met.chain(ended).max().unwrap_or_default()
    }
}

/// Whether a game's rating change is overdue.
fn lacks_rating_change(game: &FinishedGame, now: Timestamp) -> bool {
    let age = now.since(game.at);
    game.counts_for_ratings()
        && game.rating_diff.is_none()
        && (RATING_CHANGE_WITHIN..DAY).contains(&age)
}

/// A queue of entries in order of arrival, each also found by its key.
///
/// A lookup must not get slower with more entries: it holds the state's lock, and every game makes
/// several.
#[derive(Debug)]
pub(super) struct IndexedQueue<K, T> {
    entries: VecDeque<(K, T)>,
    /// Number of entries removed from the front.
    gone: usize,
    /// The index of each entry, counted from the first one ever added.
    places: HashMap<K, usize>,
    most: usize,
}

impl<K: Clone + Eq + Hash, T> IndexedQueue<K, T> {
    /// Creates an empty queue for `most` entries.
    pub(super) fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            gone: 0,
            places: HashMap::new(),
            most,
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&T> {
        let place = self.places.get(key)? - self.gone;
        self.entries.get(place).map(|(_, entry)| entry)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        let place = self.places.get(key)? - self.gone;
        self.entries.get_mut(place).map(|(_, entry)| entry)
    }

    /// Adds an entry; false if the key exists. [`IndexedQueue::overflow`] makes room for it.
    pub(super) fn push(&mut self, key: K, entry: T) -> bool {
        if self.places.contains_key(&key) {
            return false;
        }
        let place = self.gone + self.entries.len();
        self.places.insert(key.clone(), place);
        self.entries.push_back((key, entry));
        true
    }

    /// Removes old entries from the front.
    pub(super) fn forget(&mut self, is_old: impl Fn(&T) -> bool) {
        while self.entries.front().is_some_and(|(_, entry)| is_old(entry)) {
            self.pop();
        }
    }

    /// Removes and returns the oldest entry if there are too many.
    pub(super) fn overflow(&mut self) -> Option<T> {
        let too_many = self.entries.len() > self.most;
        too_many.then(|| self.pop())?
    }

    fn pop(&mut self) -> Option<T> {
        let (key, entry) = self.entries.pop_front()?;
        self.places.remove(&key);
        self.gone += 1;
        Some(entry)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_opponents_seen_last_are_kept() {
        let mut opponents = Opponents::new(&State::default());
        let many = MAX_OPPONENTS + 10;
        for n in 0..many {
            let at = Timestamp::from_millis(n as u64 + 1);
            opponents.row(&UserId::new(&format!("bot{n}")), at);
        }
        opponents.prune(Timestamp::from_millis(many as u64));
        assert_eq!(opponents.rows.len(), MAX_OPPONENTS);
        assert!(!opponents.knows(&UserId::new("bot9")) && opponents.knows(&UserId::new("bot10")));
    }

    #[test]
    fn entries_are_found_by_their_keys_until_they_are_forgotten() {
        let mut line = IndexedQueue::new(3);
        for (key, entry) in [("a", 1), ("b", 2), ("c", 3)] {
            assert!(line.push(key, entry));
        }
        assert!(!line.push("b", 9), "known");
        assert_eq!(line.get(&"b"), Some(&2));
        line.forget(|&entry| entry < 2);
        assert_eq!((line.get(&"a"), line.get(&"c")), (None, Some(&3)));
        assert!(line.push("a", 4), "forgotten, so it is new");
        assert_eq!(line.overflow(), None, "it is full");
        assert!(line.push("d", 5));
        assert_eq!(line.overflow(), Some(2), "the oldest goes");
        assert_eq!(line.overflow(), None);
        assert_eq!((line.get(&"b"), line.get(&"d")), (None, Some(&5)));
        *line.get_mut(&"a").unwrap() += 10;
        let all: Vec<_> = line.iter().copied().collect();
        assert_eq!(all, [3, 14, 5]);
    }
}
