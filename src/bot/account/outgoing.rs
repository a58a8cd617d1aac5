//! The bot's only open challenge. Runs the matchmaker on the slots that are left, and its effects.
//!
//! It holds a slot from before it is sent until its game begins or the challenge is known to be
//! gone. Incoming challenges take precedence: if one lacks only this slot, the bot withdraws its
//! own challenge first and then accepts the other.

use std::time::Instant;

use super::AccountState;
use super::correspondence::CorrespondenceGames;
use super::slots::{ActiveGames, OutgoingChallenge, SlotUsage};
use crate::bot::account_event::{AccountEffect, AccountEvent, NotCreated};
use crate::bot::game::CallOutcome;
use crate::bot::matchmaking::{
    ChallengeRequest, Directory, ManualChallengeError, MatchContext, MatchmakingEffect, Series,
    refusals,
};
use crate::bot::player_lists::PlayerLists;
use crate::bot::quota::{OpponentKind, Permit};
use crate::bot::settings::Settings;
use crate::bot::state::BotState;
use crate::lichess::{Challenge, ChallengeId, ColorChoice, GameInfo, UserId};

/// How often to send a cancellation that got no answer.
const MAX_TRIES: u32 = 4;

impl OutgoingChallenge {
    /// Withdraws it, if its id is known and no withdrawal is in progress.
    fn cancel(&mut self) -> Option<AccountEffect> {
        let id = self.id.clone().filter(|_| !self.cancelling)?;
        self.cancelling = true;
        self.tries += 1;
        Some(AccountEffect::Cancel(id))
    }
}

/// Calls from outside about the bot's own challenge.
impl AccountState {
    /// Slots available to the bot's own challenge of this kind: none while a challenge is queued or one
    /// of the bot's is open, and to a bot never a slot reserved for humans.
    pub fn spare(&self, kind: OpponentKind) -> usize {
        if self.is_closed() || self.outgoing.is_some() || !self.queue.is_empty() {
            return 0;
        }
        self.plan().room(kind, self.tally())
    }

    /// Takes a slot for a challenge about to be sent. Returns whether one was free.
    pub fn hold(&mut self, opponent: &UserId, kind: OpponentKind, now: Instant) -> bool {
        if self.spare(kind) == 0 {
            return false;
        }
        self.outgoing = Some(OutgoingChallenge {
            opponent: opponent.clone(),
            kind,
            id: None,
            game: None,
            expires: now + self.timing.hold,
            unwanted: false,
            cancelling: false,
            tries: 0,
            again: None,
        });
        true
    }

    /// Records the id after the server created the challenge.
    #[must_use]
    pub fn held(&mut self, id: ChallengeId, now: Instant) -> Vec<AccountEffect> {
        self.now = now;
        self.set_outgoing_id(id);
        std::mem::take(&mut self.out)
    }

    fn set_outgoing_id(&mut self, id: ChallengeId) {
        // A game with this id may have begun before the answer came.
        let begun = self.games.contains_key(&id.as_game());
        let Some(outgoing) = self.outgoing.as_mut().filter(|known| known.id.is_none()) else {
            // The hold is gone: withdraw the challenge rather than leave it untracked.
            if !begun {
                self.out.push(AccountEffect::Cancel(id));
            }
            return;
        };
        if begun || outgoing.game == Some(id.as_game()) {
            self.outgoing = None;
        } else {
            outgoing.id = Some(id);
            outgoing.game = None;
            outgoing.expires = self.now + self.timing.hold;
            if outgoing.unwanted {
                self.out.extend(outgoing.cancel());
            }
        }
        self.fill_slots();
    }

    /// Whether the bot's own challenge holds a slot.
    pub fn has_outgoing(&self) -> bool {
        self.outgoing.is_some()
    }

    /// The id of the challenge that holds a slot.
    pub fn outgoing(&self) -> Option<&ChallengeId> {
        self.outgoing.as_ref().and_then(|known| known.id.as_ref())
    }
}

