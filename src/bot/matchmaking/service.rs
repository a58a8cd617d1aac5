//! The matchmaking service: joins rules, API calls, the account state's slot and the quota.
//!
//! The event loop passes it events and runs the account effects it returns. It waits for nothing
//! but its own calls.

use std::sync::Arc;
use std::time::Instant;

use super::calls::MatchmakingCalls;
use super::challenge_request::ChallengeRequest;
use super::cooldown::all_keys;
use super::event::{Directory, MatchContext, MatchmakingEffect, MatchmakingEvent};
use super::manual_challenge::{ManualChallenge, ManualChallengeError};
use super::matchmaker::Matchmaker;
use crate::bot::account::{AccountEffect, AccountEvent, AccountState, OpponentKind};
use crate::bot::event_log::EventLog;
use crate::bot::player_lists::PlayerLists;
use crate::bot::quota::{ChallengeTarget, Permit};
use crate::bot::settings::Settings;
use crate::bot::state::BotState;
use crate::lichess::{Client, ColorChoice, UserId};

/// Finds games, with the data to choose opponents.
pub(in crate::bot) struct MatchmakingService {
    matchmaker: Matchmaker,
    calls: MatchmakingCalls,
    directory: OpponentDirectory,
    event_log: EventLog,
    /// Key of the open challenge in the quota.
    spent: Option<String>,
    /// Joined arenas: each may begin a game at any moment.
    arenas: usize,
}

impl MatchmakingService {
    pub(in crate::bot) fn new(
        client: Client,
        state: BotState,
        me: UserId,
        settings: Arc<Settings>,
        lists: Arc<PlayerLists>,
        event_log: EventLog,
    ) -> Self {
        let rules = Arc::new(settings.matchmaking.clone());
        let matchmaker = Matchmaker::new(me.clone(), rules, fastrand::u64(..), Instant::now());
        Self {
            matchmaker,
            calls: MatchmakingCalls::new(client, state.clone(), me),
            directory: OpponentDirectory {
                state,
                lists,
                settings,
            },
            event_log,
            spent: None,
            arenas: 0,
        }
    }

    pub(in crate::bot) fn set_arenas(&mut self, arenas: usize) {
        self.arenas = arenas;
    }

    pub(in crate::bot) fn set_lists(&mut self, lists: Arc<PlayerLists>) {
        self.directory.lists = lists;
    }

    pub(in crate::bot) fn set_settings(&mut self, settings: Arc<Settings>) {
        self.matchmaker
            .set_rules(Arc::new(settings.matchmaking.clone()));
        self.directory.settings = settings;
    }

    /// Whether new challenges are allowed; if not, withdraws the open one.
    pub(in crate::bot) fn set_open(
        &mut self,
        open: bool,
        account: &mut AccountState,
    ) -> Vec<AccountEffect> {
        let effects = self.matchmaker.set_open(open);
        self.run_effect(effects, account)
    }

    /// Queues a manual challenge: a profile of the config, or a clock such as `3+2`.
    ///
    /// # Errors
    /// Why it cannot be queued.
    pub(in crate::bot) fn challenge(
        &mut self,
        user: &str,
        what: Option<&str>,
        rated: Option<bool>,
        color: Option<ColorChoice>,
    ) -> Result<(), ManualChallengeError> {
        let profiles = &self.directory.settings.matchmaking.profile;
        let order = ManualChallenge::new(user, what, profiles)?;
        self.matchmaker.order(order.rated(rated).with_color(color))
    }

    /// Challenges the last opponent again with colours reversed. Returns that opponent.
    ///
    /// # Errors
    /// When there is none, or the challenge cannot be queued.
    pub(in crate::bot) fn rechallenge(&mut self) -> Result<UserId, ManualChallengeError> {
        self.matchmaker.rechallenge()
    }

    /// Withdraws the open challenge and drops queued manual ones. Returns how many there were, and
    /// effects for the account's API calls.
    pub(in crate::bot) fn recall(
        &mut self,
        account: &mut AccountState,
    ) -> (usize, Vec<AccountEffect>) {
        let (dropped, effects) = self.matchmaker.recall();
        (dropped, self.run_effect(effects, account))
    }

    /// Current activity, in a few words.
    pub(in crate::bot) fn describe(&self) -> String {
        self.matchmaker.describe()
    }

    /// When the next [`MatchmakingEvent::Tick`] is due.
    pub(in crate::bot) fn next_timeout(&self) -> Option<Instant> {
        self.matchmaker.next_timeout()
    }

