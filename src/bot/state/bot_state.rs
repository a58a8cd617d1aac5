//! The shared handle of the bot's persistent state.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

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

/// How long a game's chat and takeback state is kept.
const GAMES_KEPT: Duration = Duration::from_secs(30 * 24 * 3600);
/// How long an old cooldown affects the length of the next one.
const COOLDOWNS_KEPT: Duration = Duration::from_secs(14 * 24 * 3600);
/// How often old state is pruned.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// A clock that goes back by less is being slewed, not set.
const STEERED: Duration = Duration::from_secs(2);
/// Note key: when the quota began.
const SINCE: &str = "ledger.since";

/// Returns the wall-clock time.
pub type WallClock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// The operator's rules that concern the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StateRules {
    pub quota: QuotaRules,
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

/// The bot's persistent state. Clones share it.
#[derive(Clone)]
pub struct BotState {
    inner: Arc<Mutex<Inner>>,
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
    pub fn with_clock(store: Store, kept: State, rules: StateRules, clock: WallClock) -> Self {
        let now = Timestamp::from(clock());
        let inner = Inner::new(kept, rules, now);
        let state = Self {
            inner: Arc::new(Mutex::new(inner)),
            store,
            clock,
        };
        // Handles a clock that was set back between runs, and stores the start of a new quota.
        state.change(|inner, now, changes| {
            if !inner.notes.contains_key(SINCE) {
                let since = now.as_millis().to_string();
                inner.notes.insert(SINCE.into(), since.clone());
                changes.push(Change::Note(SINCE.into(), Some(since)));
            }
        });
        state
    }

    pub fn set_rules(&self, rules: StateRules) {
        let mut inner = self.lock();
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

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&Inner, Timestamp) -> T) -> T {
        self.change(|inner, now, _| look(inner, now))
    }

    /// Changes the state and persists the change soon.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut Inner, Timestamp, &mut Vec<Change>) -> T,
    ) -> T {
        let now = self.now();
        let mut inner = self.lock();
        let mut changes = inner.notice(now);
        let outcome = change(&mut inner, now, &mut changes);
        // Queued under the lock, so that the order on disk is the order here.
        self.keep(changes);
        outcome
    }

    fn keep(&self, changes: Vec<Change>) {
        if !changes.is_empty() {
            self.store.write_all(changes);
        }
    }

    pub fn opponent(&self, id: &UserId) -> OpponentRecord {
        self.look(|inner, now| inner.opponents.record(id, now))
    }

    /// Number of `opponent`'s challenges accepted within the given time, up to a week.
    pub fn accepted_within(&self, opponent: &UserId, within: Duration) -> u32 {
        let kind = InteractionKind::Accepted;
        self.look(|inner, now| inner.opponents.met(opponent, kind, within, now))
    }

    /// Games started in the last 24 hours, with bots or with humans.
    pub fn games_today(&self, with_bots: bool) -> u32 {
        self.look(|inner, now| inner.opponents.games_today(with_bots, now))
    }

    /// How long the bot has known that a game is in progress.
    pub fn known_for(&self, game: &GameId) -> Option<Duration> {
        self.look(|inner, now| Some(now.since(inner.opponents.begun(game)?)))
    }

    /// Records an accepted challenge.
    pub fn accepted(&self, challenge: &ChallengeId, opponent: &UserId, is_bot: bool) {
        self.meet(
            challenge.as_str(),
            InteractionKind::Accepted,
            opponent,
            is_bot,
        );
    }

    /// Records that an opponent never made the first move of a game.
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

    /// Why rated games with this opponent are paused, if they are; without an opponent, why all
    /// rated games are.
    pub fn rated_rest(&self, opponent: Option<&UserId>) -> Option<RatedPause> {
        self.look(|inner, now| inner.guard.rest(opponent, now).cloned())
    }

    /// Every pause set by the rating guard.
    pub fn rated_rests(&self) -> Vec<(GuardScope, RatedPause)> {
        self.look(|inner, now| inner.guard.rests(now))
    }

    /// The chat and takeback state of a game.
    pub fn game(&self, id: &GameId) -> GameMemory {
        let inner = self.lock();
        let game = inner.games.get(id).map(|(_, game)| game.clone());
        game.unwrap_or_default()
    }

    /// Updates the chat and takeback state of a game.
    pub fn update_game(&self, id: &GameId, update: impl FnOnce(&mut GameMemory)) {
        self.change(|inner, now, changes| changes.push(inner.update_game(id, now, update)));
    }

    /// The last cooldown under a key, over or not: its failures count for the next one.
    pub fn cooldown(&self, key: &str) -> Option<Cooldown> {
        self.look(|inner, _| inner.cooldowns.get(key).cloned())
    }

    /// When the current cooldown of a key ends.
    pub fn resting(&self, key: &str) -> Option<Timestamp> {
        self.look(|inner, now| {
            let span = inner.cooldowns.get(key)?.span;
            span.holds(now).then_some(span.until)
        })
    }

    /// All current cooldowns whose key has this prefix.
    pub fn cooldowns(&self, prefix: &str) -> Vec<(String, Cooldown)> {
        self.look(|inner, now| {
            let keys = inner.cooldowns.range(prefix.to_owned()..);
            keys.take_while(|(key, _)| key.starts_with(prefix))
                .filter(|(_, cooldown)| cooldown.span.holds(now))
                .map(|(key, cooldown)| (key.clone(), cooldown.clone()))
                .collect()
        })
    }

    /// Starts a cooldown of `first`, doubled for each failure in a row up to `most`.
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

    /// Ends a cooldown and forgets its failures.
    pub fn clear_cooldown(&self, key: &str) {
        self.change(|inner, _, changes| {
            if inner.cooldowns.remove(key).is_some() {
                changes.push(Change::Cooldown(key.to_owned(), None));
            }
        });
    }

    pub fn note(&self, key: &str) -> Option<String> {
        self.lock().notes.get(key).cloned()
    }

    /// Sets or removes the note under a key.
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
