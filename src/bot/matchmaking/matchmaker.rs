//! The matchmaker: one attempt to find a game after another.
//!
//! Pure: events in, effects out. At most one attempt is in progress; each ends in a game, in a
//! decline that starts a cooldown, or in a withdrawn challenge. It never repeats a creation whose
//! answer was lost, and never challenges while an incoming challenge is queued.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::challenge_request::{
    ChallengeRequest, Initiator, MAX_MANUAL, ManualChallengeError, Series,
};
use super::cooldown::{AttemptOutcome, Cooldown};
use super::online_bots::OnlineBots;
use crate::bot::account_event::{AccountEvent, NotCreated};
use crate::bot::quota::{OpponentKind, Permit};
use crate::config::Matchmaking;
use crate::lichess::{ChallengeId, DeclineReason, GameId, UserId};
use crate::store::Timestamp;

/// Progress of an attempt.
#[derive(Debug)]
pub(super) enum AttemptState {
    Idle,
    Listing,
    Looking(Vec<ChallengeRequest>),
    /// Creation in progress; the id is known if the event came first.
    Creating {
        offer: ChallengeRequest,
        id: Option<ChallengeId>,
    },
    /// The answer was lost; the challenge may be open or not.
    Lost {
        offer: ChallengeRequest,
        until: Instant,
    },
    Pending {
        offer: ChallengeRequest,
        id: ChallengeId,
        until: Instant,
    },
    /// Declined; the reason may still come.
    Declined {
        offer: ChallengeRequest,
        id: ChallengeId,
        until: Instant,
    },
    /// Being withdrawn by the account state.
    Withdrawn {
        offer: ChallengeRequest,
        id: ChallengeId,
        outcome: Option<AttemptOutcome>,
    },
}

impl AttemptState {
    /// The challenge of the attempt, once its creation has begun.
    pub(super) fn offer(&self) -> Option<&ChallengeRequest> {
        match self {
            Self::Idle | Self::Listing | Self::Looking(_) => None,
            Self::Creating { offer, .. }
            | Self::Lost { offer, .. }
            | Self::Pending { offer, .. }
            | Self::Declined { offer, .. }
            | Self::Withdrawn { offer, .. } => Some(offer),
        }
    }

    /// The id of the challenge, once the server has created it.
    pub(super) fn id(&self) -> Option<&ChallengeId> {
        match self {
            Self::Pending { id, .. } | Self::Declined { id, .. } | Self::Withdrawn { id, .. } => {
                Some(id)
            }
            _ => None,
        }
    }
}

#[derive(Debug)]
pub struct Matchmaker {
    pub(super) me: UserId,
    pub(super) rules: Arc<Matchmaking>,
    pub(super) bots: OnlineBots,
    pub(super) state: AttemptState,
    /// Since when no game has begun or ended.
    pub(super) quiet_since: Instant,
    /// No attempt begins earlier.
    pub(super) next: Instant,
    /// None by rule begins earlier; a command need not wait for it.
    pub(super) next_by_rule: Instant,
    /// Why the account may send no challenges at all, in words.
    pub(super) ban: Option<String>,
    /// Why no attempt is in progress, and when it looks again if that is known.
    pub(super) waits: Option<(&'static str, Option<Timestamp>)>,
    /// Second games of pairs: from when to look for the opponent, and until when.
    pub(super) pairs: Vec<(ChallengeRequest, Range<Instant>)>,
    pub(super) manual_queue: VecDeque<ChallengeRequest>,
    pub(super) series: Option<Series>,
    pub(super) last: Option<ChallengeRequest>,
    /// The latest decline of a challenge of the bot; the answer with its id may come later.
    pub(super) declined: Option<(ChallengeId, DeclineReason)>,
    /// Rated profiles that the server made casual.
    pub(super) unratable: Vec<String>,
    pub(super) open: bool,
    pub(super) chance: fastrand::Rng,
    /// Waiting only for a slot or the end of a game.
    pub(super) crowded: bool,
    /// Games run, and it goes on beside them.
    pub(super) beside_games: bool,
    /// The effects of the event being handled.
    pub(super) out: Vec<MatchmakingEffect>,
}

impl Matchmaker {
    /// A matchmaker without history; `seed` seeds its random choices.
    pub fn new(me: UserId, rules: Arc<Matchmaking>, seed: u64, now: Instant) -> Self {
        Self {
            me,
            bots: OnlineBots::default(),
            rules,
            state: AttemptState::Idle,
            quiet_since: now,
            next: now,
            next_by_rule: now,
            ban: None,
            waits: None,
            pairs: Vec::new(),
            manual_queue: VecDeque::new(),
            series: None,
            last: None,
            declined: None,
            unratable: Vec::new(),
            open: true,
            chance: fastrand::Rng::with_seed(seed),
            crowded: false,
            beside_games: false,
            out: Vec::new(),
        }
    }