    /// The next outcome of its calls; `None` while none is in progress. Cancellation safe.
    pub(in crate::bot) async fn next(&mut self) -> Option<MatchmakingEvent> {
        self.calls.next().await
    }

    /// Converts an account event for matchmaking.
    pub(in crate::bot) fn handle_event(news: &AccountEvent) -> MatchmakingEvent {
        match news {
            AccountEvent::Event(event) => MatchmakingEvent::Event(event.clone()),
            AccountEvent::Left { .. } => MatchmakingEvent::GameOver,
            _ => MatchmakingEvent::Tick,
        }
    }

    /// Handles an event, after the account state has. Returns effects for the account's API calls.
    pub(in crate::bot) fn handle(
        &mut self,
        received: MatchmakingEvent,
        account: &mut AccountState,
    ) -> Vec<AccountEffect> {
        let now = Instant::now();
        let held = account.is_asking();
        let around = MatchContext {
            now,
            moment: self.directory.state.now(),
            spare: account.spare(),
            games: account.taken().saturating_sub(usize::from(held)) + self.arenas,
            held,
            directory: &self.directory,
        };
        let effects = self.matchmaker.handle(received, &around);
        self.run_effect(effects, account)
    }

    fn run_effect(
        &mut self,
        effects: Vec<MatchmakingEffect>,
        account: &mut AccountState,
    ) -> Vec<AccountEffect> {
        let state = self.directory.state.clone();
        let mut api_queue = Vec::new();
        for effect in effects {
            match effect {
                MatchmakingEffect::List => self.calls.list(),
                MatchmakingEffect::Look(users) => self.calls.look(users),
                MatchmakingEffect::Create(offer) => self.create(*offer, account),
                MatchmakingEffect::Find => self.calls.find(),
                MatchmakingEffect::Held(id) => {
                    if let Some(key) = self.spent.replace(id.to_string()) {
                        state.challenge_made(&key, &id);
                    }
                    api_queue.extend(account.held(id, Instant::now()));
                }
                MatchmakingEffect::Withdraw => api_queue.extend(account.withdraw()),
                MatchmakingEffect::Release => {
                    if let Some(key) = self.spent.take() {
                        state.release(&key);
                    }
                    api_queue.extend(account.release(Instant::now()));
                }
                MatchmakingEffect::Rest(rest) => {
                    state.cool(&rest.key, rest.first, rest.most, Some(rest.reason));
                }
                MatchmakingEffect::Unasked(user, why) => {
                    tracing::warn!(%user, why, "operator's challenge not sent");
                    let text = format!("challenge {user}: not sent, {why}");
                    self.event_log.note("operator", text, None);
                }
                MatchmakingEffect::Forgive(user, game) => {
                    // A game that began before the answer counts under its own id.
                    if let Some(key) = self.spent.take()
                        && game.is_some_and(|game| key != game.as_str())
                    {
                        state.release(&key);
                    }
                    for key in all_keys(&user) {
                        state.clear_cooldown(&key);
                    }
                }
            }
        }
        api_queue
    }

    fn create(&mut self, offer: ChallengeRequest, account: &mut AccountState) {
        let kind = match offer.target {
            ChallengeTarget::Bot => OpponentKind::Bot,
            ChallengeTarget::Human | ChallengeTarget::Follower => OpponentKind::Human,
        };
        if !account.hold(&offer.to, kind, Instant::now()) {
            self.calls.no_seat();
            return;
        }
        let state = &self.directory.state;
        let (key, written) = state.hold_challenge(offer.target, &offer.to);
        self.spent = Some(key);
        self.calls.create(offer, written);
    }
}

/// Reads lists, bot state and quota.
struct OpponentDirectory {
    state: BotState,
    lists: Arc<PlayerLists>,
    settings: Arc<Settings>,
}

impl Directory for OpponentDirectory {
    fn rests(&self, key: &str) -> bool {
        self.state.resting(key).is_some()
    }

    fn avoids(&self, user: &UserId) -> bool {
        if self.lists.avoided_by(user).is_some() {
            return true;
        }
        let known = self.state.opponent(user);
        let absent = known.no_shows_today >= self.settings.game.abort_repeats;
        let spent = known.spent_until.is_some_and(|at| at > self.state.now());
        let enough = known.games_today >= self.settings.challenge.bots.per_day;
        absent || spent || enough
    }

    fn may_rate(&self, user: &UserId) -> bool {
        self.state.rated_rest(Some(user)).is_none()
    }

    fn may_challenge(&self, target: ChallengeTarget) -> Permit {
        self.state.may_challenge(target)
    }

    fn budget(&self) -> u32 {
        self.state.budget().outgoing_share
    }
}
