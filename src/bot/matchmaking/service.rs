//! Matchmaking at work: the rules, the calls, the lobby's seat and the budget joined together.
//!
//! The porter tells it what happens and carries out what the lobby wants done because of it. It
//! never waits for anything but its own calls.

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

/// Looks for games, and knows whom to ask about what.
pub(in crate::bot) struct MatchmakingService {
    maker: Matchmaker,
    envoy: MatchmakingCalls,
    society: OpponentDirectory,
    chronicle: EventLog,
    /// Under which name the open challenge stands in the ledger.
    spent: Option<String>,
    /// Arenas we are in: each may begin a game at any moment.
    arenas: usize,
}

impl MatchmakingService {
    pub(in crate::bot) fn new(
        client: Client,
        memory: BotState,
        me: UserId,
        settings: Arc<Settings>,
        lists: Arc<PlayerLists>,
        chronicle: EventLog,
    ) -> Self {
        let rules = Arc::new(settings.matchmaking.clone());
        let maker = Matchmaker::new(me.clone(), rules, fastrand::u64(..), Instant::now());
        Self {
            maker,
            envoy: MatchmakingCalls::new(client, memory.clone(), me),
            society: OpponentDirectory {
                memory,
                lists,
                settings,
            },
            chronicle,
            spent: None,
            arenas: 0,
        }
    }

    /// How many arenas we are in.
    pub(in crate::bot) fn set_arenas(&mut self, arenas: usize) {
        self.arenas = arenas;
    }

    /// Other names on the lists.
    pub(in crate::bot) fn set_lists(&mut self, lists: Arc<PlayerLists>) {
        self.society.lists = lists;
    }

    /// Other rules from now on.
    pub(in crate::bot) fn set_settings(&mut self, settings: Arc<Settings>) {
        self.maker.set_rules(Arc::new(settings.matchmaking.clone()));
        self.society.settings = settings;
    }

    /// Whether anything new may be asked for; what is open is withdrawn when it may not.
    pub(in crate::bot) fn set_open(
        &mut self,
        open: bool,
        lobby: &mut AccountState,
    ) -> Vec<AccountEffect> {
        let duties = self.maker.set_open(open);
        self.carry_out(duties, lobby)
    }

    /// Challenges somebody because the operator says so: a profile of the config, or a clock such
    /// as `3+2`.
    ///
    /// # Errors
    /// When the order cannot be taken; says why.
    pub(in crate::bot) fn challenge(
        &mut self,
        user: &str,
        what: Option<&str>,
        rated: Option<bool>,
        color: Option<ColorChoice>,
    ) -> Result<(), ManualChallengeError> {
        let profiles = &self.society.settings.matchmaking.profile;
        let order = ManualChallenge::new(user, what, profiles)?;
        self.maker.order(order.rated(rated).with_color(color))
    }

    /// Challenges the last opponent again, colours turned round. Says who that is.
    ///
    /// # Errors
    /// When there is none, or the order cannot be taken.
    pub(in crate::bot) fn rechallenge(&mut self) -> Result<UserId, ManualChallengeError> {
        self.maker.rechallenge()
    }

    /// Takes back what is out, and drops what the operator asked for and still waits. Says how much
    /// that was; what comes back is for the lobby's errands.
    pub(in crate::bot) fn recall(
        &mut self,
        lobby: &mut AccountState,
    ) -> (usize, Vec<AccountEffect>) {
        let (dropped, duties) = self.maker.recall();
        (dropped, self.carry_out(duties, lobby))
    }

    /// What it is doing, in a few words.
    pub(in crate::bot) fn describe(&self) -> String {
        self.maker.describe()
    }

    /// When [`Heard::Tick`] is wanted.
    pub(in crate::bot) fn wake_at(&self) -> Option<Instant> {
        self.maker.wake_at()
    }

    /// What comes of its calls; nothing while none is under way. May be dropped at any await.
    pub(in crate::bot) async fn next(&mut self) -> Option<MatchmakingEvent> {
        self.envoy.next().await
    }

    /// What the lobby's news are to matchmaking.
    pub(in crate::bot) fn heard(news: &AccountEvent) -> MatchmakingEvent {
        match news {
            AccountEvent::Event(event) => MatchmakingEvent::Event(event.clone()),
            AccountEvent::Left { .. } => MatchmakingEvent::GameOver,
            _ => MatchmakingEvent::Tick,
        }
    }