    /// Waits out the spacing after the last challenge of an earlier run, which was made so long `ago`.
    pub fn resume(&mut self, ago: Duration, now: Instant) {
        self.next = now + self.rules.spacing.saturating_sub(ago);
    }

    /// Replaces the rules; the current attempt continues under the old ones.
    pub fn set_rules(&mut self, rules: Arc<Matchmaking>, now: Instant) {
        self.unratable.clear();
        self.next = self.next.min(now + rules.spacing);
        self.next_by_rule = self.next_by_rule.min(now + rules.spacing);
        self.rules = rules;
    }

    /// Whether new challenges are allowed. If not, withdraws the open one.
    pub fn set_open(&mut self, open: bool) -> Vec<MatchmakingEffect> {
        self.open = open;
        if open {
            return Vec::new();
        }
        let dropped = self.manual_queue.drain(..).map(|manual| {
            MatchmakingEffect::ManualFailed(manual.to, "no new games accepted".to_owned())
        });
        self.out.extend(dropped);
        self.pairs.clear();
        self.withdraw(None);
        std::mem::take(&mut self.out)
    }

    /// Queues a manual challenge.
    ///
    /// # Errors
    /// Why it cannot be queued.
    pub fn queue_manual(&mut self, manual: ChallengeRequest) -> Result<(), ManualChallengeError> {
        if !self.open {
            return Err(ManualChallengeError::Closed);
        }
        if manual.to == self.me {
            return Err(ManualChallengeError::Ourselves);
        }
        if self.manual_queue.len() >= MAX_MANUAL {
            return Err(ManualChallengeError::TooMany);
        }
        self.manual_queue.push_back(manual);
        Ok(())
    }

    /// Begins a series, or continues that of an earlier run.
    ///
    /// # Errors
    /// Why there can be none.
    pub fn start_series(&mut self, series: Series) -> Result<(), ManualChallengeError> {
        if let Some(running) = &self.series {
            return Err(ManualChallengeError::SeriesRuns(running.request.to.clone()));
        }
        if !self.open {
            return Err(ManualChallengeError::Closed);
        }
        if series.request.to == self.me {
            return Err(ManualChallengeError::Ourselves);
        }
        self.series = Some(series);
        Ok(())
    }

    /// The series that is not over.
    pub fn series(&self) -> Option<&Series> {
        self.series.as_ref()
    }

    /// Drops the operator's challenges, the series and the open challenge, if the lists now forbid them.
    fn drop_avoided(&mut self, directory: &dyn Directory) {
        let series = self.series.as_ref().map(|it| &it.request);
        let mut avoided: Vec<_> = self.manual_queue.iter().chain(series).cloned().collect();
        avoided.retain(|it| directory.forbids(&it.to));
        self.manual_queue.retain(|it| !directory.forbids(&it.to));
        for it in avoided {
            self.report_unsent(it.origin, it.to, "the lists say never to challenge it");
        }
        let open = self.state.offer();
        if open.is_some_and(|it| directory.forbids(&it.to)) {
            self.withdraw(None);
        }
    }

    /// Ends the series with this opponent. The last attempt of a cancelled series may end after another
    /// series has begun.
    pub(super) fn end_series(&mut self, with: &UserId, why: &str) {
        if let Some(series) = self.series.take_if(|it| it.request.to == *with) {
            let text = format!("{}; over: {why}", series.describe());
            self.out.push(MatchmakingEffect::SeriesEnded(text));
        }
    }

    /// The operator's next challenge.
    pub(super) fn next_manual(&self, around: &MatchContext<'_>) -> Option<ChallengeRequest> {
        let manual = self.manual_queue.front();
        manual.or_else(|| self.next_of_series(around)).cloned()
    }

    /// The next challenge of the series; it waits for the end of the game before, and while rated
    /// games pause.
    pub(super) fn next_of_series(&self, around: &MatchContext<'_>) -> Option<&ChallengeRequest> {
        let (next, directory) = (&self.series.as_ref()?.request, around.directory);
        let rests = next.profile.rated && !directory.may_rate(&next.to);
        (!rests && !directory.plays(&next.to, next.profile.days)).then_some(next)
    }

