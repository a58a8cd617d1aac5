//! Challenges that found every seat taken and wait a moment for one.
//!
//! The end of a game and the next challenge come on two streams, in either order: who asks while
//! the last move is still on its way must not be sent off. It is a moment and not a waiting list:
//! nobody is kept longer than a person would look at the screen, and whoever gets no seat is told
//! so.

use std::time::Instant;

use crate::lichess::{Challenge, ChallengeId, Compat};

/// More than these are not kept waiting.
const MOST: usize = 8;

/// A challenge that would be taken if there were a seat.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) challenge: Box<Challenge>,
    pub(super) compat: Option<Compat>,
    until: Instant,
}

/// Those who wait, in the order they came.
#[derive(Debug, Default)]
pub(super) struct Queue(Vec<Waiting>);

impl Queue {
    pub(super) fn has_room(&self) -> bool {
        self.0.len() < MOST
    }

    pub(super) fn holds(&self, id: &ChallengeId) -> bool {
        self.0.iter().any(|waiting| waiting.challenge.id == *id)
    }

    pub(super) fn push(&mut self, challenge: Challenge, compat: Option<Compat>, until: Instant) {
        let challenge = Box::new(challenge);
        self.0.push(Waiting {
            challenge,
            compat,
            until,
        });
    }

    /// Who came first.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        (!self.0.is_empty()).then(|| self.0.remove(0))
    }

    pub(super) fn remove(&mut self, id: &ChallengeId) {
        self.0.retain(|waiting| waiting.challenge.id != *id);
    }

    /// Takes out those who have waited long enough.
    pub(super) fn expired(&mut self, now: Instant) -> impl Iterator<Item = ChallengeId> {
        let gone = self.0.extract_if(.., move |waiting| waiting.until <= now);
        gone.map(|waiting| waiting.challenge.id)
    }

    /// When the first has waited long enough.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.0.iter().map(|waiting| waiting.until).min()
    }
}
