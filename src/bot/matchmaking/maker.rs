//! One attempt after the other: the rules of looking for a game.
//!
//! Pure: it is told what happened and says what is to be done. One attempt is under way at a time,
//! and each ends in a game, in a refusal that is learned from, or in a challenge withdrawn. It never
//! repeats a creation whose answer was lost, and never asks while anybody waits to come in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::news::{Around, Duty, Heard, NotCreated};
use super::offer::Offer;
use super::order::{MOST_ORDERS, Order, OrderError};
use super::pool::Pool;
use super::rest::Verdict;
use crate::config::Matchmaking;
use crate::lichess::{ChallengeId, DeclineReason, UserId};

/// How far an attempt has come.
#[derive(Debug)]
pub(super) enum State {
    Idle,
    Listing,
    Looking(Vec<Offer>),
    /// The creation is under way; the id is known when the echo was quicker.
    Creating {
        offer: Offer,
        id: Option<ChallengeId>,
    },
    /// The answer was lost; the challenge may stand or not.
    Lost {
        offer: Offer,
        until: Instant,
    },
    Pending {
        offer: Offer,
        id: ChallengeId,
        until: Instant,
    },
    /// Declined; the reason may still come.
    Declined {
        offer: Offer,
        id: ChallengeId,
        until: Instant,
    },
    /// Being withdrawn; the lobby sees to it.
    Withdrawn {
        offer: Offer,
        id: ChallengeId,
        verdict: Option<Verdict>,
    },
}

/// The second game of a pair.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) offer: Offer,
    pub(super) until: Instant,
}

/// Looks for games.
#[derive(Debug)]
pub struct Maker {
    pub(super) me: UserId,
    pub(super) rules: Arc<Matchmaking>,
    pub(super) pool: Pool,
    pub(super) state: State,
    /// Since when no game has begun or ended.
    pub(super) quiet_since: Instant,
    pub(super) next: Instant,
    pub(super) pair: Option<Pair>,
    pub(super) orders: VecDeque<Order>,
    pub(super) last: Option<Offer>,
    /// Profiles that the server made casual although they are rated.
    pub(super) unratable: Vec<String>,
    pub(super) open: bool,
    pub(super) chance: fastrand::Rng,
    /// Nothing to wait for but a seat or the end of a game.
    pub(super) crowded: bool,
}

impl Maker {
    /// Nothing has been tried yet; `seed` is where chance starts.
    pub fn new(me: UserId, rules: Arc<Matchmaking>, seed: u64, now: Instant) -> Self {
        Self {
            me,
            pool: Pool::default(),
            rules,
            state: State::Idle,
            quiet_since: now,
            next: now,
            pair: None,
            orders: VecDeque::new(),
            last: None,
            unratable: Vec::new(),
            open: true,
            chance: fastrand::Rng::with_seed(seed),
            crowded: false,
        }
    }

    /// Other rules from now on; what is under way goes on by the old ones.
    pub fn set_rules(&mut self, rules: Arc<Matchmaking>) {
        self.unratable.clear();
        self.rules = rules;
    }

    /// Whether anything new may be asked for. What is open is withdrawn when it may not.
    pub fn set_open(&mut self, open: bool) -> Vec<Duty> {
        self.open = open;
        if open {
            return Vec::new();
        }
        let dropped = self.orders.drain(..);
        let mut out: Vec<Duty> = dropped
            .map(|order| Duty::Unasked(order.user, "nothing new is taken".to_owned()))
            .collect();
        self.pair = None;
        self.withdraw(None, &mut out);
        out
    }

    /// Takes an order of the operator.
    ///
    /// # Errors
    /// When it cannot be taken; says why.
    pub fn order(&mut self, order: Order) -> Result<(), OrderError> {
        if !self.open {
            return Err(OrderError::Closed);
        }
        if order.user == self.me {
            return Err(OrderError::Ourselves);
        }
        if self.orders.len() >= MOST_ORDERS {
            return Err(OrderError::TooMany);
        }
        self.orders.push_back(order);
        Ok(())
    }

