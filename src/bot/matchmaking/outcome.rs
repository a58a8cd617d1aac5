//! How an attempt ends: a game, a decline that starts a cooldown, or a withdrawn challenge.

use std::time::Duration;

use super::challenge_request::{ChallengeRequest, Initiator};
use super::cooldown::{AttemptOutcome, lesson};
use super::matchmaker::{AttemptState, MatchContext, Matchmaker, MatchmakingEffect as Effect};
use crate::bot::account_event::NotCreated;
use crate::lichess::{
    Challenge, ChallengeStatus, ColorChoice, DeclineReason, Event, GameId, GameInfo, UserId,
};

/// The reason of a decline comes on another stream than the decline; wait this long for it.
const REASON_COMES: Duration = Duration::from_secs(3);
/// Retry after this long when the token or account may not challenge.
const FORBIDDEN: Duration = Duration::from_secs(3600);
/// Give up the second game of a pair this long after the first began: that one may be long, and the
/// quota may space games out by more than an hour.
const PAIR_LASTS: Duration = Duration::from_secs(24 * 3600);

impl Matchmaker {
    pub(super) fn created(&mut self, challenge: &Challenge, around: &MatchContext<'_>) {
        let id = challenge.id.clone();
        self.ban = None;
        let (AttemptState::Creating { offer, .. } | AttemptState::Lost { offer, .. }) = &self.state
        else {
            // A game with the opponent began before the answer. If it is not this challenge's, there
            // would be two.
            self.out.extend([Effect::Held(id), Effect::Withdraw]);
            return;
        };
        let offer = offer.clone();
        if let (Some(last), Some(side)) = (&mut self.last, challenge.final_color) {
            // A rematch reverses the colour that the server drew.
            last.color = ColorChoice::from_word(side.as_str());
        }
        let casual = offer.profile.rated && !challenge.rated;
        self.out.push(Effect::Held(id.clone()));
        let until = around.now + self.rules.timeout;
        self.state = AttemptState::Pending {
            offer: offer.clone(),
            id,
            until,
        };
        if casual {
            let profile = offer.profile.name;
            tracing::warn!(profile, "the server makes this profile casual: skipping it");
            self.report_unsent(offer.origin, offer.to, "Lichess does not rate this clock");
            self.unratable.push(profile);
            self.withdraw(None);
        }
    }

    pub(super) fn not_created(&mut self, why: &NotCreated, around: &MatchContext<'_>) {
        let AttemptState::Creating { offer, id } = &self.state else {
            // Its game began before.
            self.out.push(Effect::Release);
            return;
        };
        let (offer, id) = (offer.clone(), id.clone());
        let now = around.now;
        tracing::debug!(user = %offer.to, ?why, "challenge not created");
        let outcome = match why {
            NotCreated::Lost => {
                let until = now + self.rules.timeout;
                if let Some(id) = id {
                    // The event has confirmed the challenge.
                    self.out.push(Effect::Held(id.clone()));
                    self.state = AttemptState::Pending { offer, id, until };
                } else {
                    self.state = AttemptState::Lost { offer, until };
                    self.out.push(Effect::Find);
                }
                return;
            }
            // The bot state records spent daily limits, the bot's and the opponent's.
            NotCreated::NoSlot
            | NotCreated::OurDay
            | NotCreated::TheirDay
            | NotCreated::Unauthorized => None,
            NotCreated::Limited(wait) => {
                let pause = self.next.saturating_duration_since(now).max(*wait);
                self.wait("rate limited by Lichess", pause, around);
                None
            }
            NotCreated::Refused(_) => {
                // One that the account may send, but not to this user.
                self.ban = None;
                Some(AttemptOutcome::Barred)
            }
            NotCreated::Forbidden(_) => {
                let ban = why.to_string();
                self.out.push(Effect::Forbidden(ban.clone()));
                self.ban = Some(ban);
                self.wait("the account may not send challenges", FORBIDDEN, around);
                None
            }
        };
        self.fall_through(why, outcome);
    }

    /// There is no challenge; a manual one reports why to the operator.
    pub(super) fn fall_through(&mut self, why: &NotCreated, outcome: Option<AttemptOutcome>) {
        let passes = matches!(
            why,
            NotCreated::NoSlot | NotCreated::OurDay | NotCreated::Limited(_) | NotCreated::Lost
        );
        if let Some((origin, to)) = self.state.offer().map(|it| (it.origin, it.to.clone()))
            && !(passes && origin == Initiator::Series)
        {
            self.report_unsent(origin, to, &why.to_string());
        }
        self.conclude(outcome);
    }

    /// Looks for the challenge whose answer was lost among the open ones.
    pub(super) fn found(&mut self, found: Option<&[Challenge]>, around: &MatchContext<'_>) {
        let (AttemptState::Lost { offer, .. }, Some(found)) = (&self.state, found) else {
            // Without the list, the event may still come, or the game itself.
            return;
        };
        let to = offer.to.clone();
        // One that is not there may still be in the making: its event, or the end of the wait, decides.
        if let Some(challenge) = found.iter().find(|it| is_to(it, &to)) {
            self.created(challenge, around);
        }
    }

    pub(super) fn done(&mut self, status: ChallengeStatus, around: &MatchContext<'_>) {
        let AttemptState::Pending { offer, id, .. } = &self.state else {
            return;
        };
        let (offer, id) = (offer.clone(), id.clone());
        match status {
            ChallengeStatus::Accepted => self.accepted(&offer, None, around),
            ChallengeStatus::Declined => {
                let until = around.now + REASON_COMES;
                self.state = AttemptState::Declined { offer, id, until };
            }
            ChallengeStatus::Canceled => self.conclude(None),
            ChallengeStatus::Created | ChallengeStatus::Offline | ChallengeStatus::Unknown => {}
        }
    }

