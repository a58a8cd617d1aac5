//! Incoming challenges, from the policy's decision to the accepted challenge.

use std::time::Instant;

use super::AccountState;
use super::slots::{AcceptedChallenge, QueuedChallenge};
use crate::bot::account_event::{AcceptOutcome, AccountEffect, Decline};
use crate::bot::challenge_policy::{
    Availability, ChallengeContext, ChallengeRule, Decision, OpponentHistory, PolicyOutcome,
    Violation, evaluate_challenge,
};
use crate::bot::game::chat::no_show_key;
use crate::bot::quota::OpponentKind;
use crate::bot::state::BotState;
use crate::lichess::{Challenge, ChallengeId, Compat, DeclineReason, Player};

/// How often to send an accept that got no answer.
const MAX_TRIES: u32 = 7;

impl AccountState {
    pub(super) fn challenged(&mut self, challenge: &Challenge, compat: Option<Compat>) {
        let id = &challenge.id;
        if self.queue.holds(id) || self.tracks(&id.as_game()) {
            return;
        }
        if self.awaits_lists {
            self.unjudged.retain(|(other, _)| other.id != *id);
            return self.unjudged.push((challenge.clone(), compat));
        }
        let kind = OpponentKind::of(challenge.challenger.as_ref());
        let outcome = self.evaluate(challenge, compat, kind);
        match outcome.decision {
            Decision::Accept => {
                let accepted = self.hold_slot(challenge, kind);
                self.reserve(&accepted);
                self.out.push(accepted.accept());
                self.accepted.push(accepted);
            }
            Decision::Decline(_) if outcome.lacks(ChallengeRule::NoSlot) => {
                self.wait(challenge, compat, kind);
            }
            Decision::Decline(reason) => {
                if outcome.lacks(ChallengeRule::BotsSpent) {
                    self.state.turned_away();
                }
                self.out
                    .push(refusal(challenge, kind, reason, outcome.decided_by()));
            }
            Decision::Ignore => {}
        }
    }

    fn evaluate(
        &self,
        challenge: &Challenge,
        compat: Option<Compat>,
        kind: OpponentKind,
    ) -> PolicyOutcome {
        let opponent = challenge.challenger.as_ref().and_then(|p| p.id.as_ref());
        // A correspondence game takes no slot: only a closed bot keeps it out.
        let open = match self.availability(kind) {
            Availability::Full if !challenge.time_control.has_clock() => Availability::Open,
            open => open,
        };
        let context = ChallengeContext {
            me: &self.me,
            rating: self.rating,
            lists: &self.lists,
            past: self.past(challenge, kind),
            rated_rests: challenge.rated && self.state.rated_rest(opponent).is_some(),
            open,
        };
        evaluate_challenge(challenge, compat, &self.settings.challenge, &context)
    }

    /// The history with a challenger. An accepted challenge counts before its game begins.
    fn past(&self, challenge: &Challenge, kind: OpponentKind) -> OpponentHistory {
        let about_to = self.accepted.number(|it| it.kind == kind);
        let kind_today = self.state.games_today(kind.is_bot()) + about_to;
        let Some(opponent) = challenge.challenger.as_ref().and_then(|p| p.id.as_ref()) else {
            return OpponentHistory {
                kind_today,
                ..OpponentHistory::default()
            };
        };
        let rules = self.settings.challenge.rules_for(kind.is_bot());
        let record = self.state.opponent(opponent);
        let accepted = self.state.accepted_within(opponent, rules.repeat_window);
        let theirs = |it: &AcceptedChallenge| it.opponent.as_ref() == Some(opponent);
        let waiting = self.accepted.number(theirs);
        // Games without a clock take no slot from those with one: each kind counts by itself.
        let has_clock = challenge.time_control.has_clock();
        let before = challenge.rematch_of.as_ref();
        let (games, is_known) = if has_clock {
            let active = self.games.values();
            let active = active.filter(|game| game.opponent.as_ref() == Some(opponent));
            let is_known = before.is_some_and(|game| self.games.contains_key(game));
            (active.count() as u32, is_known)
        } else {
            let is_known = before.is_some_and(|game| self.correspondence.contains(game));
            (self.correspondence.with(opponent), is_known)
        };
        let alike = |it: &AcceptedChallenge| theirs(it) && it.takes_slot == has_clock;
        let games = games + self.accepted.number(alike);
        OpponentHistory {
            // A rematch takes the place of a game that the bot may not know to be over.
            at_once: games.saturating_sub(u32::from(is_known)),
            lately: accepted + self.accepted.number(|it| theirs(it) && it.done.is_none()),
            rematches: record.rematches_in_a_row,
            today: record.games_today + waiting,
            kind_today,
            rests: self.state.resting(&no_show_key(opponent)).is_some(),
        }
    }

