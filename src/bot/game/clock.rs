//! The bot's clock as the server states it: the time left, and how long a wait it can bear.
//!
//! Pure; times come in as data. No number from the server is trusted to be small.

use std::time::{Duration, Instant};

use crate::bot::game::move_overhead::Latency;
use crate::bot::settings::BotTiming;
use crate::config;

/// The part of a running clock that an unanswered call may take before the next one.
const PATIENCE_PART: u32 = 4;
/// No call is given up sooner.
const LEAST_PATIENCE: Duration = Duration::from_millis(300);

/// The bot's clock as a state showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockState {
    /// Time left when the server made the state; none without a limit.
    pub left: Option<Duration>,
    /// Added after each move.
    pub increment: Duration,
    /// When the state arrived.
    pub at: Instant,
    pub kind: ClockKind,
    /// The limit on the first move, counted from `at`, if there is one.
    pub expires_in: Option<Duration>,
}

/// Whether and how the clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    Running,
    /// A side's first move: the clock stands still.
    Standing,
    /// Correspondence or unlimited: no running clock.
    Unclocked,
}

impl ClockState {
    /// Time left at `now`; none without a limit. A standing clock does not shrink.
    pub fn left_at(&self, now: Instant) -> Option<Duration> {
        let age = match self.kind {
            ClockKind::Running | ClockKind::Unclocked => now.saturating_duration_since(self.at),
            ClockKind::Standing => Duration::ZERO,
        };
        self.left.map(|left| left.saturating_sub(age))
    }

    /// Time left at `now` for a first move, if limited.
    pub(in crate::bot) fn expires_at(&self, now: Instant) -> Option<Duration> {
        let age = now.saturating_duration_since(self.at);
        self.expires_in.map(|left| left.saturating_sub(age))
    }

    /// Whether a wait leaves enough time to continue playing. Before a first move the opponent's
    /// patience counts instead of a clock: seeing no move for long, they abort.
    pub fn can_wait(&self, wait: Duration, timing: &BotTiming, now: Instant) -> bool {
        if self.kind == ClockKind::Standing {
            return match self.expires_at(now) {
                Some(left) => wait.saturating_mul(2) < left,
                None => wait <= timing.limited_reserve,
            };
        }
        self.left_at(now)
            .is_none_or(|left| wait.saturating_add(timing.limited_reserve) <= left)
    }

    /// The longest sensible wait for a silent call: a part of a running clock, but never less than
    /// an answer takes.
    pub(in crate::bot) fn patience(&self, latency: &Latency, now: Instant) -> Duration {
        let left = self
            .left_at(now)
            .filter(|_| self.kind == ClockKind::Running);
        let answer = (latency.learned * 2).max(LEAST_PATIENCE);
        left.map_or(Duration::MAX, |left| (left / PATIENCE_PART).max(answer))
    }

    /// Time left at `now` minus what is held back for the way to the server.
    pub(in crate::bot) fn usable(
        &self,
        latency: &Latency,
        rules: &config::Clock,
        now: Instant,
    ) -> Option<Duration> {
        let left = self.left_at(now)?;
        Some(left.saturating_sub(latency.held_back(left, rules)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn clock_state(left: Option<Duration>, kind: ClockKind, at: Instant) -> ClockState {
        ClockState {
            left,
            increment: ms(2000),
            at,
            kind,
            expires_in: None,
        }
    }

    #[test]
    fn a_running_clock_loses_the_age_of_its_state() {
        let at = Instant::now();
        let running = clock_state(Some(ms(10_000)), ClockKind::Running, at);
        assert_eq!(running.left_at(at + ms(400)), Some(ms(9600)));
        assert_eq!(running.left_at(at + ms(99_000)), Some(ms(0)));
        let standing = clock_state(Some(ms(10_000)), ClockKind::Standing, at);
        assert_eq!(standing.left_at(at + ms(99_000)), Some(ms(10_000)));
    }

    #[test]
    fn a_wait_must_leave_time_to_play() {
        let now = Instant::now();
        let timing = BotTiming::default();
        let can_wait = |left, kind, wait| clock_state(left, kind, now).can_wait(wait, &timing, now);
        assert!(can_wait(Some(ms(90_000)), ClockKind::Running, ms(60_000)));
        assert!(!can_wait(Some(ms(70_000)), ClockKind::Running, ms(60_000)));
        assert!(can_wait(None, ClockKind::Unclocked, ms(3_600_000)));
        assert!(!can_wait(
            Some(ms(3_600_000)),
            ClockKind::Unclocked,
            ms(3_600_000)
        ));
        assert!(can_wait(Some(ms(5000)), ClockKind::Standing, ms(20_000)));
        assert!(!can_wait(Some(ms(5000)), ClockKind::Standing, ms(60_000)));
        assert!(!can_wait(Some(ms(5000)), ClockKind::Running, Duration::MAX));
    }
}
