//! What the bot knows beyond one game: kept in memory, written through to the store.
//!
//! One shared handle. A call waits for the disk only if the caller asks for it; every answer comes from
//! memory.
//!
//! Here: the handle, cooldowns, notes, single games, what the last moves cost, games whose end is
//! still to be counted, and the use of the quota, reserved before the call that spends it.
//!
//! * `opponents`: opponents, interactions, results

mod opponents;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use self::opponents::{ENCOUNTERS_KEPT, Opponents};
use crate::bot::quota::{Budget, DEMAND_NOTE, Denied, OpponentKind, Permit, Quota};
use crate::bot::rating_guard::{Pause, RatingGuard};
use crate::bot::settings::Settings;
use crate::config;
use crate::experience::{Experience, PlayedLine};
use crate::lichess::{ChallengeId, Error, GameId, UserId};
use crate::store::{
    Change, Cooldown, FinishedGame, GameMemory, GuardScope, Interaction, InteractionKind, Origin,
    RatedPause, State, Store, TimeSpan, Timestamp,
};

pub use opponents::{KnownGame, OpponentRecord, StartedGame, UnfinishedGame};

/// How long a game's chat and takeback state is kept.
const GAMES_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long an old cooldown affects the length of the next one.
const COOLDOWNS_KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
/// How often old state is pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// A clock that goes back by less is being slewed, not set.
const STEERED: Duration = Duration::from_secs(2);
/// Note key: when the quota began. Existing files have it by this name.
const SINCE: &str = "ledger.since";

/// Returns the wall-clock time.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The operator's rules that concern the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateRules {
    pub quota: config::Limits,
    pub guard: config::Guard,
}

impl From<&Settings> for StateRules {
    fn from(settings: &Settings) -> Self {
        Self {
            quota: settings.limits.clone(),
            guard: settings.guard.clone(),
        }
    }
}

/// The bot's persistent state. Clones share it.
#[derive(Clone)]
pub struct BotState {
    inner: Arc<Mutex<Inner>>,
    /// Under a lock of its own, held only to replace or to copy the pointer.
    experience: Arc<Mutex<Arc<Experience>>>,
    store: Store,
    clock: WallClock,
}

impl fmt::Debug for BotState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BotState").finish_non_exhaustive()
    }
}

/// The state behind the lock.
pub(super) struct Inner {
    pub(super) quota: Quota,
    opponents: Opponents,
    guard: RatingGuard,
    cooldowns: BTreeMap<String, Cooldown>,
    games: HashMap<GameId, (Timestamp, GameMemory)>,
    pub(super) notes: BTreeMap<String, String>,
    pub(super) costs: CostHistory,
    newest: Timestamp,
    pruned: Timestamp,
    pub(super) named: u64,
    unarchived: Vec<UnfinishedGame>,
    /// Games that the bot aborts for reasons of its own, and challenges that it withdraws, since when.
    called_off: HashMap<GameId, Timestamp>,
}

impl BotState {
    /// The state of an earlier run, written through to `store`.
    pub fn new(store: Store, kept: State, rules: StateRules) -> Self {
        Self::with_clock(store, kept, rules, Arc::new(SystemTime::now))
    }

    /// A state that is not persisted.
    pub fn nowhere() -> Self {
        let (store, kept) = Store::nowhere();
        Self::new(store, kept, StateRules::default())
    }

    /// The state of an earlier run, with a given clock.
    pub fn with_clock(store: Store, mut kept: State, rules: StateRules, clock: WallClock) -> Self {
        let now = Timestamp::from(clock());
        let lines = std::mem::take(&mut kept.lines);
        let inner = Inner::new(kept, rules, now);
        let state = Self {
            inner: Arc::new(Mutex::new(inner)),
            experience: Arc::default(),
            store,
            clock,
        };
        state.learn_all(lines);
        // Handles a clock that was set back between runs, and stores the start of a new quota.
        state.change(|inner, now, changes| {
            if !inner.notes.contains_key(SINCE) {
                inner.set_note(SINCE, Some(now.as_millis().to_string()), changes);
            }
        });
        state
    }

