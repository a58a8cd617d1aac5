//! The handle of what the bot remembers.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::durable_write::DurableWrite;
use super::latency_history::{self, LatencyHistory};
use super::opponents::{OpponentRecord, Opponents};
use crate::bot::quota::{Quota, QuotaRules};
use crate::bot::rating_guard::{Pause, RatingGuard, RatingGuardRules};
use crate::bot::settings::Settings;
use crate::lichess::{ChallengeId, GameId, UserId};
use crate::store::{
    Change, Cooldown, FinishedGame, GameMemory, GuardScope, Interaction, InteractionKind,
    RatedPause, State, Store, TimeSpan, Timestamp,
};

/// How long it is remembered what was said in a game.
const GAMES_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long an old rest counts for the length of the next one.
const COOLDOWNS_KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
/// How often what is old is looked for.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// A clock that goes back by less is not set, it is steered.
const STEERED: Duration = Duration::from_secs(2);
/// The note of when the quota was begun.
const SINCE: &str = "ledger.since";

/// Tells the time of the calendar.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The operator's rules, as far as they are the memory's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateRules {
    pub quota: QuotaRules,
    /// Of the rating guard.
    pub guard: RatingGuardRules,
}

impl From<&Settings> for StateRules {
    fn from(settings: &Settings) -> Self {
        let (limits, guard) = (&settings.limits, &settings.guard);
        Self {
            quota: QuotaRules {
                bot_games: limits.bot_games,
                challenge_credits: limits.challenge_credits,
                incoming_share: limits.incoming_share,
            },
            guard: RatingGuardRules {
                opponent_losses: guard.opponent_losses,
                losses: guard.losses,
                points: guard.points,
                rest: guard.rest,
            },
        }
    }
}

/// What the bot remembers. Clones share it.
#[derive(Clone)]
pub struct BotState {
    inner: Arc<Mutex<Inner>>,
    store: Store,
    clock: WallClock,
}

impl fmt::Debug for BotState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").finish_non_exhaustive()
    }
}

/// What stands behind the lock.
pub(super) struct Inner {
    pub(super) quota: Quota,
    pub(super) opponents: Opponents,
    guard: RatingGuard,
    cooldowns: BTreeMap<String, Cooldown>,
    games: HashMap<GameId, (Timestamp, GameMemory)>,
    pub(super) notes: BTreeMap<String, String>,
    pub(super) costs: LatencyHistory,
    newest: Timestamp,
    pruned: Timestamp,
    pub(super) named: u64,
}

impl BotState {
    /// The memory of an earlier run, written through to `store`.
    pub fn new(store: Store, kept: State, rules: StateRules) -> Self {
        Self::with_clock(store, kept, rules, Arc::new(SystemTime::now))
    }

    /// A memory that ends with this run.
    pub fn nowhere() -> Self {
        let (store, kept) = Store::nowhere();
        Self::new(store, kept, StateRules::default())
    }

    /// A memory that is told the time.
    pub fn with_clock(store: Store, kept: State, rules: StateRules, clock: WallClock) -> Self {
        let now = Timestamp::from(clock());
        let inner = Inner::new(kept, rules, now);
        let state = Self {
            inner: Arc::new(Mutex::new(inner)),
            store,
            clock,
        };
        // Sees to a clock that was set back while nothing ran, and writes down a new quota's day.
        state.change(|inner, now, changes| {
            if !inner.notes.contains_key(SINCE) {
                let since = now.as_millis().to_string();
                inner.notes.insert(SINCE.into(), since.clone());
                changes.push(Change::Note(SINCE.into(), Some(since)));
            }
        });
        state
    }

    /// Other rules from now on.
    pub fn set_rules(&self, rules: StateRules) {
        let mut inner = self.lock();
        inner.quota.set_rules(rules.quota);
        inner.guard.set_rules(rules.guard);
    }

    pub fn now(&self) -> Timestamp {
        Timestamp::from((self.clock)())
    }

    /// Where all this is kept.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Before the program ends: done once everything is on disk, or cannot get there.
    pub async fn settle(&self) {
        if let Err(error) = self.store.flush().await {
            tracing::error!(%error, "the latest state changes are lost");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&Inner, Timestamp) -> T) -> T {
        self.change(|inner, now, _| look(inner, now))
    }

