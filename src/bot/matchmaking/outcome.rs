//! What becomes of an attempt: a game, a refusal that is learned from, or a challenge withdrawn.

use std::time::Duration;

use super::maker::{Maker, Pair, State};
use super::news::{Around, Duty, NotCreated};
use super::offer::{Offer, Origin};
use super::rest::{Verdict, lesson};
use crate::lichess::{
    Challenge, ChallengeStatus, ColorChoice, DeclineReason, Event, GameId, GameInfo, UserId,
};

/// The reason of a refusal comes on another stream than the refusal; it is waited for this long.
const REASON_COMES: Duration = Duration::from_secs(3);
/// A token or account that may not challenge is tried again after this long.
const FORBIDDEN: Duration = Duration::from_secs(3600);
/// The second game of a pair is given up when it has not come about this long after the first.
const PAIR_LASTS: Duration = Duration::from_secs(3600);

impl Maker {
    pub(super) fn created(
        &mut self,
        challenge: &Challenge,
        around: &Around<'_>,
        out: &mut Vec<Duty>,
    ) {
        let (State::Creating { offer, .. } | State::Lost { offer, .. }) = &self.state else {
            return;
        };
        let (offer, id) = (offer.clone(), challenge.id.clone());
        let casual = offer.profile.rated && !challenge.rated;
        out.push(Duty::Held(id.clone()));
        let until = around.now + self.rules.timeout;
        self.state = State::Pending {
            offer: offer.clone(),
            id,
            until,
        };
        if casual {
            let profile = offer.profile.name;
            tracing::warn!(
                profile,
                "the server makes this profile casual: it is left out"
            );
            self.unratable.push(profile);
            self.withdraw(None, out);
        }
    }

    pub(super) fn not_created(
        &mut self,
        why: &NotCreated,
        around: &Around<'_>,
        out: &mut Vec<Duty>,
    ) {
        let State::Creating { offer, id } = &self.state else {
            return;
        };
        let (offer, id) = (offer.clone(), id.clone());
        let now = around.now;
        tracing::debug!(user = %offer.to, ?why, "no challenge");
        let verdict = match why {
            NotCreated::Lost => {
                let until = now + self.rules.timeout;
                if let Some(id) = id {
                    // The echo has shown that it stands.
                    out.push(Duty::Held(id.clone()));
                    self.state = State::Pending { offer, id, until };
                } else {
                    self.state = State::Lost { offer, until };
                    out.push(Duty::Find);
                }
                return;
            }
            // The memory knows of days that are spent, ours and theirs.
            NotCreated::NoSeat | NotCreated::DaySpent | NotCreated::Unauthorized => None,
            NotCreated::Limited(wait) => {
                self.next = self.next.max(now + *wait);
                None
            }
            NotCreated::Refused(_) => Some(Verdict::Barred),
            NotCreated::Forbidden => {
                tracing::error!("the token or the account may not challenge anybody");
                self.next = now + FORBIDDEN;
                None
            }
        };
        self.fall_through(why, verdict, out);
    }

    /// There is no challenge; the operator, if it was their wish, is told why.
    pub(super) fn fall_through(
        &mut self,
        why: &NotCreated,
        verdict: Option<Verdict>,
        out: &mut Vec<Duty>,
    ) {
        if let State::Creating { offer, .. } | State::Lost { offer, .. } = &self.state
            && offer.origin == Origin::Operator
        {
            out.push(Duty::Unasked(offer.to.clone(), why.to_string()));
        }
        self.conclude(verdict, out);
    }

    /// Our pending challenges: is the one whose answer was lost among them?
    pub(super) fn found(
        &mut self,
        found: Option<&[Challenge]>,
        around: &Around<'_>,
        out: &mut Vec<Duty>,
    ) {
        let State::Lost { offer, .. } = &self.state else {
            return;
        };
        let Some(found) = found else {
            // The echo may still come, or the game itself.
            return;
        };
        let to = offer.to.clone();
        if let Some(challenge) = found.iter().find(|it| is_to(it, &to)) {
            self.created(challenge, around, out);
        } else {
            self.fall_through(&NotCreated::Lost, None, out);
        }
    }

    pub(super) fn done(
        &mut self,
        status: ChallengeStatus,
        around: &Around<'_>,
        out: &mut Vec<Duty>,
    ) {
        let State::Pending { offer, id, .. } = &self.state else {
            return;
        };
        let (offer, id) = (offer.clone(), id.clone());
        match status {
            ChallengeStatus::Accepted => self.accepted(&offer, None, around, out),
            ChallengeStatus::Declined => {
                let until = around.now + REASON_COMES;
                self.state = State::Declined { offer, id, until };
            }
            ChallengeStatus::Canceled => {
                self.conclude(None, out);
            }
            ChallengeStatus::Created | ChallengeStatus::Offline | ChallengeStatus::Unknown => {}
        }
    }

    pub(super) fn event(&mut self, event: &Event, around: &Around<'_>, out: &mut Vec<Duty>) {
        match event {
            Event::Challenge { challenge, .. } => self.echoed(challenge, around, out),
            Event::ChallengeDeclined(challenge) if self.is_ours(challenge) => {
                let reason = challenge.decline_reason.unwrap_or(DeclineReason::Unknown);
                self.said_no(reason, out);
            }
            Event::ChallengeCanceled(challenge) if self.is_ours(challenge) => {
                if let State::Pending { .. } = self.state {
                    self.conclude(None, out);
                }
            }
            Event::GameStart(game) => self.started(game, around, out),
            _ => {}
        }
    }