    pub fn set_rules(&self, rules: StateRules) {
        let mut inner = self.inner.lock();
        inner.quota.set_rules(rules.quota);
        inner.guard.set_rules(rules.guard);
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from((self.clock)())
    }

    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Before shutdown: waits until every change is on disk or has failed.
    pub async fn settle(&self) {
        if let Err(error) = self.store.flush().await {
            tracing::error!(%error, "the latest state changes are lost");
        }
    }

    /// Done once every change so far is on disk, or cannot get there now: then the bot continues with
    /// the state in memory, and the store raises the alert.
    pub async fn saved(&self) {
        if let Err(error) = self.store.flush().await {
            tracing::debug!(%error, "kept in memory only");
        }
    }

    pub(super) fn with_state<T>(&self, with_state: impl FnOnce(&Inner, Timestamp) -> T) -> T {
        self.change(|inner, now, _| with_state(inner, now))
    }

    /// Changes the state and persists the change soon.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Inner, Timestamp, &mut Vec<Change>) -> T,
    ) -> T {
        let now = self.now();
        let mut inner = self.inner.lock();
        let mut changes = inner.notice(now);
        let outcome = change(&mut inner, now, &mut changes);
        // Queued under the lock, so that the latest change here is the latest on disk.
        self.keep(changes);
        outcome
    }

    fn keep(&self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.store.write_all(changes);
        }
    }

    pub fn opponent(&self, id: &UserId) -> OpponentRecord {
        self.with_state(|inner, now| inner.opponents.record(id, now))
    }

    /// Number of `opponent`'s challenges accepted within the given time, up to a week.
    pub fn accepted_within(&self, opponent: &UserId, within: Duration) -> u32 {
        let kind = InteractionKind::Accepted;
        self.with_state(|inner, now| inner.opponents.met(opponent, kind, within, now))
    }

    /// Games started in the last 24 hours, with bots or with humans.
    pub fn games_today(&self, with_bots: bool) -> u32 {
        self.with_state(|inner, now| inner.opponents.games_today(with_bots, now))
    }

    /// How long the bot has known that a game is in progress.
    pub fn known_for(&self, game: &GameId) -> Option<Duration> {
        self.with_state(|inner, now| Some(now.since(inner.opponents.begun(game)?)))
    }

    /// Records an accepted challenge.
    pub fn accepted(&self, challenge: &ChallengeId, opponent: &UserId, is_bot: bool) {
        let kind = InteractionKind::Accepted;
        self.meet(challenge.as_str(), kind, opponent, is_bot);
    }

    /// Notes that the bot ends a game for a reason of its own: its abort is no fault of the opponent. Before
    /// the call, since the end may be seen before the answer to it, or by a later run.
    pub fn call_off(&self, game: &GameId) {
        self.change(|inner, now, changes| {
            inner.called_off.insert(game.clone(), now);
            // The end of any other is not looked up.
            if inner.notes.contains_key(&key(game)) {
                inner.set_note(&format!("{CALLED_OFF}{game}"), Some(String::new()), changes);
            }
        });
    }

    /// Takes that back if, by the answer to the call, the server did not end the game.
    pub fn heed_refusal(&self, game: &GameId, answer: &Result<(), Error>) {
        if answer.as_ref().is_err_and(|error| !error.is_out_of_order()) {
            self.change(|inner, _, changes| {
                inner.called_off.remove(game);
                inner.set_note(&format!("{CALLED_OFF}{game}"), None, changes);
            });
        }
    }

    /// Records a game that was aborted while the opponent owed the first move; whether it counts.
    pub fn no_show(&self, game: &GameId, opponent: &UserId, is_bot: bool) -> bool {
        let counts = !self.inner.lock().called_off.contains_key(game);
        if counts {
            self.meet(game.as_str(), InteractionKind::NoShow, opponent, is_bot);
        }
        counts
    }

    fn meet(&self, id: &str, kind: InteractionKind, opponent: &UserId, is_bot: bool) {
        self.change(|inner, now, changes| {
            let met = Interaction {
                id: id.to_owned(),
                kind,
                opponent: opponent.clone(),
                is_bot,
                at: now,
            };
            inner.opponents.meet(met, changes);
        });
    }

    /// Records a finished game; returns the pauses set by the rating guard.
    pub fn finished(&self, game: FinishedGame) -> Vec<Pause> {
        self.change(|inner, now, changes| {
            inner.close(&game.game, changes);
            let Some(game) = inner.opponents.finished(game, changes) else {
                return Vec::new();
            };
            let news = inner.guard.finished(&game, now);
            changes.extend(news.changes);
            news.pause
        })
    }

    /// Records the rating change that the server reported for a game.
    pub fn rated(&self, game: &GameId, diff: i32) -> Vec<Pause> {
        self.change(|inner, now, changes| {
            let Some(game) = inner.opponents.rated(game, diff, changes) else {
                return Vec::new();
            };
            let opponent = game.opponent.as_ref();
            let news = inner.guard.rated(&game.game, opponent, diff, now);
            changes.extend(news.changes);
            news.pause
        })
    }

    /// What the games so far teach, as of now.
    pub fn experience(&self) -> Arc<Experience> {
        Arc::clone(&self.experience.lock())
    }

    /// Learns from a game, in place of what was learned from it before.
    pub fn learn(&self, line: PlayedLine) {
        let kept = Change::Line(line.clone().bounded());
        let mut experience = self.experience.lock();
        let gone = Arc::make_mut(&mut experience).learn(line);
        let gone = gone.into_iter().map(Change::DropLine);
        // Queued under the lock, so that the latest change here is the latest on disk.
        self.keep(std::iter::once(kept).chain(gone).collect());
    }

    /// Learns from a game unless that is known already.
    pub fn learn_news(&self, line: PlayedLine) {
        let line = line.bounded();
        if self.experience().line(&line.game) != Some(&line) {
            self.learn(line);
        }
    }

    /// Learns the lines of earlier runs, which are on disk already.
    fn learn_all(&self, lines: Vec<PlayedLine>) {
        let mut known = Experience::default();
        let gone = lines.into_iter().flat_map(|line| known.learn(line));
        self.keep(gone.map(Change::DropLine).collect());
        *self.experience.lock() = Arc::new(known);
    }

    /// Why rated games with this opponent are paused, if they are; without an opponent, why all
    /// rated games are.
    pub fn rated_rest(&self, opponent: Option<&UserId>) -> Option<RatedPause> {
        self.with_state(|inner, now| inner.guard.rest(opponent, now).cloned())
    }

    /// Every pause set by the rating guard.
    pub fn rated_rests(&self) -> Vec<(GuardScope, RatedPause)> {
        self.with_state(|inner, now| inner.guard.rests(now))
    }

    /// The chat and takeback state of a game.
    pub fn game(&self, id: &GameId) -> GameMemory {
        let inner = self.inner.lock();
        let game = inner.games.get(id).map(|(_, game)| game.clone());
        game.unwrap_or_default()
    }

    /// Updates the chat and takeback state of a game.
    pub fn update_game(&self, id: &GameId, update: impl FnOnce(&mut GameMemory)) {
        self.change(|inner, now, changes| {
            let (at, game) = inner.games.entry(id.clone()).or_default();
            *at = now;
            update(game);
            changes.push(Change::Game(id.clone(), now, game.clone()));
        });
    }

    /// The last cooldown under a key, over or not: its failures count for the next one.
    pub fn cooldown(&self, key: &str) -> Option<Cooldown> {
        self.with_state(|inner, _| inner.cooldowns.get(key).cloned())
    }

    /// When the current cooldown of a key ends.
    pub fn resting(&self, key: &str) -> Option<Timestamp> {
        self.with_state(|inner, now| {
            let span = inner.cooldowns.get(key)?.span;
            span.holds(now).then_some(span.until)
        })
    }

    /// Starts a cooldown of `first`, doubled for each failure in a row up to `most`. It ends no earlier
    /// than the one before.
    pub fn cool(
        &self,
        key: &str,
        first: Duration,
        most: Duration,
        reason: Option<&str>,
    ) -> Cooldown {
        self.change(|inner, now, changes| {
            let before = inner.cooldowns.get(key);
            let failures = before.map_or(0, |rest| rest.failures);
            let doubled = first.saturating_mul(2_u32.saturating_pow(failures.min(24)));
            let mut span = TimeSpan::new(now, doubled.min(most));
            span.until = before.map_or(span.until, |rest| rest.span.until.max(span.until));
            let cooldown = Cooldown {
                span,
                failures: failures.saturating_add(1),
                reason: reason.map(str::to_owned),
            };
            inner.cooldowns.insert(key.to_owned(), cooldown.clone());
            changes.push(Change::Cooldown(key.to_owned(), Some(cooldown.clone())));
            cooldown
        })
    }

    /// Ends the cooldowns whose key has this prefix and forgets their failures.
    pub fn clear_cooldowns(&self, prefix: &str) {
        self.change(|inner, _, changes| {
            let from = prefix.to_owned()..;
            let ended = (inner.cooldowns).extract_if(from, |key, _| key.starts_with(prefix));
            changes.extend(ended.map(|(key, _)| Change::Cooldown(key, None)));
        });
    }

    pub fn note(&self, key: &str) -> Option<String> {
        self.inner.lock().notes.get(key).cloned()
    }

    /// Sets or removes the note under a key.
    pub fn set_note(&self, key: &str, note: Option<String>) {
        self.change(|inner, _, changes| inner.set_note(key, note, changes));
    }
}

