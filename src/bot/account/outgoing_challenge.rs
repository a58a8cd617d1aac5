//! The bot's only open challenge.
//!
//! It holds a slot from before it is sent until its game begins or the challenge is known to be
//! gone. Incoming challenges take precedence: if one lacks only this slot, the bot withdraws its
//! own challenge first and then accepts the other.

use std::time::Instant;

use super::slots::{OpponentKind, SlotUsage};
use super::state::AccountState;
use crate::bot::event::AccountEffect;
use crate::bot::game::CallOutcome;
use crate::lichess::{ChallengeId, GameId, GameInfo, UserId};

/// How often to send a cancellation that got no answer.
const MOST_TRIES: u32 = 4;

/// The bot's challenge, from the moment it holds a slot.
#[derive(Debug)]
pub(super) struct OutgoingChallenge {
    opponent: UserId,
    kind: OpponentKind,
    /// Its id, once the server has answered.
    id: Option<ChallengeId>,
    /// A game with the opponent that began before the server's answer: probably this challenge's.
    game: Option<GameId>,
    expires: Instant,
    /// Withdraw it as soon as its id is known.
    unwanted: bool,
    cancelling: bool,
    tries: u32,
    again: Option<Instant>,
}

/// Calls from outside about the bot's own challenge.
impl AccountState {
    /// Slots available to the bot's own challenge: none while a challenge is queued or one of the
    /// bot's is open, and never a slot reserved for humans.
    pub fn spare(&self) -> usize {
        if self.is_closed() || self.outgoing.is_some() || !self.queue.is_empty() {
            return 0;
        }
        self.plan().room(OpponentKind::Bot, self.tally())
    }

    /// Takes a slot for a challenge about to be sent. Returns whether one was free.
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

    /// Records the id after the server created the challenge.
    #[must_use]
    pub fn held(&mut self, id: ChallengeId, now: Instant) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        // A game with this id may have begun before the answer came.
        let begun = self.games.contains(&id.as_game());
        let Some(outgoing) = self.outgoing.as_mut().filter(|known| known.id.is_none()) else {
            // The hold is gone: withdraw the challenge rather than leave it untracked.
            if !begun {
                out.push(AccountEffect::Cancel(id));
            }
            return out;
        };
        let takes_slot = outgoing
            .game
            .as_ref()
            .is_none_or(|game| *game != id.as_game());
        if begun || !takes_slot {
            self.outgoing = None;
        } else {
            outgoing.id = Some(id);
            outgoing.game = None;
            outgoing.expires = now + self.timing.hold;
            if outgoing.unwanted {
                outgoing.cancel(&mut out);
            }
        }
        self.fill_slots(now, &mut out);
        out
    }

    /// Frees the slot: the challenge was never created, was declined, or is known to be gone.
    #[must_use]
    pub fn release(&mut self, now: Instant) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        self.outgoing = None;
        self.fill_slots(now, &mut out);
        out
    }

    /// Withdraws the challenge; the slot is free once the server has answered.
    #[must_use]
    pub fn withdraw(&mut self) -> Vec<AccountEffect> {
        let mut out = Vec::new();
        self.cancel_outgoing(&mut out);
        out
    }

    /// Whether the bot's own challenge holds a slot.
    pub fn is_asking(&self) -> bool {
        self.outgoing.is_some()
    }

    /// The id of the challenge that holds a slot.
    pub fn outgoing(&self) -> Option<&ChallengeId> {
        self.outgoing.as_ref().and_then(|known| known.id.as_ref())
    }
}

/// Reactions of the account state.
impl AccountState {
    pub(super) fn cancel_outgoing(&mut self, out: &mut Vec<AccountEffect>) {
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.unwanted = true;
            outgoing.cancel(out);
        }
    }

    /// Handles the outcome of a cancellation. Its game may follow even a success.
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
            // It has become a running game, which the list shows.
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

    /// The bot's challenge was declined or cancelled by either side.
    pub(super) fn outgoing_is_gone(&mut self, id: &ChallengeId) {
        if self.outgoing_of(id).is_some() {
            self.outgoing = None;
        }
    }

    /// If a starting game is that of the bot's challenge, passes the slot on to the game.
    pub(super) fn outgoing_becomes(&mut self, game: &GameInfo) -> Option<OpponentKind> {
        let outgoing = self.outgoing.as_mut()?;
        let kind = outgoing.kind;
        match &outgoing.id {
            Some(id) if id.as_str() == game.id.as_str() => self.outgoing = None,
            // The game began before the answer with its id.
            None if outgoing.game.is_none()
                && game.opponent.id.as_ref() == Some(&outgoing.opponent) =>
            {
                outgoing.game = Some(game.id.clone());
            }
            _ => return None,
        }
        Some(kind)
    }

    /// Retries a due cancellation, or ends an expired hold.
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
        // If the game began before the answer, it has its slot already.
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
