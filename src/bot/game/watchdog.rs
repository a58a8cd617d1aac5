//! Watches a waiting game: reopens a stream that went quiet, checks the clock, keeps the connection warm.
//!
//! It never touches a pending move, except a plan that the clock has overtaken.

use std::time::{Duration, Instant};

use super::event::{Anomaly, GameEffect};
use super::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::clock::ClockKind;

/// By so much a clock may differ from what it should show: the way of the line, and rounding.
const CLOCK_SLACK: Duration = Duration::from_millis(250);
/// The part of our clock that a line which never came may cost.
const MISSED_PART: u32 = 3;
/// Longest factor by which looks at a list that cannot be read grow rarer.
const MOST_LOOKS: u32 = 12;

/// When something is to be looked at.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    /// Whether something was missed.
    look_at: Option<Instant>,
    /// Lists in a row that could not be read.
    unread: u32,
    /// To keep a connection ready.
    warm_at: Option<Instant>,
}

impl Watchdog {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        [self.look_at, self.warm_at].into_iter().flatten().min()
    }

    /// A list was read: nothing was missed up to here.
    pub(super) fn rest(&mut self) {
        self.look_at = None;
        self.unread = 0;
    }

    /// A move goes out: it keeps its connection itself.
    pub(super) fn rest_warming(&mut self) {
        self.warm_at = None;
    }
}

impl GameMachine {
    pub(super) fn left_at(&self, now: Instant) -> Option<Duration> {
        self.reading()?.left_at(now)
    }

    /// On a state without a new move: whether our clock shows what it should. It may show more,
    /// where time was given; less, where this host slept or the server restarted.
    pub(super) fn check_clock(
        &mut self,
        expected: Option<Duration>,
        now: Instant,
        out: &mut Vec<GameEffect>,
    ) {
        let (Some(expected), Some(left)) = (expected, self.left_at(now)) else {
            return;
        };
        let gone = expected.saturating_sub(left);
        if self.is_our_turn() && gone > CLOCK_SLACK {
            out.push(GameEffect::Note(Anomaly::ClockFell { gone }));
            self.tighten(now);
        }
    }

    /// On the opponent's turn: once their time must be up, see what was missed; and before a lost
    /// line could cost much of our own time, for then it is our clock that runs.
    pub(super) fn watch_opponent(&mut self, now: Instant) {
        let (Some(setup), Some(shown)) = (&self.setup, &self.shown) else {
            return;
        };
        let left = if self.move_list.ply() < FIRST_PLIES {
            shown.state.expiration.map(|expiration| expiration.left())
        } else {
            let left = shown.state.time(setup.us.other());
            left.filter(|_| setup.clocked)
        };
        if let Some(left) = left {
            let mut wait = left.saturating_add(self.timing.again);
            let limited = shown.state.expiration.is_some();
            if let Some(ours) = self.left_at(now).filter(|_| !limited) {
                wait = wait.min((ours / MISSED_PART).max(self.timing.again / 2));
            }
            self.look_after(wait, now);
        }
        self.keep_warm(now);
    }

    /// Whether the opponent still has time: then it is usual that no line comes.
    fn is_early_look(&self, now: Instant) -> bool {
        let theirs = self.setup.as_ref().zip(self.shown.as_ref());
        let left = theirs.and_then(|(setup, shown)| shown.state.time(setup.us.other()));
        let gone = self
            .shown
            .as_ref()
            .map(|shown| now.saturating_duration_since(shown.at));
        !self.is_our_turn() && gone.zip(left).is_some_and(|(gone, left)| gone < left)
    }

    /// Where there is a clock, the next move must find a connection, anyone who thinks and however
    /// long: a forced move has no time for one. Most of these wishes cost no call, for the client
    /// asks only once no one has used the connection for some time, and all games share it.
    pub(super) fn keep_warm(&mut self, now: Instant) {
        let kind = self.reading().map(|reading| reading.kind);
        let clocked = kind.is_some_and(|kind| kind != ClockKind::Unclocked);
        let due = self.watch.warm_at.unwrap_or(now + self.timing.warm);
        self.watch.warm_at = clocked.then_some(due);
    }

    /// Looks whether something was missed, at the latest after `wait`.
    pub(super) fn look_after(&mut self, wait: Duration, now: Instant) {
        let at = now.checked_add(wait);
        self.watch.look_at = [self.watch.look_at, at].into_iter().flatten().min();
    }

    /// A list could not be read: another look, ever later.
    pub(super) fn look_again(&mut self, now: Instant) {
        self.watch.unread += 1;
        self.look_after(self.timing.again * self.watch.unread.min(MOST_LOOKS), now);
    }

    pub(super) fn watch_tick(&mut self, now: Instant, out: &mut Vec<GameEffect>) {
        if self.watch.warm_at.is_some_and(|at| at <= now) {
            self.watch.warm_at = Some(now + self.timing.warm);
            out.push(GameEffect::Warm);
        }
        if self.watch.look_at.is_some_and(|at| at <= now) {
            self.watch.look_at = None;
            if !self.is_early_look(now) {
                out.push(GameEffect::Note(Anomaly::Stale));
            }
            out.push(GameEffect::Reopen);
            // Should even the opening bring nothing, look again.
            self.look_after(self.timing.again * 2, now);
        }
    }
}