impl Inner {
    fn new(kept: State, rules: StateRules, now: Timestamp) -> Self {
        let notes: BTreeMap<_, _> = kept.notes.iter().cloned().collect();
        let since = notes.get(SINCE).and_then(|note| note.parse().ok());
        let since = since.map_or(now, Timestamp::from_millis);
        let costs = notes.get(NOTE).map(|note| CostHistory::read(note));
        let called_off = notes.keys().filter_map(|key| key.strip_prefix(CALLED_OFF));
        let called_off = called_off.map(|id| (GameId::new(id), now)).collect();
        let opponents = Opponents::new(&kept);
        let quota = Quota::new(rules.quota, kept.spends, &kept.limits, since)
            .with_demand(notes.get(DEMAND_NOTE));
        let games = kept.games.into_iter();
        let rests = kept.cooldowns.iter().map(|(_, rest)| rest.span.at);
        let newest = rests.chain([opponents.latest()]).max().unwrap_or_default();
        Self {
            quota,
            guard: RatingGuard::new(rules.guard, kept.guards, &kept.results),
            opponents,
            cooldowns: kept.cooldowns.into_iter().collect(),
            games: games.map(|(id, at, game)| (id, (at, game))).collect(),
            notes,
            costs: costs.unwrap_or_default(),
            newest,
            pruned: Timestamp::default(),
            named: 0,
            unarchived: Vec::new(),
            called_off,
        }
    }