    /// Charges a bot's game to the quota, so that two decisions in a row cannot both spend the last
    /// one; the accept call waits until that is on disk. Humans' games are recorded as well: any game
    /// may begin and end before the bot sees its events.
    fn reserve(&self, accepted: &AcceptedChallenge) {
        self.state.expect_game(&accepted.id.as_game());
        let opponent = accepted.opponent.as_ref();
        if let Some(opponent) = opponent.filter(|_| accepted.kind.is_bot()) {
            self.state.hold_accept(&accepted.id, opponent);
        }
    }

    /// Queues a challenge for a slot. If the bot's own challenge holds that slot, withdraws it.
    fn wait(&mut self, challenge: &Challenge, compat: Option<Compat>, kind: OpponentKind) {
        let rules = &self.settings.challenge;
        let mut waiting = QueuedChallenge {
            challenge: Box::new(challenge.clone()),
            compat,
            until: self.now + rules.queue,
            kind,
        };
        // The slot of the bot's own challenge is as good as free, so there is one more place in the
        // queue.
        let displaces = self.would_displace(kind);
        let mut places = rules.queue_places;
        if displaces && (places == 0 || rules.queue.is_zero()) {
            places = places.max(1);
            waiting.until = self.now + self.timing.again;
        } else if rules.queue.is_zero() {
            places = 0;
        }
        if let Some(gone) = self.queue.push(waiting, places) {
            self.out.push(no_slot(&gone));
        }
        if displaces {
            self.cancel_outgoing();
        }
    }

    /// Whether withdrawing the bot's own challenge would free a slot for this kind.
    fn would_displace(&self, kind: OpponentKind) -> bool {
        self.outgoing.is_some() && self.plan().room(kind, self.tally_of_games()) > 0
    }

    /// Gives free slots to queued challenges and declines those that waited too long.
    pub(super) fn fill_slots(&mut self) {
        while !self.queue.is_empty() {
            let [humans, bots] =
                [OpponentKind::Human, OpponentKind::Bot].map(|kind| self.availability(kind));
            let may = |kind: OpponentKind| {
                let open = if kind.is_bot() { bots } else { humans };
                open != Availability::Full
            };
            let Some(waiting) = self.queue.pop(may) else {
                break;
            };
            self.challenged(&waiting.challenge, waiting.compat);
        }
        for late in self.queue.expired(self.now) {
            self.out.push(no_slot(&late));
        }
    }

    fn hold_slot(&self, challenge: &Challenge, kind: OpponentKind) -> AcceptedChallenge {
        let challenger = challenge.challenger.as_ref();
        AcceptedChallenge {
            id: challenge.id.clone(),
            opponent: challenger.and_then(|player| player.id.clone()),
            kind,
            rematch_of: challenge.rematch_of.clone(),
            rated: challenge.rated,
            takes_slot: challenge.time_control.has_clock(),
            expires: self.now + self.timing.accepted,
            tries: 1,
            lost_calls: 0,
            again: None,
            done: None,
            awaits_list: None,
        }
    }

    /// A challenge was withdrawn or declined by either side: drops it from the queue, or frees its
    /// slot.
    pub(super) fn withdrawn(&mut self, id: &ChallengeId) {
        self.drop_accepted(id);
        self.queue.remove(id);
        self.unjudged.retain(|(challenge, _)| challenge.id != *id);
        self.outgoing_is_gone(id);
    }