    pub(super) fn event(&mut self, event: &Event, around: &MatchContext<'_>) {
        match event {
            Event::Challenge { challenge, .. } => self.echoed(challenge, around),
            Event::ChallengeDeclined(challenge) if self.is_by_us(challenge) => {
                let reason = challenge.decline_reason.unwrap_or(DeclineReason::Unknown);
                self.declined = Some((challenge.id.clone(), reason));
            }
            Event::ChallengeCanceled(challenge) if self.state.id() == Some(&challenge.id) => {
                if let AttemptState::Pending { .. } = self.state {
                    self.conclude(None);
                }
            }
            Event::GameStart(game) => {
                self.quiet_since = around.now;
                self.started(game, around);
            }
            _ => {}
        }
    }

    /// Ends the attempt if its challenge is declined.
    pub(super) fn heed_decline(&mut self) {
        let (id, declined) = (self.state.id(), &mut self.declined);
        let declined = declined.take_if(|(it, _)| Some(&*it) == id);
        let Some((offer, (_, reason))) = self.state.offer().zip(declined) else {
            return;
        };
        tracing::info!(user = %offer.to, %reason, "declined");
        self.conclude(Some(AttemptOutcome::Declined(reason)));
    }

    /// Handles the bot's own challenge on the event stream.
    fn echoed(&mut self, challenge: &Challenge, around: &MatchContext<'_>) {
        if !self.is_by_us(challenge) {
            return;
        }
        match &mut self.state {
            AttemptState::Creating { offer, id } if is_to(challenge, &offer.to) => {
                *id = Some(challenge.id.clone());
            }
            AttemptState::Lost { offer, .. } if is_to(challenge, &offer.to) => {
                self.created(challenge, around);
            }
            _ => {}
        }
    }

    fn is_by_us(&self, challenge: &Challenge) -> bool {
        let by = challenge.challenger.as_ref().and_then(|it| it.id.as_ref());
        by == Some(&self.me)
    }

    /// Ends the attempt if it became this game.
    pub(super) fn started(&mut self, game: &GameInfo, around: &MatchContext<'_>) {
        let offer = self.state.offer().filter(|_| match self.state.id() {
            Some(id) => id.as_str() == game.id.as_str(),
            None => around.game == Some(&game.id),
        });
        if let Some(offer) = offer.cloned() {
            self.accepted(&offer, Some(&game.id), around);
        }
    }

    fn accepted(
        &mut self,
        offer: &ChallengeRequest,
        game: Option<&GameId>,
        around: &MatchContext<'_>,
    ) {
        tracing::info!(user = %offer.to, profile = %offer.profile.name, "accepted");
        self.state = AttemptState::Idle;
        self.quiet_since = around.now;
        let by_rule = offer.origin == Initiator::Rules;
        if offer.origin == Initiator::Series
            && let Some(series) = self.series.as_mut().filter(|it| it.request.to == offer.to)
        {
            series.begun += 1;
            series.request = series.request.turned();
            if series.begun >= series.games {
                self.end_series(&offer.to, "complete");
            }
        }
        if by_rule && self.rules.color_pairs && offer.color == ColorChoice::White {
            let lasts = around.now..around.now + PAIR_LASTS;
            self.pairs.push((offer.turned(), lasts));
        }
        self.out
            .push(Effect::Forgive(offer.to.clone(), game.cloned()));
        if by_rule {
            let games = if self.rules.color_pairs { 2 } else { 1 };
            let (least, budget) = (self.rules.min_games, around.directory.budget());
            let rest = self.bots.share_rest(&offer.profile, least, games, budget);
            if !rest.is_zero() {
                self.learn(offer, AttemptOutcome::Played(rest));
            }
        }
    }

    /// Withdraws the open challenge; the outcome is recorded once that is done.
    pub(super) fn withdraw(&mut self, outcome: Option<AttemptOutcome>) {
        match &self.state {
            AttemptState::Pending { offer, id, .. } => {
                let (offer, id) = (offer.clone(), id.clone());
                self.state = AttemptState::Withdrawn { offer, id, outcome };
            }
            // The account state withdraws it once it learns the id.
            AttemptState::Creating { .. } | AttemptState::Lost { .. } => {}
            _ => return,
        }
        self.out.push(Effect::Withdraw);
    }

    /// The attempt is over without a game.
    pub(super) fn conclude(&mut self, outcome: Option<AttemptOutcome>) {
        let before = std::mem::replace(&mut self.state, AttemptState::Idle);
        let Some(offer) = before.offer() else { return };
        if offer.origin == Initiator::Series {
            match outcome {
                Some(AttemptOutcome::Declined(reason)) => {
                    self.end_series(&offer.to, &format!("declined ({reason})"));
                }
                Some(_) => self.end_series(&offer.to, "no answer"),
                None => {}
            }
        }
        self.out.push(Effect::Release);
        if let Some(outcome) = outcome {
            self.learn(offer, outcome);
        }
    }

    fn learn(&mut self, offer: &ChallengeRequest, outcome: AttemptOutcome) {
        let (speed, rated) = (offer.speed(), offer.profile.rated);
        let lengths = (self.rules.cooldown, self.rules.cooldown_max);
        let learned = lesson(&offer.to, speed, rated, outcome, lengths);
        self.out.extend(learned.into_iter().map(Effect::Rest));
    }
}

fn is_to(challenge: &Challenge, user: &UserId) -> bool {
    let to = challenge.dest_user.as_ref().and_then(|it| it.id.as_ref());
    to == Some(user)
}
