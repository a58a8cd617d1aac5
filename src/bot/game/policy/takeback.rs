//! Takebacks: granted up to the operator's limit in casual games, otherwise declined explicitly.
//!
//! Granting changes nothing here: the shorter list stops the search. A move ends every proposal, and
//! the server takes a "yes" without a proposal for one of ours. So the bot answers nothing while its
//! own move is on the way, sends no move while its "yes" is on the way, and withdraws a proposal in
//! its own name.

use std::time::Instant;

use super::common::Retry;
use crate::bot::game::event::{CallOutcome, GameEffect, GameRequest, LastState, Persist};
use crate::bot::game::machine::GameMachine;

#[derive(Debug, Default)]
pub(super) struct TakebackPolicy {
    /// Whether they proposed one in the last state, and no move of ours is on the way to end that.
    theirs: bool,
    /// Whether we did, as the last state has it.
    ours: bool,
    granting: Option<Retry>,
    /// Number granted in this game.
    granted: u32,
}

impl TakebackPolicy {
    pub(in crate::bot::game) fn new(granted: u32) -> Self {
        Self {
            granted,
            ..Self::default()
        }
    }

    pub(in crate::bot::game) fn next_timeout(&self) -> Option<Instant> {
        self.granting.and_then(|granting| granting.next_timeout())
    }
}

impl GameMachine {
    /// Handles the flags in the state just read; each counts when it appears.
    pub(in crate::bot::game) fn takeback_flags(&mut self) {
        let Some((setup, LastState { state, .. })) = self.known() else {
            return;
        };
        let ours = state.proposes_takeback(setup.us);
        let theirs = state.proposes_takeback(setup.us.other()) && self.sent().is_none();
        let takebacks = &mut self.policies.takebacks;
        let (new, withdraws) = (theirs && !takebacks.theirs, ours && !takebacks.ours);
        (takebacks.theirs, takebacks.ours) = (theirs, ours);
        if !theirs {
            takebacks.granting = None;
        }
        let grants = new && self.grants_takeback();
        // The server takes a "no" for the answer to theirs and for the end of ours.
        if withdraws || new && !grants {
            self.out
                .push(GameEffect::Request(GameRequest::DeclineTakeback));
        }
        if !grants {
            return;
        }
        let takebacks = &mut self.policies.takebacks;
        takebacks.granted += 1;
        takebacks.granting = Some(Retry::begun());
        let so_far = takebacks.granted;
        self.out
            .push(GameEffect::Request(GameRequest::AcceptTakeback));
        self.out
            .push(GameEffect::Persist(Persist::TakebackGranted { so_far }));
        self.hold_for_takeback();
    }

    fn grants_takeback(&self) -> bool {
        let Some(setup) = &self.setup else {
            return false;
        };
        let rules = &self.settings.takeback;
        let most = if setup.opponent_is_bot {
            rules.bots
        } else {
            rules.humans
        };
        !setup.rated && !setup.arena && self.policies.takebacks.granted < most
    }

    /// Whether a granted takeback has yet to take effect.
    pub(in crate::bot::game) fn grants_now(&self) -> bool {
        self.policies.takebacks.granting.is_some()
    }

    pub(in crate::bot::game) fn takeback_answered(&mut self, answer: &CallOutcome) {
        if let Some(granting) = &mut self.policies.takebacks.granting {
            granting.answered(answer, &self.timing, self.now);
        }
    }

    pub(in crate::bot::game) fn takeback_tick(&mut self) {
        let sent = self.sent().is_some();
        if let Some(granting) = &mut self.policies.takebacks.granting
            && granting.is_due(self.now)
            && !sent
        {
            self.out
                .push(GameEffect::Request(GameRequest::AcceptTakeback));
        }
    }
}
