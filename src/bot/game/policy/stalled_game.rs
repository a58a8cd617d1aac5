//! Games in which nothing happens any more: they are kept, but not on a seat of their own.
//!
//! A game can get into a state in which it can be neither played, aborted nor resigned, and the
//! server keeps it for weeks. Once whoever is to move should have lost on time long ago, or no abort
//! helps, the house is told, and told again should the game come back to life.

use std::time::Instant;

use super::Glance;
use crate::bot::game::event::{Anomaly, GameEffect, Notification};
use crate::bot::game::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::move_list::MoveListChange;
use crate::lichess::Side;

/// What is remembered about it.
#[derive(Debug, Default)]
pub(super) struct StalledGame {
    /// When the game counts as standing still.
    at: Option<Instant>,
    told: bool,
}

impl StalledGame {
    pub(super) fn wake_at(&self) -> Option<Instant> {
        self.at.filter(|_| !self.told)
    }
}

impl GameMachine {
    /// Whether nothing happens in this game any more.
    pub fn stands_still(&self) -> bool {
        self.manners.standstill.told
    }

    /// A state was read: from now on somebody's clock runs.
    pub(super) fn watch_progress(&mut self, glance: Glance, out: &mut Vec<GameEffect>) {
        let moved = glance.change != MoveListChange::Same;
        if moved && std::mem::take(&mut self.manners.standstill.told) {
            out.push(GameEffect::Tell(Notification::Revived));
        }
        self.manners.standstill.at = self.flag_falls_within().and_then(|left| {
            let patience = left.saturating_add(self.pace.standstill);
            glance.now.checked_add(patience)
        });
    }

    /// How long whoever is to move can take at the most.
    fn flag_falls_within(&self) -> Option<std::time::Duration> {
        let (setting, shown) = (self.setting.as_ref()?, self.shown.as_ref()?);
        if !setting.clocked || self.ply() < FIRST_PLIES {
            return None;
        }
        let mover = if self.ply().is_multiple_of(2) {
            Side::White
        } else {
            Side::Black
        };
        shown.state.time(mover)
    }

    pub(super) fn standstill_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        let mut overdue = self.manners.standstill.at.is_some_and(|at| at <= now);
        if overdue && self.is_our_turn() && self.frozen().is_none() {
            // Ours is the next word: after a sleep of the machine it comes first.
            self.manners.standstill.at = now.checked_add(self.pace.standstill);
            overdue = false;
        }
        let stuck = self.manners.first_move.is_stuck()
            || self
                .manners
                .refusal
                .as_ref()
                .is_some_and(super::UnsupportedGame::is_stuck);
        if overdue {
            self.manners.standstill.at = None;
        }
        if (overdue || stuck) && !self.manners.standstill.told {
            self.manners.standstill.told = true;
            out.push(GameEffect::Note(Anomaly::Standstill));
            out.push(GameEffect::Tell(Notification::Standstill));
        }
    }
}