    /// Called before every read or change: handles clock changes and prunes.
    fn notice(&mut self, now: Timestamp) -> Vec<Change> {
        let mut changes = self.quota.notice(now);
        if now + STEERED < self.newest {
            tracing::warn!(
                back = ?self.newest.since(now),
                "system clock set back: future timestamps count as now"
            );
            self.set_back(now, &mut changes);
            self.newest = now;
        }
        self.newest = self.newest.max(now);
        if now.since(self.pruned) >= PRUNE_EVERY || now < self.pruned {
            self.pruned = now;
            self.prune(now);
            changes.push(Change::Prune(now));
        }
        changes
    }

    fn set_back(&mut self, now: Timestamp, changes: &mut Vec<Change>) {
        self.opponents.set_back(now, changes);
        changes.extend(self.guard.set_back(now));
        for (key, rest) in &mut self.cooldowns {
            if rest.span.at > now {
                rest.span = rest.span.not_after(now);
                changes.push(Change::Cooldown(key.clone(), Some(rest.clone())));
            }
        }
    }

    fn prune(&mut self, now: Timestamp) {
        self.opponents.prune(now);
        let opponents = &self.opponents;
        self.guard.prune(now, |id| opponents.knows(id));
        self.games.retain(|_, (at, _)| *at + GAMES_KEPT > now);
        self.called_off.retain(|_, at| *at + ENCOUNTERS_KEPT > now);
        self.cooldowns
            .retain(|_, rest| rest.span.until + COOLDOWNS_KEPT > now);
    }