    fn said_no(&mut self, reason: DeclineReason, out: &mut Vec<Duty>) {
        let (State::Pending { offer, .. }
        | State::Declined { offer, .. }
        | State::Withdrawn { offer, .. }) = &self.state
        else {
            return;
        };
        tracing::info!(user = %offer.to, %reason, "declined");
        self.conclude(Some(Verdict::Declined(reason)), out);
    }

    /// Our own challenge, told to us by the event stream.
    fn echoed(&mut self, challenge: &Challenge, around: &Around<'_>, out: &mut Vec<Duty>) {
        let ours = challenge.challenger.as_ref().and_then(|it| it.id.as_ref());
        if ours != Some(&self.me) {
            return;
        }
        match &mut self.state {
            State::Creating { offer, id } if is_to(challenge, &offer.to) => {
                *id = Some(challenge.id.clone());
            }
            State::Lost { offer, .. } if is_to(challenge, &offer.to) => {
                self.created(challenge, around, out);
            }
            _ => {}
        }
    }

    fn is_ours(&self, challenge: &Challenge) -> bool {
        match &self.state {
            State::Pending { id, .. }
            | State::Declined { id, .. }
            | State::Withdrawn { id, .. } => *id == challenge.id,
            State::Idle
            | State::Listing
            | State::Looking(_)
            | State::Creating { .. }
            | State::Lost { .. } => false,
        }
    }

    /// A game has begun: ours, or any.
    fn started(&mut self, game: &GameInfo, around: &Around<'_>, out: &mut Vec<Duty>) {
        let ours = match &self.state {
            State::Pending { id, offer, .. }
            | State::Declined { id, offer, .. }
            | State::Withdrawn { id, offer, .. } => {
                (id.as_str() == game.id.as_str()).then(|| offer.clone())
            }
            State::Creating { offer, .. } | State::Lost { offer, .. } => {
                (game.opponent.id.as_ref() == Some(&offer.to)).then(|| offer.clone())
            }
            State::Idle | State::Listing | State::Looking(_) => None,
        };
        match ours {
            Some(offer) => self.accepted(&offer, Some(&game.id), around, out),
            None => self.quiet_since = around.now,
        }
    }

    fn accepted(
        &mut self,
        offer: &Offer,
        game: Option<&GameId>,
        around: &Around<'_>,
        out: &mut Vec<Duty>,
    ) {
        tracing::info!(user = %offer.to, profile = %offer.profile.name, "accepted");
        self.state = State::Idle;
        self.quiet_since = around.now;
        let by_rule = offer.origin == Origin::Rules;
        let first_of_two = by_rule && self.rules.color_pairs && offer.color == ColorChoice::White;
        self.pair = first_of_two.then(|| Pair {
            offer: offer.turned(),
            until: around.now + PAIR_LASTS,
        });
        let games = if self.rules.color_pairs { 2 } else { 1 };
        let rest = if by_rule {
            let (least, budget) = (self.rules.min_games, around.folk.budget());
            self.pool.share_rest(&offer.profile, least, games, budget)
        } else {
            Duration::ZERO
        };
        out.push(Duty::Forgive(offer.to.clone(), game.cloned()));
        if !rest.is_zero() {
            self.learn(offer, Verdict::Played(rest), out);
        }
    }

    /// Withdraws what is open; the verdict is learned once that is done.
    pub(super) fn withdraw(&mut self, verdict: Option<Verdict>, out: &mut Vec<Duty>) {
        match std::mem::replace(&mut self.state, State::Idle) {
            State::Pending { offer, id, .. } => {
                out.push(Duty::Withdraw);
                self.state = State::Withdrawn { offer, id, verdict };
            }
            // Its answer tells the lobby the id, which then withdraws it.
            State::Creating { offer, id } => {
                out.push(Duty::Withdraw);
                self.state = State::Creating { offer, id };
            }
            other => self.state = other,
        }
    }

    /// The attempt is over without a game.
    pub(super) fn conclude(&mut self, verdict: Option<Verdict>, out: &mut Vec<Duty>) {
        let before = std::mem::replace(&mut self.state, State::Idle);
        let offer = match before {
            State::Creating { offer, .. }
            | State::Lost { offer, .. }
            | State::Pending { offer, .. }
            | State::Declined { offer, .. }
            | State::Withdrawn { offer, .. } => offer,
            State::Idle | State::Listing | State::Looking(_) => return,
        };
        out.push(Duty::Release);
        if let Some(verdict) = verdict {
            self.learn(&offer, verdict, out);
        }
    }

    fn learn(&self, offer: &Offer, verdict: Verdict, out: &mut Vec<Duty>) {
        let (speed, rated) = (offer.speed(), offer.profile.rated);
        let lengths = (self.rules.cooldown, self.rules.cooldown_max);
        let learned = lesson(&offer.to, speed, rated, verdict, lengths);
        out.extend(learned.into_iter().map(Duty::Rest));
    }
}

fn is_to(challenge: &Challenge, user: &UserId) -> bool {
    let to = challenge.dest_user.as_ref().and_then(|it| it.id.as_ref());
    to == Some(user)
}