    pub fn last_opponent(&self) -> Option<&UserId> {
        self.last.as_ref().map(|last| &last.to)
    }

    /// Challenges the last opponent again with colours reversed.
    ///
    /// # Errors
    /// When no one has been challenged yet, or as for [`Matchmaker::queue_manual`].
    pub fn rechallenge(&mut self) -> Result<UserId, ManualChallengeError> {
        let Some(last) = self.last.as_ref().map(ChallengeRequest::turned) else {
            return Err(ManualChallengeError::NoOpponent);
        };
        let user = last.to.clone();
        self.queue_manual(ChallengeRequest {
            target: OpponentKind::Human,
            origin: Initiator::Operator,
            ..last
        })?;
        Ok(user)
    }

    /// Withdraws the open challenge, and ends the series that would send it again. If `all` are meant, drops
    /// manual challenges, any series and the second games of pairs too, and returns how many of the first two
    /// were waiting.
    pub fn recall(&mut self, all: bool) -> (usize, Vec<MatchmakingEffect>) {
        let mut dropped = 0;
        if all {
            dropped = self.manual_queue.len() + usize::from(self.series.is_some());
            self.manual_queue.clear();
            self.pairs.clear();
        }
        let running = self.series.as_ref().map(|it| &it.request).filter(|_| all);
        let of_series = |offer: &&ChallengeRequest| offer.origin == Initiator::Series;
        let ended = running.or(self.state.offer().filter(of_series));
        if let Some(with) = ended.map(|it| it.to.clone()) {
            self.end_series(&with, "cancelled");
        }
        self.withdraw(None);
        (dropped, std::mem::take(&mut self.out))
    }

    /// Current activity, for the operator.
    pub fn describe(&self) -> String {
        match &self.state {
            AttemptState::Idle if !self.open => "closed".to_owned(),
            AttemptState::Idle if !self.wants_any() => "off".to_owned(),
            AttemptState::Idle => match (&self.ban, self.manual_queue.front(), self.waits) {
                (Some(ban), ..) => ban.clone(),
                (None, Some(manual), _) => format!("waiting to challenge {}", manual.to),
                (None, None, Some((why, Some(at)))) => {
                    format!("waiting: {why}; looks again at {at} UTC")
                }
                (None, None, Some((why, None))) => format!("waiting: {why}"),
                (None, None, None) => "waiting".to_owned(),
            },
            AttemptState::Listing | AttemptState::Looking(_) => {
                "looking for an opponent".to_owned()
            }
            AttemptState::Creating { offer, .. }
            | AttemptState::Lost { offer, .. }
            | AttemptState::Pending { offer, .. } => format!("challenging {}", offer.to),
            AttemptState::Declined { offer, .. } | AttemptState::Withdrawn { offer, .. } => {
                format!("done with {}", offer.to)
            }
        }
    }

    /// When the next [`AccountEvent::Tick`] is due, beside any change of slots.
    pub fn next_timeout(&self) -> Option<Instant> {
        match &self.state {
            AttemptState::Idle if self.crowded || !self.wants_any() => None,
            AttemptState::Idle => Some(self.idle_until()),
            AttemptState::Pending { until, .. }
            | AttemptState::Lost { until, .. }
            | AttemptState::Declined { until, .. } => Some(*until),
            // Waiting for an answer.
            _ => None,
        }
    }

    pub(super) fn wants_any(&self) -> bool {
        let manual = !self.manual_queue.is_empty() || self.series.is_some();
        self.open && (self.rules.enabled || manual)
    }

    pub(super) fn idle_until(&self) -> Instant {
        let by_order = !self.manual_queue.is_empty() || self.series.is_some();
        if by_order {
            return self.next;
        }
        let next = self.next.max(self.next_by_rule);
        if !self.pairs.is_empty() || self.beside_games {
            return next;
        }
        next.max(self.quiet_since + self.rules.idle)
    }