    fn set_note(&mut self, key: &str, note: Option<String>, changes: &mut Vec<Change>) {
        let before = match note.clone() {
            Some(note) => self.notes.insert(key.to_owned(), note),
            None => self.notes.remove(key),
        };
        if before != note {
            changes.push(Change::Note(key.to_owned(), note));
        }
    }
}

/// Moves stored. Few, so that a connection that got worse meanwhile counts after two moves.
const KEPT: usize = 32;
/// How long a cost stays relevant.
const LIFE: Duration = Duration::from_secs(48 * 3600);
/// The minimum time between two writes.
const PAUSE: Duration = Duration::from_secs(60);
/// Note key of the stored costs.
pub(super) const NOTE: &str = "overhead.costs";

/// The overhead of the bot's last moves, stored for the next start.
///
/// A few moves, each with its time: an old cost says nothing about today's connection. They are
/// only a starting point, soon outvoted by new moves.
#[derive(Debug, Default)]
pub(super) struct CostHistory {
    last: VecDeque<(Timestamp, Duration)>,
    written: Timestamp,
}

impl CostHistory {
    /// Parses a note; unreadable entries are skipped.
    pub(super) fn read(note: &str) -> Self {
        let read = |entry: &str| {
            let (at, cost) = entry.split_once(':')?;
            let at = Timestamp::from_millis(at.parse().ok()?);
            Some((at, Duration::from_millis(cost.parse().ok()?)))
        };
        let entries: Vec<_> = note.split_ascii_whitespace().filter_map(read).collect();
        let excess = entries.len().saturating_sub(KEPT);
        Self {
            last: entries.into_iter().skip(excess).collect(),
            written: Timestamp::default(),
        }
    }

    /// Adds a cost; returns the note to store when a write is due.
    fn push(&mut self, now: Timestamp, cost: Duration) -> Option<String> {
        self.last.push_back((now, cost));
        while self.last.len() > KEPT {
            self.last.pop_front();
        }
        if now.since(self.written) < PAUSE && now >= self.written {
            return None;
        }
        self.written = now;
        let entry =
            |(at, cost): &(Timestamp, Duration)| format!("{}:{}", at.as_millis(), cost.as_millis());
        let entries: Vec<String> = self.last.iter().map(entry).collect();
        Some(entries.join(" "))
    }

    fn recent(&self, now: Timestamp) -> Vec<Duration> {
        let recent = self.last.iter().filter(|(at, _)| now.since(*at) < LIFE);
        recent.map(|(_, cost)| *cost).collect()
    }
}

impl BotState {
    /// The costs of the last moves, of this run and earlier ones, oldest first.
    pub fn move_costs(&self) -> Vec<Duration> {
        self.with_state(|inner, now| inner.costs.recent(now))
    }

    /// Adds the overhead of one of the bot's moves.
    pub fn move_cost(&self, cost: Duration) {
        self.change(|inner, now, changes| {
            if let Some(note) = inner.costs.push(now, cost) {
                inner.set_note(NOTE, Some(note), changes);
            }
        });
    }
}

