//! Slots: how many there are, and which games use them.
//!
//! Data and counting only. A correspondence game takes no slot.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::bot::quota::OpponentKind;
use crate::lichess::{Challenge, ChallengeId, Compat, GameId, GameInfo, UserId};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotLimits {
    pub(super) all: usize,
    /// Slots that bots never get.
    pub(super) for_humans: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SlotUsage {
    pub(super) all: usize,
    pub(super) bots: usize,
}

impl SlotUsage {
    pub(super) fn add(&mut self, kind: OpponentKind) {
        self.all += 1;
        self.bots += usize::from(kind.is_bot());
    }
}

impl SlotLimits {
    /// Free slots for this kind.
    pub(super) fn room(self, kind: OpponentKind, taken: SlotUsage) -> usize {
        let free = self.all.saturating_sub(taken.all);
        match kind {
            OpponentKind::Human => free,
            OpponentKind::Bot => {
                let for_bots = self.all.saturating_sub(self.for_humans);
                free.min(for_bots.saturating_sub(taken.bots))
            }
        }
    }
}

/// A game with a game task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActiveGame {
    pub(super) opponent: Option<UserId>,
    pub(super) kind: OpponentKind,
    /// A stalled game: has a game task but no slot.
    pub(super) stalled: bool,
}

/// The games with a game task.
pub(super) type ActiveGames = BTreeMap<GameId, ActiveGame>;

/// An accepted challenge whose game has not begun.
///
/// Each is tied to an id and expires. Before that, the bot fetches the server's list of running
/// games once, so that a game whose announcement was missed still finds its accepted challenge.
#[derive(Debug)]
pub(super) struct AcceptedChallenge {
    pub(super) id: ChallengeId,
    pub(super) opponent: Option<UserId>,
    pub(super) kind: OpponentKind,
    /// The game this is a rematch of; the new game may get another id.
    pub(super) rematch_of: Option<GameId>,
    /// Whether the challenge was rated when accepted.
    pub(super) rated: bool,
    /// Whether the game will take a slot.
    pub(super) takes_slot: bool,
    pub(super) expires: Instant,
    /// How often the accept was sent.
    pub(super) tries: u32,
    /// How many accepts got no answer: each may have arrived.
    pub(super) lost_calls: u32,
    /// When to send the accept again.
    pub(super) again: Option<Instant>,
    /// When the server answered "ok".
    pub(super) done: Option<Instant>,
    /// Since when only the list of running games decides about it.
    pub(super) awaits_list: Option<Instant>,
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

    /// How many of them count.
    pub(super) fn number(&self, counts: impl Fn(&AcceptedChallenge) -> bool) -> u32 {
        let number = self.0.iter().filter(|accepted| counts(accepted)).count();
        u32::try_from(number).unwrap_or(u32::MAX)
    }

    /// Removes the accepted challenge of a game: the one with its id; otherwise, since a rematch
    /// may get another id, one of the same opponent, preferably a rematch. Not if the bot has moved: then
    /// the game is an older one.
    pub(super) fn take(&mut self, game: &GameInfo) -> Option<AcceptedChallenge> {
        let opponent = game.opponent.id.as_ref();
        let by_id = |accepted: &AcceptedChallenge| accepted.id.as_str() == game.id.as_str();
        let by_opponent = |accepted: &AcceptedChallenge| {
            !game.has_moved && opponent.is_some() && accepted.opponent.as_ref() == opponent
        };
        let by_rematch = |it: &AcceptedChallenge| it.rematch_of.is_some() && by_opponent(it);
        let place = |fits: &dyn Fn(&AcceptedChallenge) -> bool| self.0.iter().position(fits);
        let under_another_id = || place(&by_rematch).or_else(|| place(&by_opponent));
        let index = place(&by_id).or_else(under_another_id)?;
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
        let over = |accepted: &mut AcceptedChallenge| {
            accepted.expires <= now && accepted.awaits_list.is_some()
        };
        let gone = self.0.extract_if(.., over).collect();
        let mut wanted = false;
        for accepted in self.0.iter_mut().filter(|accepted| accepted.expires <= now) {
            accepted.await_list(now, grace);
            wanted = true;
        }
        (gone, wanted)
    }