/// Reactions of the account state.
impl AccountState {
    pub(super) fn cancel_outgoing(&mut self) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.unwanted = true;
            self.out.extend(outgoing.cancel());
        }
    }

    /// Withdraws the challenges that an earlier run left open: they may be accepted for hours. One made
    /// by hand looks the same, so only the first list after a start counts.
    pub(super) fn sweep(&mut self, open: &[Challenge]) {
        self.swept = Some(self.now);
        let ours = self.outgoing.as_ref().map(|known| &known.opponent);
        for challenge in open {
            let to = challenge.dest_user.as_ref().and_then(|it| it.id.as_ref());
            // The bot's challenge, which may have no id yet, replaces others to the same opponent.
            if to.is_some() && to != ours && !self.tracks(&challenge.id.as_game()) {
                tracing::info!(challenge = %challenge.id, "withdrawing an earlier run's challenge");
                self.out.push(AccountEffect::Cancel(challenge.id.clone()));
            }
        }
    }

    /// Handles the outcome of a cancellation. Its game may follow even a success.
    pub(super) fn canceled(&mut self, id: &ChallengeId, answer: &CallOutcome) {
        let (now, timing) = (self.now, self.timing);
        let Some(outgoing) = self.outgoing_of(id) else {
            return;
        };
        outgoing.cancelling = false;
        match answer {
            CallOutcome::Done | CallOutcome::Gone => self.outgoing = None,
            // It has become a running game, which the list shows.
            CallOutcome::Refused { .. } => self.ask_for_list(),
            CallOutcome::Lost if outgoing.tries < MAX_TRIES => {
                outgoing.again = Some(now + timing.retry_cap);
            }
            CallOutcome::Limited { wait } => {
                outgoing.again = now.checked_add(wait.unwrap_or(timing.limited_wait));
            }
            CallOutcome::Lost => {}
        }
    }

    fn outgoing_of(&mut self, id: &ChallengeId) -> Option<&mut OutgoingChallenge> {
        self.outgoing
            .as_mut()
            .filter(|known| known.id.as_ref() == Some(id))
    }

    /// The bot's challenge was declined or cancelled by either side.
    pub(super) fn outgoing_is_gone(&mut self, id: &ChallengeId) {
        if self.outgoing_of(id).is_some() {
            self.outgoing = None;
        }
    }

    /// If a starting game is that of the bot's challenge, passes the slot on to the game.
    pub(super) fn outgoing_becomes(&mut self, game: &GameInfo) -> Option<OpponentKind> {
        let outgoing = self.outgoing.as_mut()?;
        let kind = outgoing.kind;
        match &outgoing.id {
            Some(id) if id.as_str() == game.id.as_str() => self.outgoing = None,
            // The game began before the answer with its id.
            None if outgoing.game.is_none()
                && game.opponent.id.as_ref() == Some(&outgoing.opponent) =>
            {
                outgoing.game = Some(game.id.clone());
            }
            _ => return None,
        }
        Some(kind)
    }

    /// Retries a due cancellation, or ends an expired hold.
    pub(super) fn tick_outgoing(&mut self) {
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        if outgoing.expires <= self.now {
            outgoing.cancelling = false;
            self.out.extend(outgoing.cancel());
            self.outgoing = None;
            self.ask_for_list();
        } else if outgoing.again.is_some_and(|again| again <= self.now) {
            outgoing.again = None;
            self.out.extend(outgoing.cancel());
        }
    }
}