    /// Changes something, and keeps the change soon.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Inner, Timestamp, &mut Vec<Change>) -> T,
    ) -> T {
        let now = self.now();
        let mut inner = self.lock();
        let mut changes = inner.notice(now);
        let outcome = change(&mut inner, now, &mut changes);
        // Handed over under the lock: the order on disk is the order here.
        self.keep(changes);
        outcome
    }

    /// Changes something; what comes back is done once the change is on disk.
    pub(super) fn write_all_through(
        &self,
        change: impl FnOnce(&mut Inner, Timestamp, &mut Vec<Change>),
    ) -> DurableWrite {
        let now = self.now();
        let mut inner = self.lock();
        let mut changes = inner.notice(now);
        change(&mut inner, now, &mut changes);
        // The last one waits for all: they go to disk together or in this order.
        let Some(last) = changes.pop() else {
            return DurableWrite::none();
        };
        self.keep(changes);
        let writing = self.store.write_through(last);
        drop(inner);
        DurableWrite::of(writing)
    }

    fn keep(&self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.store.write_all(changes);
        }
    }

    /// What is known of an opponent.
    pub fn opponent(&self, id: &UserId) -> OpponentRecord {
        self.look(|inner, now| inner.opponents.record(id, now))
    }

    /// How many challenges of `opponent` were accepted within a time of up to a week.
    pub fn accepted_within(&self, opponent: &UserId, within: Duration) -> u32 {
        let kind = InteractionKind::Accepted;
        self.look(|inner, now| inner.opponents.met(opponent, kind, within, now))
    }

    /// Games begun in the last 24 hours with bots, or with people.
    pub fn games_today(&self, with_bots: bool) -> u32 {
        self.look(|inner, now| inner.opponents.games_today(with_bots, now))
    }

    /// For how long it has been known that a game runs.
    pub fn known_for(&self, game: &GameId) -> Option<Duration> {
        self.look(|inner, now| Some(now.since(inner.opponents.begun(game)?)))
    }

    /// A challenge was accepted.
    pub fn accepted(&self, challenge: &ChallengeId, opponent: &UserId, is_bot: bool) {
        self.meet(
            challenge.as_str(),
            InteractionKind::Accepted,
            opponent,
            is_bot,
        );
    }

    /// An opponent never made the first move of a game.
    pub fn no_show(&self, game: &GameId, opponent: &UserId, is_bot: bool) {
        self.meet(game.as_str(), InteractionKind::NoShow, opponent, is_bot);
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

    /// A game is over. Returns where the rating guard steps in.
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

    /// The server has told what a rated game did to our rating.
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

    /// Why no rated game may be played with this opponent, if none may; without one, whether none
    /// may be played at all.
    pub fn rated_rest(&self, opponent: Option<&UserId>) -> Option<RatedPause> {
        self.look(|inner, now| inner.guard.rest(opponent, now).cloned())
    }

    /// Every rest of the rating guard.
    pub fn rated_rests(&self) -> Vec<(GuardScope, RatedPause)> {
        self.look(|inner, now| inner.guard.rests(now))
    }

    /// What was said and granted in a game.
    pub fn game(&self, id: &GameId) -> GameMemory {
        let inner = self.lock();
        let game = inner.games.get(id).map(|(_, game)| game.clone());
        game.unwrap_or_default()
    }

    /// Changes what was said and granted in a game.
    pub fn update_game(&self, id: &GameId, update: impl FnOnce(&mut GameMemory)) {
        self.change(|inner, now, changes| changes.push(inner.update_game(id, now, update)));
    }

    /// The same; what comes back is done once it is on disk.
    pub fn update_game_through(
        &self,
        id: &GameId,
        update: impl FnOnce(&mut GameMemory),
    ) -> DurableWrite {
        self.write_all_through(|inner, now, changes| {
            changes.push(inner.update_game(id, now, update));
        })
    }

    /// The last rest under a key, over or not: its failures count for the next one.
    pub fn cooldown(&self, key: &str) -> Option<Cooldown> {
        self.look(|inner, _| inner.cooldowns.get(key).cloned())
    }

    /// Until when a key rests, if it does.
    pub fn resting(&self, key: &str) -> Option<Timestamp> {
        self.look(|inner, now| {
            let span = inner.cooldowns.get(key)?.span;
            span.holds(now).then_some(span.until)
        })
    }

    /// All rests under way whose key begins so.
    pub fn cooldowns(&self, prefix: &str) -> Vec<(String, Cooldown)> {
        self.look(|inner, now| {
            let keys = inner.cooldowns.range(prefix.to_owned()..);
            keys.take_while(|(key, _)| key.starts_with(prefix))
                .filter(|(_, cooldown)| cooldown.span.holds(now))
                .map(|(key, cooldown)| (key.clone(), cooldown.clone()))
                .collect()
        })
    }

    /// Lets a key rest: `first` the first time, doubled for each failure in a row, at most `most`.
    pub fn cool(
        &self,
        key: &str,
        first: Duration,
        most: Duration,
        reason: Option<&str>,
    ) -> Cooldown {
        self.change(|inner, now, changes| {
            let before = inner.cooldowns.get(key).map_or(0, |rest| rest.failures);
            let doubled = first.saturating_mul(2_u32.saturating_pow(before.min(24)));
            let cooldown = Cooldown {
                span: TimeSpan::new(now, doubled.min(most)),
                failures: before.saturating_add(1),
                reason: reason.map(str::to_owned),
            };
            inner.cooldowns.insert(key.to_owned(), cooldown.clone());
            changes.push(Change::Cooldown(key.to_owned(), Some(cooldown.clone())));
            cooldown
        })
    }

    /// Ends a rest and forgets its failures.
    pub fn clear_cooldown(&self, key: &str) {
        self.change(|inner, _, changes| {
            if inner.cooldowns.remove(key).is_some() {
                changes.push(Change::Cooldown(key.to_owned(), None));
            }
        });
    }

    /// A note under a key.
    pub fn note(&self, key: &str) -> Option<String> {
        self.lock().notes.get(key).cloned()
    }

    /// Leaves a note under a key, or takes it away.
    pub fn set_note(&self, key: &str, note: Option<String>) {
        self.change(|inner, _, changes| {
            let before = match note.clone() {
                Some(note) => inner.notes.insert(key.to_owned(), note),
                None => inner.notes.remove(key),
            };
            if before != note {
                changes.push(Change::Note(key.to_owned(), note));
            }
        });
    }
}

