//! The bot's own challenges: runs the matchmaker on the slots that are left, and its effects.

use std::time::Instant;

use super::slots::OpponentKind;
use super::state::AccountState;
use crate::bot::event::{AccountEffect, AccountEvent, NotCreated};
use crate::bot::matchmaking::{
    ChallengeRequest, Directory, ManualChallenge, ManualChallengeError, MatchContext,
    MatchmakingEffect, all_keys,
};
use crate::bot::player_lists::PlayerLists;
use crate::bot::quota::{ChallengeTarget, Permit};
use crate::bot::settings::Settings;
use crate::bot::state::BotState;
use crate::lichess::{ColorChoice, UserId};

/// For an operator's commands.
impl AccountState {
    /// Queues a manual challenge: a profile of the config, or a clock such as `3+2`.
    ///
    /// # Errors
    /// Why it cannot be queued.
    pub fn challenge(
        &mut self,
        user: &str,
        what: Option<&str>,
        rated: Option<bool>,
        color: Option<ColorChoice>,
    ) -> Result<(), ManualChallengeError> {
        let profiles = &self.settings.matchmaking.profile;
        let order = ManualChallenge::new(user, what, profiles)?;
        self.matchmaker.order(order.rated(rated).with_color(color))
    }

    /// Challenges the last opponent again with colours reversed. Returns that opponent.
    ///
    /// # Errors
    /// When there is none, or the challenge cannot be queued.
    pub fn rechallenge(&mut self) -> Result<UserId, ManualChallengeError> {
        self.matchmaker.rechallenge()
    }

    /// Withdraws the open challenge and drops queued manual ones. Returns how many there were.
    pub fn recall(&mut self, now: Instant) -> (usize, Vec<AccountEffect>) {
        let (dropped, effects) = self.matchmaker.recall();
        let mut out = Vec::new();
        self.run_matchmaking(effects, now, &mut out);
        (dropped, out)
    }

    /// What the matchmaker does, in a few words.
    pub fn describe_matchmaking(&self) -> String {
        self.matchmaker.describe()
    }
}

impl AccountState {
    /// Passes an event to the matchmaker.
    pub(super) fn matchmake(
        &mut self,
        event: &AccountEvent,
        now: Instant,
        out: &mut Vec<AccountEffect>,
    ) {
        let held = self.is_asking();
        let (spare, taken) = (self.spare(), self.taken());
        let directory = OpponentDirectory {
            state: &self.state,
            lists: &self.lists,
            settings: &self.settings,
        };
        let context = MatchContext {
            now,
            moment: self.state.now(),
            spare,
            // Each joined arena may begin a game at any moment.
            games: taken.saturating_sub(usize::from(held)) + self.arenas.playing(),
            held,
            directory: &directory,
        };
        let effects = self.matchmaker.handle(event, &context);
        self.run_matchmaking(effects, now, out);
    }

    pub(super) fn run_matchmaking(
        &mut self,
        effects: Vec<MatchmakingEffect>,
        now: Instant,
        out: &mut Vec<AccountEffect>,
    ) {
        for effect in effects {
            match effect {
                MatchmakingEffect::List => out.push(AccountEffect::ListBots),
                MatchmakingEffect::Look(users) => out.push(AccountEffect::LookUp(users)),
                MatchmakingEffect::Find => out.push(AccountEffect::ListOutgoing),
                MatchmakingEffect::Create(request) => self.create(request, now, out),
                MatchmakingEffect::Held(id) => {
                    if let Some(key) = self.spent.replace(id.to_string()) {
                        self.state.challenge_made(&key, &id);
                    }
                    out.extend(self.held(id, now));
                }
                MatchmakingEffect::Withdraw => self.cancel_outgoing(out),
                MatchmakingEffect::Release => {
                    if let Some(key) = self.spent.take() {
                        self.state.release(&key);
                    }
                    out.extend(self.release(now));
                }
                MatchmakingEffect::Rest(rest) => {
                    self.state
                        .cool(&rest.key, rest.first, rest.most, Some(rest.reason));
                }
                MatchmakingEffect::Unasked(user, why) => {
                    tracing::warn!(%user, why, "operator's challenge not sent");
                    let text = format!("challenge {user}: not sent, {why}");
                    out.push(AccountEffect::Note(text));
                }
                MatchmakingEffect::Forgive(user, game) => {
                    // A game that began before the answer counts under its own id.
                    if let Some(key) = self.spent.take()
                        && game.is_some_and(|game| key != game.as_str())
                    {
                        self.state.release(&key);
                    }
                    for key in all_keys(&user) {
                        self.state.clear_cooldown(&key);
                    }
                }
            }
        }
    }

    /// Takes a slot and the quota for a challenge; without a slot it is not created.
    fn create(
        &mut self,
        request: Box<ChallengeRequest>,
        now: Instant,
        out: &mut Vec<AccountEffect>,
    ) {
        let kind = match request.target {
            ChallengeTarget::Bot => OpponentKind::Bot,
            ChallengeTarget::Human | ChallengeTarget::Follower => OpponentKind::Human,
        };
        if self.hold(&request.to, kind, now) {
            let key = self.state.hold_challenge(request.target, &request.to);
            self.spent = Some(key);
            out.push(AccountEffect::Create(request));
        } else {
            let refused = AccountEvent::NotCreated(NotCreated::NoSeat);
            self.matchmake(&refused, now, out);
        }
    }
}

/// Reads lists, bot state and quota.
struct OpponentDirectory<'a> {
    state: &'a BotState,
    lists: &'a PlayerLists,
    settings: &'a Settings,
}

impl Directory for OpponentDirectory<'_> {
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