/// For an operator's commands.
impl AccountState {
    /// Queues a manual challenge: a profile of the config, or a clock such as `3+2`; or begins a
    /// series of so many games.
    ///
    /// # Errors
    /// Why it cannot be queued.
    pub fn challenge(
        &mut self,
        user: &str,
        what: Option<&str>,
        rated: Option<bool>,
        color: Option<ColorChoice>,
        games: u32,
    ) -> Result<(), ManualChallengeError> {
        let profiles = &self.settings.matchmaking.profile;
        let mut request = ChallengeRequest::manual(user, what, profiles)?;
        self.check_avoided(&request.to)?;
        let has_clock = request.profile.days == 0;
        if rated == Some(true) && !has_clock {
            return Err(ManualChallengeError::NeverRated);
        }
        request.profile.rated = rated.unwrap_or(request.profile.rated) && has_clock;
        request.color = color.unwrap_or(request.color);
        if games == 1 {
            return self.matchmaker.queue_manual(request);
        }
        self.matchmaker.start_series(Series::new(request, games)?)?;
        self.keep_series();
        Ok(())
    }

    /// Queues another game with the last opponent; returns who that is.
    ///
    /// # Errors
    /// Why it cannot be queued.
    pub fn rechallenge(&mut self) -> Result<UserId, ManualChallengeError> {
        if let Some(last) = self.matchmaker.last_opponent() {
            self.check_avoided(last)?;
        }
        self.matchmaker.rechallenge()
    }

    fn check_avoided(&self, user: &UserId) -> Result<(), ManualChallengeError> {
        match self.lists.avoided_by(user) {
            Some(entry) => Err(ManualChallengeError::Avoided(
                user.clone(),
                entry.to_owned(),
            )),
            None => Ok(()),
        }
    }

    /// Persists how far the series is.
    fn keep_series(&self) {
        let note = self.matchmaker.series().map(Series::note);
        self.state.set_note(Series::NOTE, note);
    }

    /// Withdraws the open challenge, and drops queued manual ones if `all` are meant. Returns how many there
    /// were.
    pub fn recall(&mut self, all: bool, now: Instant) -> (usize, Vec<AccountEffect>) {
        self.now = now;
        let (dropped, effects) = self.matchmaker.recall(all);
        self.run_matchmaking(effects);
        (dropped, std::mem::take(&mut self.out))
    }
}

impl AccountState {
    /// Passes an event to the matchmaker.
    pub(super) fn matchmake(&mut self, event: &AccountEvent) {
        let held = self.has_outgoing();
        // The lists say whom never to challenge; a game from before this process started may be the
        // last of a series, or take the slot.
        let waits = self.awaits_lists || self.excess.settled.is_none();
        let spare = |kind| if waits { 0 } else { self.spare(kind) };
        let [spare, spare_for_humans] = [OpponentKind::Bot, OpponentKind::Human].map(spare);
        let taken = self.taken();
        let directory = OpponentDirectory {
            state: &self.state,
            lists: &self.lists,
            settings: &self.settings,
            games: &self.games,
            correspondence: &self.correspondence,
        };
        let context = MatchContext {
            now: self.now,
            moment: self.state.now(),
            spare,
            spare_for_humans,
            for_bots: self.plan().room(OpponentKind::Bot, SlotUsage::default()),
            // Each joined arena may begin a game at any moment.
            games: taken.saturating_sub(usize::from(held)) + self.arenas.playing(),
            held,
            game: self.outgoing.as_ref().and_then(|it| it.game.as_ref()),
            directory: &directory,
        };
        let begun = self.matchmaker.series().map(|series| series.begun);
        let effects = self.matchmaker.handle(event, &context);
        if self.matchmaker.series().map(|series| series.begun) != begun {
            self.keep_series();
        }
        self.run_matchmaking(effects);
    }

