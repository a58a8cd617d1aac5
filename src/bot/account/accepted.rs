//! Accepted challenges whose game has not begun.
//!
//! Each is tied to an id and expires. Before that, the bot fetches the server's list of running
//! games once, so that a game whose announcement was missed still finds its accepted challenge.

use std::time::Instant;

use super::slots::{OpponentKind, SlotUsage};
use crate::lichess::{ChallengeId, GameId, GameInfo, UserId};

/// An accepted challenge whose game has not begun.
#[derive(Debug)]
pub(super) struct AcceptedChallenge {
    pub(super) id: ChallengeId,
    pub(super) opponent: Option<UserId>,
    pub(super) kind: OpponentKind,
    /// The game this is a rematch of; the new game may get another id.
    pub(super) rematch_of: Option<GameId>,
    /// Whether the challenge was rated when judged.
    pub(super) rated: bool,
    /// Whether the game will take a slot.
    pub(super) takes_slot: bool,
    pub(super) expires: Instant,
    /// How often the accept was sent.
    pub(super) tries: u32,
    /// When to send the accept again.
    pub(super) again: Option<Instant>,
    /// When the server answered "ok".
    pub(super) done: Option<Instant>,
    /// Whether it is overdue and the list was requested.
    pub(super) stale: bool,
}

#[derive(Debug, Default)]
pub(super) struct AcceptedChallenges(Vec<AcceptedChallenge>);

impl AcceptedChallenges {
    pub(super) fn push(&mut self, accepted: AcceptedChallenge) {
        self.0.push(accepted);
    }

    pub(super) fn holds(&self, id: &ChallengeId) -> bool {
        self.0.iter().any(|accepted| accepted.id == *id)
    }

    pub(super) fn get_mut(&mut self, id: &ChallengeId) -> Option<&mut AcceptedChallenge> {
        self.0.iter_mut().find(|accepted| accepted.id == *id)
    }

    pub(super) fn remove(&mut self, id: &ChallengeId) -> Option<AcceptedChallenge> {
        let index = self.0.iter().position(|accepted| accepted.id == *id)?;
        Some(self.0.remove(index))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn count(&self, tally: &mut SlotUsage) {
        let with_slot = self.0.iter().filter(|accepted| accepted.takes_slot);
        with_slot.for_each(|accepted| tally.add(accepted.kind));
    }

    /// Accepted challenges of this opponent.
    pub(super) fn with(&self, opponent: &UserId) -> u32 {
        self.number(|accepted| accepted.opponent.as_ref() == Some(opponent))
    }

    /// Accepted challenges of this opponent without an answer to the accept yet.
    pub(super) fn unanswered_with(&self, opponent: &UserId) -> u32 {
        self.number(|accepted| {
            accepted.done.is_none() && accepted.opponent.as_ref() == Some(opponent)
        })
    }

    /// Accepted challenges of opponents of this kind.
    pub(super) fn of_kind(&self, kind: OpponentKind) -> u32 {
        self.number(|accepted| accepted.kind == kind)
    }

    fn number(&self, counts: impl Fn(&AcceptedChallenge) -> bool) -> u32 {
        let number = self.0.iter().filter(|accepted| counts(accepted)).count();
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Removes the accepted challenge of a game: the one with its id; otherwise, since a rematch
    /// may get another id, one of the same opponent, preferably a rematch.
    pub(super) fn take(&mut self, game: &GameInfo) -> Option<AcceptedChallenge> {
        let opponent = game.opponent.id.as_ref();
        let by_id = |accepted: &AcceptedChallenge| accepted.id.as_str() == game.id.as_str();
        let by_opponent = |accepted: &AcceptedChallenge| {
            opponent.is_some() && accepted.opponent.as_ref() == opponent
        };
        let accepted = &self.0;
        let index = accepted
            .iter()
            .position(by_id)
            .or_else(|| {
                accepted
                    .iter()
                    .position(|p| p.rematch_of.is_some() && by_opponent(p))
            })
            .or_else(|| accepted.iter().position(by_opponent))?;
        Some(self.0.remove(index))
    }

    /// When the next of them is due.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        let moments = self.0.iter().flat_map(|p| [Some(p.expires), p.again]);
        moments.flatten().min()
    }

    /// The accepts due for a retry; each gets as long as the first.
    pub(super) fn due(
        &mut self,
        now: Instant,
        until: Instant,
    ) -> impl Iterator<Item = &AcceptedChallenge> {
        let due = move |accepted: &&mut AcceptedChallenge| {
            accepted.again.is_some_and(|again| again <= now)
        };
        self.0.iter_mut().filter(due).map(move |accepted| {
            accepted.again = None;
            accepted.tries += 1;
            accepted.expires = accepted.expires.max(until);
            &*accepted
        })
    }

    /// Removes those that were overdue before, and gives the others `grace` to appear on the list.
    /// Also returns whether to fetch the list.
    pub(super) fn expire(
        &mut self,
        now: Instant,
        grace: Instant,
    ) -> (Vec<AcceptedChallenge>, bool) {
        let over = |accepted: &mut AcceptedChallenge| accepted.expires <= now && accepted.stale;
        let gone = self.0.extract_if(.., over).collect();
        let mut wanted = false;
        for accepted in self.0.iter_mut().filter(|accepted| accepted.expires <= now) {
            accepted.stale = true;
            accepted.expires = grace;
            wanted = true;
        }
        (gone, wanted)
    }

    /// Removes those without a game on a list requested after `settled`: overdue ones, and those
    /// answered "ok" well before.
    pub(super) fn not_listed(&mut self, settled: Option<Instant>) -> Vec<AcceptedChallenge> {
        let answered = |accepted: &AcceptedChallenge| {
            settled.is_some_and(|by| accepted.done.is_some_and(|done| done < by))
        };
        let void = |accepted: &mut AcceptedChallenge| accepted.stale || answered(accepted);
        self.0.extract_if(.., void).collect()
    }
}