/// Key prefix of these notes.
const OPEN: &str = "open ";
/// Key prefix of another note on those of these games that the bot called off.
const CALLED_OFF: &str = "called off ";

/// Games whose end is not counted yet, kept across restarts.
///
/// One note per game, set when the bot agrees to it or it starts, and removed in the transaction
/// that counts its end: a kill in between leaves both or neither. Other modules decide when to look
/// such games up.
impl BotState {
    /// The game may start from now on, and end unseen.
    pub fn expect_game(&self, game: &GameId) {
        self.change(|inner, now, changes| inner.open(game, now, changes));
    }

    /// Drops a game that never started, or that cannot be looked up.
    pub fn forget_game(&self, game: &GameId) {
        self.change(|inner, _, changes| inner.close(game, changes));
    }

    /// Whether a game's end is not counted yet.
    pub fn is_open(&self, game: &GameId) -> bool {
        self.with_state(|inner, _| inner.notes.contains_key(&key(game)))
    }

    /// Games whose end is not counted yet, the oldest first.
    pub fn open_games(&self) -> Vec<UnfinishedGame> {
        let mut open: Vec<UnfinishedGame> = self.with_state(|inner, _| {
            let notes = inner.notes.range(OPEN.to_owned()..);
            notes
                .map_while(|(key, since)| {
                    let game = GameId::new(key.strip_prefix(OPEN)?);
                    let since = Timestamp::from_millis(since.parse().unwrap_or(0));
                    Some(UnfinishedGame { game, since })
                })
                .collect()
        });
        open.sort_by_key(|open| open.since);
        open
    }

    /// Rated games of the last day with a counted end but no rating change: the event stream
    /// reports it once, so it can be lost.
    pub fn missing_rating_changes(&self) -> Vec<UnfinishedGame> {
        self.with_state(|inner, now| inner.opponents.missing_rating_changes(now))
    }

    /// Games that the archive had as running when the bot started: it may lack an end that is counted.
    pub fn unarchived(&self) -> Vec<UnfinishedGame> {
        self.inner.lock().unarchived.clone()
    }

    pub fn set_unarchived(&self, games: Vec<UnfinishedGame>) {
        self.inner.lock().unarchived = games;
    }

    pub fn lacks_rating(&self, game: &GameId) -> bool {
        self.with_state(|inner, now| inner.opponents.lacks_rating(game, now))
    }
}

impl Inner {
    /// Adds a note for a game, unless it exists or the end is already counted.
    pub(super) fn open(&mut self, game: &GameId, now: Timestamp, changes: &mut Vec<Change>) {
        let key = key(game);
        if self.notes.contains_key(&key) || self.opponents.has_counted(game) {
            return;
        }
        self.set_note(&key, Some(now.as_millis().to_string()), changes);
    }

    /// Removes the notes of a game.
    pub(super) fn close(&mut self, game: &GameId, changes: &mut Vec<Change>) {
        self.set_note(&key(game), None, changes);
        self.set_note(&format!("{CALLED_OFF}{game}"), None, changes);
    }
}

fn key(game: &GameId) -> String {
    format!("{OPEN}{game}")
}

/// The server's name for its limit of games between bots.
const BOT_GAMES: &str = "bot.vsBot";
/// The cooldown of an opponent's limit if the server names no wait.
const UNNAMED_WAIT: Duration = Duration::from_secs(3600);
/// The key of the cooldown of accepting bots.
const BOTS_REST: &str = "accept bots";
/// Its length if no wait is advised.
const UNADVISED_REST: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuotaCall {
    /// Accepting a human's challenge.
    Accept,
    AcceptBot,
    Challenge,
}

/// Bot games and challenge credits: the calls of the quota.
///
/// A use is reserved in memory at once, so that two decisions in a row cannot both take the last
/// game; the call that uses it waits for [`BotState::saved`].
impl BotState {
    /// Whether another bot's challenge may be accepted.
    pub fn may_accept_bot(&self) -> Permit {
        match self.resting(BOTS_REST) {
            Some(at) => Permit::Later {
                at,
                denied: Denied::Closed,
            },
            None => self.with_state(|inner, now| inner.quota.may_accept(now)),
        }
    }

