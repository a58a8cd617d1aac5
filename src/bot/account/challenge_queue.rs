//! Challenges that found every slot taken and briefly wait for one.
//!
//! A game's end and the next challenge arrive on two streams, in either order: an opponent who
//! challenges while the last move is still on its way must not be declined. It is a moment, not a
//! waiting list: no challenger waits longer than a person looks at the screen, and one without a
//! slot is declined. Humans go before bots, and a waiting bot never delays a human.

use std::time::Instant;

use super::slots::OpponentKind;
use crate::lichess::{Challenge, ChallengeId, Compat};

/// A challenge that would be accepted if a slot were free.
#[derive(Debug)]
pub(super) struct QueuedChallenge {
    pub(super) challenge: Box<Challenge>,
    pub(super) compat: Option<Compat>,
    pub(super) until: Instant,
    pub(super) kind: OpponentKind,
}

/// Queued challenges in order of arrival.
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

    /// Queues a challenge if there are `places`. Returns the one displaced: the latest bot makes
    /// room for a human, otherwise the new challenge itself.
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

    /// The next challenge whose kind `may` start a game: humans first, then in order of arrival.
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

    /// Removes challenges that have waited long enough.
    pub(super) fn expired(&mut self, now: Instant) -> Vec<QueuedChallenge> {
        let late = |waiting: &mut QueuedChallenge| waiting.until <= now;
        self.0.extract_if(.., late).collect()
    }

    /// When the first has waited long enough.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.0.iter().map(|waiting| waiting.until).min()
    }
}