    /// Challenges the last opponent again, with the colours turned round.
    ///
    /// # Errors
    /// When nobody has been challenged yet, or as for [`Maker::order`].
    pub fn rechallenge(&mut self) -> Result<UserId, OrderError> {
        let last = self.last.as_ref().ok_or(OrderError::Nobody)?.turned();
        let user = last.to.clone();
        self.order(Order {
            user: last.to,
            profile: last.profile,
            color: last.color,
        })?;
        Ok(user)
    }

    /// The operator wants no challenge out: orders that wait and the second game of a pair are
    /// dropped, and what is open is withdrawn. Says how many orders there were.
    pub fn recall(&mut self) -> (usize, Vec<Duty>) {
        let dropped = self.orders.len();
        self.orders.clear();
        self.pair = None;
        let mut out = Vec::new();
        self.withdraw(None, &mut out);
        (dropped, out)
    }

    /// What it is doing, for the operator.
    pub fn describe(&self) -> String {
        match &self.state {
            State::Idle if !self.open => "closed".to_owned(),
            State::Idle if !self.rules.enabled && self.orders.is_empty() => "off".to_owned(),
            State::Idle => match self.orders.front() {
                Some(order) => format!("waiting to challenge {}", order.user),
                None => "waiting".to_owned(),
            },
            State::Listing | State::Looking(_) => "looking for an opponent".to_owned(),
            State::Creating { offer, .. }
            | State::Lost { offer, .. }
            | State::Pending { offer, .. } => format!("challenging {}", offer.to),
            State::Declined { offer, .. } | State::Withdrawn { offer, .. } => {
                format!("done with {}", offer.to)
            }
        }
    }

    /// When [`Heard::Tick`] is wanted, beside whenever seats change.
    pub fn wake_at(&self) -> Option<Instant> {
        match &self.state {
            State::Idle if self.crowded || !self.wants_any() => None,
            State::Idle => Some(self.idle_until()),
            State::Pending { until, .. }
            | State::Lost { until, .. }
            | State::Declined { until, .. } => Some(*until),
            State::Listing
            | State::Looking(_)
            | State::Creating { .. }
            | State::Withdrawn { .. } => None,
        }
    }

    pub(super) fn wants_any(&self) -> bool {
        self.open && (self.rules.enabled || !self.orders.is_empty())
    }

    pub(super) fn idle_until(&self) -> Instant {
        if self.orders.is_empty() && self.pair.is_none() {
            self.next.max(self.quiet_since + self.rules.idle)
        } else {
            self.next
        }
    }

    /// Takes in what happened and says what is to be done about it, in order.
    pub fn hear(&mut self, heard: Heard, around: &Around<'_>) -> Vec<Duty> {
        let mut out = Vec::new();
        match heard {
            Heard::Tick => {}
            Heard::Listed(accounts) => self.listed(&accounts, around),
            Heard::NotListed(wait) => self.not_listed(wait, around.now),
            Heard::Seen(seen) => self.seen(&seen, around, &mut out),
            Heard::NotSeen => self.fail(around.now),
            Heard::Created(challenge) => self.created(&challenge, around, &mut out),
            Heard::NotCreated(why) => self.not_created(&why, around, &mut out),
            Heard::Found(found) => self.found(found.as_deref(), around, &mut out),
            Heard::Done(status) => self.done(status, around, &mut out),
            Heard::Event(event) => self.event(&event, around, &mut out),
            Heard::GameOver => self.quiet_since = around.now,
        }
        self.pass(around, &mut out);
        out
    }

    /// What time and the lobby bring.
    fn pass(&mut self, around: &Around<'_>, out: &mut Vec<Duty>) {
        self.crowded = false;
        match &self.state {
            State::Pending { until, .. } if *until <= around.now => {
                self.withdraw(Some(Verdict::Silent), out);
            }
            // Its seat was wanted by somebody who came to us: that is not their fault.
            State::Pending { .. } if !around.held => self.conclude(None, out),
            State::Withdrawn { verdict, .. } if !around.held => {
                let verdict = *verdict;
                self.conclude(verdict, out);
            }
            State::Declined { until, .. } if *until <= around.now => {
                let unknown = Verdict::Declined(DeclineReason::Unknown);
                self.conclude(Some(unknown), out);
            }
            State::Lost { until, .. } if *until <= around.now => {
                self.fall_through(&NotCreated::Lost, None, out);
            }
            State::Idle => self.begin(around, out),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