    /// A bot's challenge was declined for want of a game.
    pub fn turned_away(&self) {
        self.change(|inner, now, _| inner.quota.turned_away(now));
    }

    pub fn may_challenge(&self, target: OpponentKind) -> Permit {
        self.with_state(|inner, now| inner.quota.may_challenge(target, now))
    }

    pub fn budget(&self) -> Budget {
        self.with_state(|inner, now| inner.quota.budget(now))
    }

    /// Reserves the game of a bot's challenge about to be accepted. The call must wait for
    /// [`BotState::saved`].
    pub fn hold_accept(&self, challenge: &ChallengeId, opponent: &UserId) {
        let key = challenge.as_str();
        self.change(|inner, now, changes| {
            let opponent = Some(opponent.clone());
            let hold = inner.quota.hold_game(key, Origin::Incoming, opponent, now);
            changes.push(hold);
        });
    }

    /// Spends the credits of a challenge about to be made and, against a bot, reserves its game.
    /// Returns the key that names it until the server does ([`BotState::challenge_made`]). The call
    /// must wait for [`BotState::saved`].
    pub fn hold_challenge(&self, target: OpponentKind, opponent: &UserId) -> String {
        self.change(|inner, now, changes| {
            let opponent = Some(opponent.clone());
            inner.named += 1;
            let key = format!("challenge {} {}", now.as_millis(), inner.named);
            changes.push(inner.quota.spend_credits(target, opponent.clone(), now));
            if target.is_bot() {
                let hold = inner.quota.hold_game(&key, Origin::Outgoing, opponent, now);
                changes.push(hold);
            }
            key
        })
    }

    /// When the bot last made a challenge, if that was not long ago.
    pub fn last_challenge(&self) -> Option<Timestamp> {
        self.inner.lock().quota.last_challenge()
    }

    /// Records that the server created the challenge.
    pub fn challenge_made(&self, key: &str, id: &ChallengeId) {
        self.change(|inner, _, changes| {
            changes.extend(inner.quota.rename(key, id.as_str()));
            changes.extend(inner.quota.credits_served());
        });
    }

    /// Returns the reservation of a challenge that led to no game.
    pub fn release(&self, key: &str) {
        self.change(|inner, _, changes| changes.extend(inner.quota.release(key)));
    }

    /// Records a started game, once however often it is reported.
    pub fn started(&self, started: &StartedGame) {
        self.change(|inner, now, changes| {
            inner.open(&started.game, now, changes);
            let note = inner.notes.get(&key(&started.game));
            let since = note.and_then(|note| note.parse().ok().map(Timestamp::from_millis));
            // A game known for so long has been counted, though no record of its start is left.
            let is_old = since.is_some_and(|at| at + ENCOUNTERS_KEPT <= now);
            let is_new = !is_old && inner.opponents.started(started, now, changes);
            if is_new && started.is_bot {
                begin(inner, started, now, changes);
            }
        });
    }

    /// Learns from a refused call about the bot's or the opponent's limits.
    pub fn refused(&self, call: QuotaCall, error: &Error, opponent: Option<&UserId>) {
        match error {
            Error::RateLimited { wait, body } => {
                let limit = body.rate_limit.as_ref();
                let key = limit.and_then(|limit| limit.key.as_deref()).unwrap_or("");
                match call {
                    _ if key.starts_with(BOT_GAMES) => {
                        self.bot_games_refused(*wait, number_in(&body.message));
                    }
                    QuotaCall::Challenge => self.credits_refused(*wait),
                    // Each wait comes from the server or the rate limiter, which lengthens its own.
                    QuotaCall::AcceptBot => {
                        let rest = wait.unwrap_or(UNADVISED_REST);
                        self.cool(BOTS_REST, rest, rest, Some("rate limited"));
                    }
                    QuotaCall::Accept => {}
                }
            }
            Error::Refused { body, .. } => {
                if let (Some(limit), Some(opponent)) = (&body.rate_limit, opponent) {
                    self.opponent_spent(opponent, limit.wait.unwrap_or(UNNAMED_WAIT));
                }
            }
            Error::Transient { .. } | Error::Gone { .. } | Error::Protocol { .. } => {}
        }
    }

