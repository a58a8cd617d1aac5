//! Our one outgoing challenge.
//!
//! It holds a slot from before it is sent until its game starts or it is known to be gone. Incoming
//! challenges take precedence: if only this slot is missing for one, ours is withdrawn first, and only then
//! is the other accepted.

use std::time::Instant;

use super::event::AccountEffect;
use super::slots::{OpponentKind, SlotUsage};
use super::state::AccountState;
use crate::bot::game::CallOutcome;
use crate::lichess::{ChallengeId, GameId, GameInfo, UserId};

/// How often a cancellation that brought no answer is sent.
const MOST_TRIES: u32 = 4;

/// Our challenge, from the moment that its slot is taken.
#[derive(Debug)]
pub(super) struct OutgoingChallenge {
    opponent: UserId,
    kind: OpponentKind,
    /// What the server calls it, once it has answered.
    id: Option<ChallengeId>,
    /// A game with the opponent that began before the server's answer: probably this one's.
    game: Option<GameId>,
    expires: Instant,
    /// It is to be taken back, as soon as its id is known.
    unwanted: bool,
    cancelling: bool,
    tries: u32,
    again: Option<Instant>,
}

/// What the outside may do about a challenge of ours.
impl AccountState {
    /// How many slots a challenge of our own may take now: none while anyone waits or one of ours
    /// is out, and never one that is kept for humans.
    pub fn spare(&self) -> usize {
        if self.is_closed() || self.outgoing.is_some() || !self.queue.is_empty() {
            return 0;
        }
        self.plan().room(OpponentKind::Bot, self.tally())
    }

    /// Takes a slot for a challenge of our own that is about to be sent. Says whether there was
    /// one.
    pub fn hold(&mut self, opponent: &UserId, kind: OpponentKind, now: Instant) -> bool {
        if self.spare() == 0 {
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

    /// The server has made it: this is its id.
    #[must_use]
    pub fn held(&mut self, id: ChallengeId, now: Instant) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        // A game of this id may have begun before the answer came.
        let begun = self.games.contains(&id.as_game());
        let Some(outgoing) = self.outgoing.as_mut().filter(|known| known.id.is_none()) else {
            // No one waits for it any more: better no challenge than one that no one knows of.
            if !begun {
                out.push(AccountEffect::Cancel(id));
            }
            return out;
        };
        let takes_seat = outgoing
            .game
            .as_ref()
            .is_none_or(|game| *game != id.as_game());
        if begun || !takes_seat {
            self.outgoing = None;
        } else {
            outgoing.id = Some(id);
            outgoing.game = None;
            outgoing.expires = now + self.timing.hold;
            if outgoing.unwanted {
                outgoing.cancel(&mut out);
            }
        }
        self.params(now, &mut out);
        out
    }

    /// It never came about, was declined, or is known to be gone.
    #[must_use]
    pub fn release(&mut self, now: Instant) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        self.outgoing = None;
        self.params(now, &mut out);
        out
    }

    /// Takes it back; the slot is free once the server has said what became of it.
    #[must_use]
    pub fn withdraw(&mut self) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        self.take_back(&mut out);
        out
    }

    /// Whether a challenge of ours holds a slot.
    pub fn is_asking(&self) -> bool {
        self.outgoing.is_some()
    }

    /// The id of our challenge, while it holds a slot.
    pub fn outgoing(&self) -> Option<&ChallengeId> {
        self.outgoing.as_ref().and_then(|known| known.id.as_ref())
    }
}

/// What the account state does about it by itself.
impl AccountState {
    pub(super) fn take_back(&mut self, out: &mut Vec<AccountEffect>) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.unwanted = true;
            outgoing.cancel(out);
        }
    }

    /// What became of taking it back. A yes may still be followed by its game.
    pub(super) fn canceled(
        &mut self,
        id: &ChallengeId,
        answer: &CallOutcome,
        now: Instant,
        out: &mut Vec<AccountEffect>,
    ) {
        let retry = now + self.timing.retry_cap;
        let Some(outgoing) = self.outgoing_of(id) else {
            return;
        };
        outgoing.cancelling = false;
        match answer {
            CallOutcome::Done | CallOutcome::Gone => self.outgoing = None,
            // It has become a game that is under way: the list tells.
            CallOutcome::Refused { .. } => self.ask_for_list(now, out),
            CallOutcome::Lost if outgoing.tries < MOST_TRIES => outgoing.again = Some(retry),
            CallOutcome::Limited { wait } => {
                let wait = wait.unwrap_or(self.timing.limited_wait);
                if let Some(outgoing) = self.outgoing_of(id) {
                    outgoing.again = now.checked_add(wait);
                }
            }
            CallOutcome::Lost => {}
        }
    }

    fn outgoing_of(&mut self, id: &ChallengeId) -> Option<&mut OutgoingChallenge> {
        self.outgoing
            .as_mut()
            .filter(|known| known.id.as_ref() == Some(id))
    }

    /// A challenge of ours was declined or cancelled, by whomever.
    pub(super) fn outgoing_is_gone(&mut self, id: &ChallengeId) {
        if self.outgoing_of(id).is_some() {
            self.outgoing = None;
        }
    }

    /// Whether a game that begins is the one of our challenge; its slot goes over to the game.
    pub(super) fn outgoing_becomes(&mut self, game: &GameInfo) -> Option<OpponentKind> {
        let outgoing = self.outgoing.as_mut()?;
        let kind = outgoing.kind;
        match &outgoing.id {
            Some(id) if id.as_str() == game.id.as_str() => self.outgoing = None,
            // The game was quicker than the answer with its id.
            None if outgoing.game.is_none()
                && game.opponent.id.as_ref() == Some(&outgoing.opponent) =>
            {
                outgoing.game = Some(game.id.clone());
            }
            _ => return None,
        }
        Some(kind)
    }

    /// What time brings: a cancellation once more, or the end of a hold that no one has ended.
    pub(super) fn tick_outgoing(&mut self, now: Instant, out: &mut Vec<AccountEffect>) {
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        if outgoing.expires <= now {
            outgoing.cancelling = false;
            outgoing.cancel(out);
            self.outgoing = None;
            self.ask_for_list(now, out);
        } else if outgoing.again.is_some_and(|again| again <= now) {
            outgoing.again = None;
            outgoing.cancel(out);
        }
    }
}

impl OutgoingChallenge {
    fn cancel(&mut self, out: &mut Vec<AccountEffect>) {
        if let Some(id) = self.id.as_ref().filter(|_| !self.cancelling) {
            self.cancelling = true;
            self.tries += 1;
            out.push(AccountEffect::Cancel(id.clone()));
        }
    }

    pub(super) fn count(&self, tally: &mut SlotUsage) {
        // Its game sits already, if it began before the answer.
        if self.game.is_none() {
            tally.add(self.kind);
        }
    }

    pub(super) fn kind(&self) -> OpponentKind {
        self.kind
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        [Some(self.expires), self.again].into_iter().flatten().min()
    }
}