impl Inner {
    fn new(kept: State, rules: StateRules, now: Timestamp) -> Self {
        let notes: BTreeMap<_, _> = kept.notes.iter().cloned().collect();
        let since = notes.get(SINCE).and_then(|note| note.parse().ok());
        let since = since.map_or(now, Timestamp::from_millis);
        let costs = notes
            .get(latency_history::NOTE)
            .map(|note| LatencyHistory::read(note));
        let opponents = Opponents::new(&kept);
        let quota = Quota::new(rules.quota, kept.spends, &kept.limits, since);
        let rests = kept.cooldowns.iter().map(|(_, rest)| rest.span.at);
        let newest = rests.chain([opponents.latest()]).max().unwrap_or_default();
        Self {
            quota,
            guard: RatingGuard::new(rules.guard, kept.guards, &kept.results),
            opponents,
            cooldowns: kept.cooldowns.into_iter().collect(),
            games: kept
                .games
                .into_iter()
                .map(|(id, at, game)| (id, (at, game)))
                .collect(),
            notes,
            costs: costs.unwrap_or_default(),
            newest,
            pruned: Timestamp::default(),
            named: 0,
        }
    }

    /// Before anything is looked up or changed: sees to the clock and to what is old.
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
        self.games.retain(|_, (at, _)| *at + GAMES_KEPT > now);
        self.cooldowns
            .retain(|_, rest| rest.span.until + COOLDOWNS_KEPT > now);
    }

    fn update_game(
        &mut self,
        id: &GameId,
        now: Timestamp,
        update: impl FnOnce(&mut GameMemory),
    ) -> Change {
        let (at, game) = self.games.entry(id.clone()).or_default();
        *at = now;
        update(game);
        Change::Game(id.clone(), now, game.clone())
    }
}