    /// Handles an event and returns the effects in order.
    pub fn handle(
        &mut self,
        received: &AccountEvent,
        around: &MatchContext<'_>,
    ) -> Vec<MatchmakingEffect> {
        match received {
            AccountEvent::BotsListed(accounts) => self.listed(accounts, around),
            AccountEvent::BotsNotListed(wait) => {
                self.fail("the list of bots cannot be read", *wait, around);
            }
            AccountEvent::UsersSeen(seen) => self.seen(seen, around),
            AccountEvent::UsersNotSeen => self.fail("who is online cannot be read", None, around),
            AccountEvent::Created(challenge) => self.created(challenge, around),
            AccountEvent::NotCreated(why) => self.not_created(why, around),
            AccountEvent::Outgoing(found) => self.found(found.as_deref(), around),
            // The stream of an earlier challenge may end late.
            AccountEvent::ChallengeDone { id, status } if self.state.id() == Some(id) => {
                self.done(*status, around);
            }
            AccountEvent::Event(event) => self.event(event, around),
            AccountEvent::Lists(_) => self.drop_avoided(around.directory),
            // The event of its start may have been lost.
            AccountEvent::Running(games) => games.iter().for_each(|it| self.started(it, around)),
            AccountEvent::Left { .. } => self.quiet_since = around.now,
            // Time has passed, or slots have changed.
            _ => {}
        }
        self.pass(around);
        std::mem::take(&mut self.out)
    }

    /// Reacts to time and to the account state.
    fn pass(&mut self, around: &MatchContext<'_>) {
        self.crowded = false;
        self.beside_games = around.games > 0 && self.rules.during_games;
        self.heed_decline();
        match &self.state {
            AttemptState::Pending { until, .. } if *until <= around.now => {
                self.withdraw(Some(AttemptOutcome::Silent));
            }
            // An incoming challenge took its slot: not the opponent's fault.
            AttemptState::Pending { .. } if !around.held => self.conclude(None),
            AttemptState::Withdrawn { outcome, .. } if !around.held => {
                let outcome = *outcome;
                self.conclude(outcome);
            }
            AttemptState::Declined { until, .. } if *until <= around.now => {
                self.conclude(Some(AttemptOutcome::Declined(DeclineReason::Unknown)));
            }
            AttemptState::Lost { until, .. } if *until <= around.now => {
                self.fall_through(&NotCreated::Lost, None);
            }
            AttemptState::Idle => self.begin(around),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;

/// Matchmaking's view of lists, rating guard and quota.
pub trait Directory {
    /// Whether a cooldown with this key is active.
    fn rests(&self, key: &str) -> bool;
    /// Whether the lists say never to challenge this account.
    fn forbids(&self, user: &UserId) -> bool;
    /// Whether not to challenge this account today without a command, by the lists or the day's games.
    fn avoids(&self, user: &UserId) -> bool;
    /// Whether rated games with this account are allowed now.
    fn may_rate(&self, user: &UserId) -> bool;
    /// Whether a game with this account is in progress. For a new one with a clock (`days` is 0) those
    /// without a clock do not count.
    fn plays(&self, user: &UserId, days: u32) -> bool;
    /// Whether the quota allows such a challenge now.
    fn may_challenge(&self, target: OpponentKind) -> Permit;
    /// The bot's points in its games with this account, and their number.
    fn results(&self, user: &UserId) -> (f64, u32);
    /// Games per day available to matchmaking.
    fn budget(&self) -> u32;
}

/// Conditions at the time of an event.
#[expect(
    missing_debug_implementations,
    reason = "it borrows what cannot be shown"
)]
#[derive(Clone, Copy)]
pub struct MatchContext<'a> {
    pub now: Instant,
    /// The current time by the wall clock.
    pub moment: Timestamp,
    /// Slots available to the bot's own challenge to a bot.
    pub spare: usize,
    /// Those available to one to a human: at least as many.
    pub spare_for_humans: usize,
    /// Slots that bots may take at all, free or not.
    pub for_bots: usize,
    pub games: usize,
    /// Whether the bot's own challenge holds a slot.
    pub held: bool,
    /// The game that its challenge became before the answer with the id.
    pub game: Option<&'a GameId>,
    pub directory: &'a dyn Directory,
}

/// What the account state is to do for the matchmaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchmakingEffect {
    /// Fetch the online bots.
    List,
    /// Fetch the status of these users.
    LookUp(Vec<UserId>),
    /// Take a slot and create this challenge.
    Create(Box<ChallengeRequest>),
    /// Fetch the open challenges.
    Find,
    /// The bot's challenge has this id.
    Held(ChallengeId),
    Withdraw,
    /// The challenge is gone: free its slot.
    Release,
    Rest(Cooldown),
    /// Report that the operator's series is over, and why.
    SeriesEnded(String),
    /// Report that the operator's challenge to this user was not sent, and why.
    ManualFailed(UserId, String),
    /// Report that the account may send no challenges.
    Forbidden(String),
    /// Forget this user's refusals: they accepted, and this is the game if it has begun.
    Forgive(UserId, Option<GameId>),
}
