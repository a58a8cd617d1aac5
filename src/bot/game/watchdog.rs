//! Watches a waiting game: reopens a stream that went quiet, checks the clock, keeps the connection warm.
//!
//! It never touches a pending move, except a plan that the clock has overtaken.

use std::time::{Duration, Instant};

use super::event::{Anomaly, GameEffect};
use super::machine::{FIRST_PLIES, GameMachine};
use crate::bot::game::clock::ClockKind;

/// How far a clock may differ from its expected value: latency and rounding.
const CLOCK_SLACK: Duration = Duration::from_millis(250);
/// The part of our clock that a lost line may cost.
const MISSED_PART: u32 = 3;
/// Limits how rare the checks of an unreadable list become.
const MOST_LOOKS: u32 = 12;

/// When to check for what.
#[derive(Debug, Default)]
pub(super) struct Watchdog {
    /// When to check for missed lines.
    look_at: Option<Instant>,
    /// Number of consecutive unreadable lists.
    unread: u32,
    /// When to warm the connection.
    warm_at: Option<Instant>,
}

impl Watchdog {
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        [self.look_at, self.warm_at].into_iter().flatten().min()
    }

    /// Called when a list was read: nothing was missed so far.
    pub(super) fn rest(&mut self) {
        self.look_at = None;
        self.unread = 0;
    }

    /// Called when a move is sent: it keeps its connection warm itself.
    pub(super) fn rest_warming(&mut self) {
        self.warm_at = None;
    }
}

impl GameMachine {
    pub(super) fn left_at(&self, now: Instant) -> Option<Duration> {
        self.reading()?.left_at(now)
    }

    /// Checks our clock on a state without a new move. It may show more, if time was added; less,
    /// if the host was suspended or the server restarted.
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

    /// On the opponent's turn: checks for missed lines once their time must be up, and before a
    /// lost line could cost much of our time, for then our clock runs.
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

    /// Whether the opponent still has time: then silence is normal.
    fn is_early_look(&self, now: Instant) -> bool {
        let theirs = self.setup.as_ref().zip(self.shown.as_ref());
        let left = theirs.and_then(|(setup, shown)| shown.state.time(setup.us.other()));
        let gone = self
            .shown
            .as_ref()
            .map(|shown| now.saturating_duration_since(shown.at));
        !self.is_our_turn() && gone.zip(left).is_some_and(|(gone, left)| gone < left)
    }

    /// In games with a clock, each move must find a warm connection, however long either side
    /// thinks: a forced move has no time to connect. Most of these requests cost no call: the
    /// client pings only a connection that has been idle for some time, and all games share it.
    pub(super) fn keep_warm(&mut self, now: Instant) {
        let kind = self.reading().map(|reading| reading.kind);
        let clocked = kind.is_some_and(|kind| kind != ClockKind::Unclocked);
        let due = self.watch.warm_at.unwrap_or(now + self.timing.warm);
        self.watch.warm_at = clocked.then_some(due);
    }

    /// Schedules a check for missed lines, at the latest after `wait`.
    pub(super) fn look_after(&mut self, wait: Duration, now: Instant) {
        let at = now.checked_add(wait);
        self.watch.look_at = [self.watch.look_at, at].into_iter().flatten().min();
    }

    /// Schedules another check after an unreadable list, ever later.
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
            // If even the opening brings nothing, check again.
            self.look_after(self.timing.again * 2, now);
        }
    }
}
