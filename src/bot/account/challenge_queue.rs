//! Challenges that found no free slot and wait a moment for one.
//!
//! The end of a game and the next challenge come on two streams, in either order: a challenge that arrives
//! while the last move is still on its way must not be declined. It is a moment and not a waiting list: no
//! one waits longer than a human would look at the screen. Humans go before bots, and a waiting bot never
//! holds up a human behind it.

use std::time::Instant;

use super::slots::OpponentKind;
use crate::lichess::{Challenge, ChallengeId, Compat};

/// A challenge that would be taken if there were a slot.
#[derive(Debug)]
pub(super) struct QueuedChallenge {
    pub(super) challenge: Box<Challenge>,
    pub(super) compat: Option<Compat>,
    pub(super) until: Instant,
    pub(super) kind: OpponentKind,
}

/// Those who wait, in the order they came.
#[derive(Debug, Default)]
pub(super) struct ChallengeQueue(Vec<QueuedChallenge>);

impl ChallengeQueue {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn holds(&self, id: &ChallengeId) -> bool {
        self.0.iter().any(|waiting| waiting.challenge.id == *id)
    }

    /// Lets someone wait where there are `places`. Anyone who has to go for it is returned: the bot
    /// that came last makes room for a person, else the newcomer goes.
    pub(super) fn push(
        &mut self,
        waiting: QueuedChallenge,
        places: usize,
    ) -> Option<QueuedChallenge> {
        if self.0.len() < places {
            self.0.push(waiting);
            return None;
        }
        let last_bot = self.0.iter().rposition(|other| other.kind.is_bot());
        match last_bot {
            Some(index) if !waiting.kind.is_bot() => {
                let gone = self.0.remove(index);
                self.0.push(waiting);
                Some(gone)
            }
            _ => Some(waiting),
        }
    }

    /// Who is next among those whose kind `may` sit down: people first, then who came first.
    pub(super) fn pop(&mut self, may: impl Fn(OpponentKind) -> bool) -> Option<QueuedChallenge> {
        let first = |kind| self.0.iter().position(|waiting| waiting.kind == kind);
        let index = [OpponentKind::Human, OpponentKind::Bot]
            .into_iter()
            .filter(|&kind| may(kind))
            .find_map(first)?;
        Some(self.0.remove(index))
    }

    pub(super) fn remove(&mut self, id: &ChallengeId) {
        self.0.retain(|waiting| waiting.challenge.id != *id);
    }

    /// Takes out those who have waited long enough.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<QueuedChallenge> {
        let late = |waiting: &mut QueuedChallenge| waiting.until <= now;
        self.0.extract_if(.., late).collect()
    }

    /// When the first has waited long enough.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.0.iter().map(|waiting| waiting.until).min()
    }
}