    /// Handles the outcome of an accept. Whatever it is, a game that begins is played.
    pub(super) fn accepted(&mut self, id: &ChallengeId, answer: &AcceptOutcome) {
        let patience = self.settings.challenge.queue;
        let timing = self.timing;
        let Some(accepted) = self.accepted.get_mut(id) else {
            // It was withdrawn, or its game has begun.
            return;
        };
        match answer {
            AcceptOutcome::Done => {
                accepted.expires = self.now + timing.accepted;
                accepted.done = Some(self.now);
                accepted.count_for(&self.state);
            }
            AcceptOutcome::Lost if accepted.tries < MAX_TRIES => {
                accepted.lost_calls += 1;
                // Retry at once where possible: a challenger kept waiting leaves.
                let pause = timing.retry.saturating_mul(1 << accepted.tries.min(8)) / 2;
                let pause = pause.min(timing.retry_cap);
                accepted.again = Some(self.now + pause);
                accepted.expires = accepted.expires.max(self.now + timing.accepted);
            }
            AcceptOutcome::Limited(wait) => {
                let wait = wait.unwrap_or(timing.limited_wait);
                if wait <= patience && accepted.tries < MAX_TRIES {
                    accepted.again = Some(self.now + wait);
                    accepted.expires = accepted.expires.max(self.now + wait + timing.again);
                } else {
                    self.give_up(id, "Lichess does not allow the game now");
                }
            }
            AcceptOutcome::OurDay => self.give_up(id, "bot games of the day used up"),
            AcceptOutcome::TheirDay => self.give_up(id, "the opponent's bot games are used up"),
            AcceptOutcome::Lost => {
                accepted.lost_calls += 1;
                self.not_accepted(id);
            }
            AcceptOutcome::Refused | AcceptOutcome::Gone => {
                self.not_accepted(id);
            }
        }
    }

    /// Declines a challenge that cannot be accepted after all.
    fn give_up(&mut self, id: &ChallengeId, why: &str) {
        let Some(accepted) = self.accepted.get_mut(id) else {
            return;
        };
        let challenger = accepted.opponent.as_ref().map(ToString::to_string);
        let decline = Decline {
            id: id.clone(),
            reason: DeclineReason::Later,
            from: accepted.kind,
            challenger: challenger.unwrap_or_else(|| "Anonymous".to_owned()),
            has_clock: accepted.takes_slot,
            rule: None,
            why: why.to_owned(),
        };
        self.not_accepted(id);
        self.out.push(AccountEffect::Decline(Box::new(decline)));
    }

    /// Drops a challenge whose accept failed. If an earlier call may have arrived, it keeps its slot
    /// until the list of running games tells whether there is a game.
    fn not_accepted(&mut self, id: &ChallengeId) {
        let grace = self.now + self.timing.again * 2;
        match self.accepted.get_mut(id) {
            Some(accepted) if accepted.lost_calls > 0 => {
                accepted.await_list(self.now, grace);
                self.ask_for_list();
            }
            _ => self.drop_accepted(id),
        }
    }

    /// Drops an accepted challenge without a game: frees its slot and refunds the quota.
    pub(super) fn drop_accepted(&mut self, id: &ChallengeId) {
        if let Some(accepted) = self.accepted.remove(id) {
            self.release_game(&accepted);
            self.state.forget_game(&accepted.id.as_game());
        }
    }

    pub(super) fn release_game(&self, accepted: &AcceptedChallenge) {
        if accepted.kind.is_bot() {
            self.state.release(accepted.id.as_str());
        }
    }
}

impl AcceptedChallenge {
    /// Counts it for its opponent, once: at the answer or at its game, whichever comes first.
    pub(super) fn count_for(&self, state: &BotState) {
        if let Some(opponent) = &self.opponent {
            state.accepted(&self.id, opponent, self.kind.is_bot());
        }
    }

    /// Only a list of running games that is requested from now on, or `until`, decides whether it has
    /// a game.
    pub(super) fn await_list(&mut self, now: Instant, until: Instant) {
        self.awaits_list = Some(now);
        self.again = None;
        self.expires = until;
    }

    pub(super) fn accept(&self) -> AccountEffect {
        AccountEffect::Accept {
            id: self.id.clone(),
            from: self.kind,
            opponent: self.opponent.clone(),
        }
    }
}

fn refusal(
    challenge: &Challenge,
    from: OpponentKind,
    reason: DeclineReason,
    decided: Option<&Violation>,
) -> AccountEffect {
    let challenger = challenge.challenger.as_ref();
    AccountEffect::Decline(Box::new(Decline {
        id: challenge.id.clone(),
        reason,
        from,
        challenger: challenger.map_or_else(|| "Anonymous".to_owned(), Player::display_name),
        has_clock: challenge.time_control.has_clock(),
        rule: decided.map(|violation| violation.rule),
        why: decided.map_or_else(String::new, ToString::to_string),
    }))
}

fn no_slot(waiting: &QueuedChallenge) -> AccountEffect {
    let violation = Violation {
        rule: ChallengeRule::NoSlot,
        reason: DeclineReason::Later,
        detail: String::new(),
    };
    let kind = waiting.kind;
    refusal(&waiting.challenge, kind, violation.reason, Some(&violation))
}