    /// The server refused a bot game, perhaps with a wait and its limit.
    pub fn bot_games_refused(&self, wait: Option<Duration>, stated: Option<u32>) {
        self.change(|inner, now, changes| {
            let before = inner.quota.most_games(now);
            changes.push(inner.quota.games_refused(wait, stated, now));
            let (most, forecast) = (inner.quota.most_games(now), inner.quota.forecast(now));
            tracing::warn!(most, "daily limit of bot games reached: {forecast}");
            if most != before {
                tracing::warn!(before, most, "the server's limit of bot games changed");
            }
        });
    }

    /// The server refused a challenge: too many.
    pub fn credits_refused(&self, wait: Option<Duration>) {
        self.change(|inner, now, changes| changes.push(inner.quota.credits_refused(wait, now)));
    }

    /// Records that an opponent's own limit of bot games is reached.
    pub fn opponent_spent(&self, opponent: &UserId, wait: Duration) {
        self.change(|inner, now, changes| {
            changes.push(inner.opponents.spent(opponent, TimeSpan::new(now, wait)));
        });
    }
}

/// Counts a started game against a bot: under its own id, or, since a rematch may get another one,
/// in place of the game reserved for that opponent.
fn begin(inner: &mut Inner, started: &StartedGame, now: Timestamp, changes: &mut Vec<Change>) {
    let key = started.game.as_str();
    let opponent = started.opponent.clone();
    if started.rematch
        && let Some(held) = opponent.as_ref().and_then(|id| inner.quota.held_for(id))
        && held != key
    {
        let held = held.to_owned();
        changes.extend(inner.quota.rename(&held, key));
    }
    let origin = started.origin.unwrap_or(Origin::Incoming);
    changes.extend(inner.quota.begin_game(key, origin, opponent, now));
    changes.extend(inner.quota.learn_from_begun(now));
}

/// The first number in a text: "You played 100 games against other bots today".
fn number_in(text: &str) -> Option<u32> {
    let mut digits = text.split(|c: char| !c.is_ascii_digit());
    digits.find(|part| !part.is_empty())?.parse().ok()
}

#[cfg(test)]
mod overhead_tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_note_restores_its_costs_except_old_ones() {
        let mut costs = CostHistory::default();
        let begun = Timestamp::from_millis(1_800_000_000_000);
        for n in 0..100 {
            costs.push(begun, ms(n));
        }
        let later = begun + Duration::from_secs(3600);
        let note = costs.push(later, ms(700)).expect("it is time");
        let read = CostHistory::read(&note);
        let recent = read.recent(later);
        assert_eq!((recent.len(), recent[31]), (KEPT, ms(700)));
        assert_eq!(read.recent(begun + LIFE), [ms(700)]);
        assert!(read.recent(later + LIFE).is_empty());
    }

    #[test]
    fn it_is_not_written_for_every_move() {
        let mut costs = CostHistory::default();
        let begun = Timestamp::from_millis(1_800_000_000_000);
        assert!(costs.push(begun, ms(1)).is_some());
        assert!(costs.push(begun + ms(59_000), ms(1)).is_none());
        assert!(costs.push(begun + PAUSE, ms(1)).is_some());
        // A clock that was set back does not stop the writes.
        assert!(costs.push(begun, ms(1)).is_some());
    }

    #[test]
    fn an_invalid_note_is_harmless() {
        let read = CostHistory::read("x 1:2:3 :: -1:5 99999999999999999999:1 7: 5:6");
        assert_eq!(read.last.len(), 1);
    }
}