    /// Takes in what happened, after the lobby has. What comes back is for the lobby's errands.
    pub(in crate::bot) fn hear(
        &mut self,
        heard: MatchmakingEvent,
        lobby: &mut AccountState,
    ) -> Vec<AccountEffect> {
        let now = Instant::now();
        let held = lobby.is_asking();
        let around = MatchContext {
            now,
            moment: self.society.memory.now(),
            spare: lobby.spare(),
            games: lobby.taken().saturating_sub(usize::from(held)) + self.arenas,
            held,
            folk: &self.society,
        };
        let duties = self.maker.hear(heard, &around);
        self.carry_out(duties, lobby)
    }

    fn carry_out(
        &mut self,
        duties: Vec<MatchmakingEffect>,
        lobby: &mut AccountState,
    ) -> Vec<AccountEffect> {
        let memory = self.society.memory.clone();
        let mut errands = Vec::new();
        for duty in duties {
            match duty {
                MatchmakingEffect::List => self.envoy.list(),
                MatchmakingEffect::Look(users) => self.envoy.look(users),
                MatchmakingEffect::Create(offer) => self.create(*offer, lobby),
                MatchmakingEffect::Find => self.envoy.find(),
                MatchmakingEffect::Held(id) => {
                    if let Some(key) = self.spent.replace(id.to_string()) {
                        memory.challenge_made(&key, &id);
                    }
                    errands.extend(lobby.held(id, Instant::now()));
                }
                MatchmakingEffect::Withdraw => errands.extend(lobby.withdraw()),
                MatchmakingEffect::Release => {
                    if let Some(key) = self.spent.take() {
                        memory.release(&key);
                    }
                    errands.extend(lobby.release(Instant::now()));
                }
                MatchmakingEffect::Rest(rest) => {
                    memory.cool(&rest.key, rest.first, rest.most, Some(rest.reason));
                }
                MatchmakingEffect::Unasked(user, why) => {
                    tracing::warn!(%user, why, "not challenged, though the operator wants it");
                    let text = format!("challenge {user}: not made, {why}");
                    self.chronicle.note("operator", text, None);
                }
                MatchmakingEffect::Forgive(user, game) => {
                    // A game that was quicker than the answer counts under its own name.
                    if let Some(key) = self.spent.take()
                        && game.is_some_and(|game| key != game.as_str())
                    {
                        memory.release(&key);
                    }
                    for key in all_keys(&user) {
                        memory.warm_up(&key);
                    }
                }
            }
        }
        errands
    }

    fn create(&mut self, offer: ChallengeRequest, lobby: &mut AccountState) {
        let kind = match offer.target {
            ChallengeTarget::Bot => OpponentKind::Bot,
            ChallengeTarget::Human | ChallengeTarget::Follower => OpponentKind::Human,
        };
        if !lobby.hold(&offer.to, kind, Instant::now()) {
            self.envoy.no_seat();
            return;
        }
        let memory = &self.society.memory;
        let (key, written) = memory.hold_challenge(offer.target, &offer.to);
        self.spent = Some(key);
        self.envoy.create(offer, written);
    }
}

/// What lists, memory and ledger say.
struct OpponentDirectory {
    memory: BotState,
    lists: Arc<PlayerLists>,
    settings: Arc<Settings>,
}

impl Directory for OpponentDirectory {
    fn rests(&self, key: &str) -> bool {
        self.memory.resting(key).is_some()
    }

    fn avoids(&self, user: &UserId) -> bool {
        if self.lists.avoided_by(user).is_some() {
            return true;
        }
        let known = self.memory.opponent(user);
        let absent = known.no_shows_today >= self.settings.game.abort_repeats;
        let spent = known.spent_until.is_some_and(|at| at > self.memory.now());
        let enough = known.games_today >= self.settings.challenge.bots.per_day;
        absent || spent || enough
    }

    fn may_rate(&self, user: &UserId) -> bool {
        self.memory.rated_rest(Some(user)).is_none()
    }

    fn may_challenge(&self, target: ChallengeTarget) -> Permit {
        self.memory.may_challenge(target)
    }

    fn budget(&self) -> u32 {
        self.memory.budget().outgoing_share
    }
}