    /// Removes those without a game on a list requested at `asked`: those that waited for it, and
    /// those answered "ok" longer than `settling` before.
    pub(super) fn not_listed(
        &mut self,
        asked: Instant,
        settling: Duration,
    ) -> Vec<AcceptedChallenge> {
        let void = |accepted: &mut AcceptedChallenge| {
            accepted.awaits_list.is_some_and(|since| since <= asked)
                || accepted.done.is_some_and(|done| done + settling < asked)
        };
        self.0.extract_if(.., void).collect()
    }
}

/// A challenge that would be accepted if a slot were free.
#[derive(Debug)]
pub(super) struct QueuedChallenge {
    pub(super) challenge: Box<Challenge>,
    pub(super) compat: Option<Compat>,
    pub(super) until: Instant,
    pub(super) kind: OpponentKind,
}

/// Challenges that found every slot taken and briefly wait for one, in order of arrival.
///
/// A game's end and the next challenge arrive on two streams, in either order: an opponent who
/// challenges while the last move is still on its way must not be declined. It is a moment, not a
/// waiting list: no challenger waits longer than a person looks at the screen, and one without a
/// slot is declined. Humans go before bots, and a waiting bot never delays a human.
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

/// The bot's challenge, from the moment it holds a slot.
#[derive(Debug)]
pub(super) struct OutgoingChallenge {
    pub(super) opponent: UserId,
    pub(super) kind: OpponentKind,
    /// Its id, once the server has answered.
    pub(super) id: Option<ChallengeId>,
    /// A game with the opponent that began before the server's answer: probably this challenge's.
    pub(super) game: Option<GameId>,
    pub(super) expires: Instant,
    /// Withdraw it as soon as its id is known.
    pub(super) unwanted: bool,
    pub(super) cancelling: bool,
    pub(super) tries: u32,
    pub(super) again: Option<Instant>,
}

impl OutgoingChallenge {
    pub(super) fn count(&self, tally: &mut SlotUsage) {
        // If the game began before the answer, it has its slot already.
        if self.game.is_none() {
            tally.add(self.kind);
        }
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        [Some(self.expires), self.again].into_iter().flatten().min()
    }
}

/// Games without a slot.
#[derive(Debug, Default)]
pub(super) struct ExcessGames {
    /// Abort in progress; if it fails, the game is played.
    pub(super) leaving: BTreeMap<GameId, (Box<GameInfo>, Instant)>,
    /// Aborted once; not tried again.
    pub(super) tried: BTreeSet<GameId>,
    /// From then on a game without an accepted challenge is not one from before the start.
    pub(super) settled: Option<Instant>,
}

impl ExcessGames {
    pub(super) fn is_empty(&self) -> bool {
        self.leaving.is_empty()
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.leaving.values().map(|(_, until)| *until).min()
    }

    /// Aborts without any answer, which count as failed.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<GameInfo> {
        let is_late = |_: &GameId, (_, until): &mut (_, Instant)| *until <= now;
        let late = self.leaving.extract_if(.., is_late);
        late.map(|(_, (game, _))| *game).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(all: usize, bots: usize) -> SlotUsage {
        SlotUsage { all, bots }
    }

    #[test]
    fn bots_never_get_slots_reserved_for_humans() {
        let plan = SlotLimits {
            all: 4,
            for_humans: 1,
        };
        assert_eq!(plan.room(OpponentKind::Bot, tally(0, 0)), 3);
        assert_eq!(plan.room(OpponentKind::Bot, tally(3, 3)), 0);
        assert_eq!(plan.room(OpponentKind::Human, tally(3, 3)), 1);
        assert_eq!(plan.room(OpponentKind::Bot, tally(2, 0)), 2);
        assert_eq!(plan.room(OpponentKind::Human, tally(9, 0)), 0);
    }

    #[test]
    fn slots_for_humans_only_leave_no_room_for_bots() {
        let plan = SlotLimits {
            all: 2,
            for_humans: 5,
        };
        assert_eq!(plan.room(OpponentKind::Bot, SlotUsage::default()), 0);
        assert_eq!(plan.room(OpponentKind::Human, SlotUsage::default()), 2);
    }
}