    pub(super) fn run_matchmaking(&mut self, effects: Vec<MatchmakingEffect>) {
        for effect in effects {
            match effect {
                MatchmakingEffect::List => self.out.push(AccountEffect::ListBots),
                MatchmakingEffect::LookUp(users) => self.out.push(AccountEffect::LookUp(users)),
                MatchmakingEffect::Find => self.out.push(AccountEffect::ListOutgoing),
                MatchmakingEffect::Create(request) => self.create(request),
                MatchmakingEffect::Held(id) => {
                    if let Some(key) = self.spent.take() {
                        self.state.challenge_made(&key, &id);
                        self.spent = Some(id.to_string());
                    }
                    self.set_outgoing_id(id);
                }
                MatchmakingEffect::Withdraw => self.cancel_outgoing(),
                MatchmakingEffect::Release => {
                    if let Some(key) = self.spent.take() {
                        self.state.release(&key);
                    }
                    self.outgoing = None;
                    self.fill_slots();
                }
                MatchmakingEffect::Rest(rest) => {
                    self.state
                        .cool(&rest.key, rest.first, rest.most, Some(rest.reason));
                }
                MatchmakingEffect::SeriesEnded(text) => {
                    tracing::info!("{text}");
                    self.keep_series();
                    self.out.push(AccountEffect::Note(text));
                }
                MatchmakingEffect::ManualFailed(user, why) => {
                    tracing::warn!(%user, why, "operator's challenge not sent");
                    let text = format!("challenge {user}: not sent, {why}");
                    self.out.push(AccountEffect::Note(text));
                }
                MatchmakingEffect::Forbidden(text) => {
                    tracing::error!("{text}");
                    self.out.push(AccountEffect::Note(text));
                }
                MatchmakingEffect::Forgive(user, game) => {
                    // A game that began before the answer counts under its own id.
                    if let Some(key) = self.spent.take()
                        && game.is_some_and(|game| key != game.as_str())
                    {
                        self.state.release(&key);
                    }
                    self.state.clear_cooldowns(&refusals(&user));
                }
            }
        }
    }

    /// Takes a slot and the quota for a challenge; without a slot it is not created.
    fn create(&mut self, request: Box<ChallengeRequest>) {
        if self.hold(&request.to, request.target, self.now) {
            let key = self.state.hold_challenge(request.target, &request.to);
            self.spent = Some(key);
            self.out.push(AccountEffect::Create(request));
        } else {
            let refused = AccountEvent::NotCreated(NotCreated::NoSlot);
            self.matchmake(&refused);
        }
    }
}

/// Reads lists, bot state and quota.
struct OpponentDirectory<'a> {
    state: &'a BotState,
    lists: &'a PlayerLists,
    settings: &'a Settings,
    games: &'a ActiveGames,
    correspondence: &'a CorrespondenceGames,
}

impl Directory for OpponentDirectory<'_> {
    fn rests(&self, key: &str) -> bool {
        self.state.resting(key).is_some()
    }

    fn forbids(&self, user: &UserId) -> bool {
        self.lists.avoided_by(user).is_some()
    }

    fn avoids(&self, user: &UserId) -> bool {
        let known = self.state.opponent(user);
        let absent = known.no_shows_today >= self.settings.game.abort_repeats;
        let spent = known.spent_until.is_some_and(|at| at > self.state.now());
        let enough = known.games_today >= self.settings.challenge.bots.per_day;
        self.forbids(user) || absent || spent || enough
    }

    fn may_rate(&self, user: &UserId) -> bool {
        self.state.rated_rest(Some(user)).is_none()
    }

    fn plays(&self, user: &UserId, days: u32) -> bool {
        let mut opponents = self.games.values().map(|game| game.opponent.as_ref());
        opponents.any(|opponent| opponent == Some(user))
            || days > 0 && self.correspondence.with(user) > 0
    }

    fn may_challenge(&self, target: OpponentKind) -> Permit {
        self.state.may_challenge(target)
    }

    fn results(&self, user: &UserId) -> (f64, u32) {
        let known = self.state.opponent(user);
        let points = f64::from(known.wins) + f64::from(known.draws) / 2.0;
        (points, known.wins + known.draws + known.losses)
    }

    fn budget(&self) -> u32 {
        self.state.budget().outgoing_share
    }
}
