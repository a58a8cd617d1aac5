//! From the clock as the server states it to what one search may use.
//!
//! Pure arithmetic on durations; the moment comes in as data. No number of the server's is trusted
//! to be small, and nothing overflows.

use std::time::{Duration, Instant};

use super::settings::{Pace, SearchLimits};
use crate::config;
use crate::engine::{Clock, Limits};

/// Part of the usable time after which the engine must have answered.
const ENGINE_SHARE: f64 = 0.55;
/// Part of the usable time after which the game's own timer sends the best move so far.
const TIMER_SHARE: f64 = 0.65;
/// The part of the clock that a first move may take although the clock does not run.
const FIRST_MOVE_PART: u32 = 20;
/// The part of the time limit on a first move that it may take.
const EXPIRATION_PART: u32 = 4;
/// What the engine is given beyond its time before the game's own timer steps in.
const GRACE: Duration = Duration::from_millis(40);

/// Our clock, as a state showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What was left when the state was made; none without a limit.
    pub left: Option<Duration>,
    /// Added after each move.
    pub increment: Duration,
    /// When the state arrived.
    pub at: Instant,
    /// Which kind of clock it is.
    pub kind: ClockKind,
    /// How long the first move may take, counted from `at`, where that is limited.
    pub expires_in: Option<Duration>,
}

/// Whether and how the clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// It runs.
    Running,
    /// The first move of a side: it stands.
    Standing,
    /// Days a move, or no limit at all.
    Unclocked,
}

/// What one search gets.
#[derive(Clone, Debug)]
pub struct Allotment {
    /// What the engine is asked.
    pub limits: Limits,
    /// When the game's own timer takes the best move so far.
    pub fallback: Instant,
}

impl Reading {
    /// What is left of the clock at `now`; none without a limit. A standing clock does not shrink.
    pub fn left_at(&self, now: Instant) -> Option<Duration> {
        let age = match self.kind {
            ClockKind::Running => now.saturating_duration_since(self.at),
            ClockKind::Standing | ClockKind::Unclocked => Duration::ZERO,
        };
        self.left.map(|left| left.saturating_sub(age))
    }

    /// Whether a wait leaves enough on the clock to go on playing.
    pub fn affords(&self, wait: Duration, pace: &Pace, now: Instant) -> bool {
        if self.kind != ClockKind::Running {
            return self.expires_in.is_none_or(|left| wait * 2 < left);
        }
        self.left_at(now)
            .is_none_or(|left| wait.saturating_add(pace.limited_reserve) <= left)
    }
}

/// What is held back for the way to the server: a tenth of the clock within the operator's
/// bounds, and never more than half of what there is.
pub fn overhead(left: Duration, clock: &config::Clock) -> Duration {
    let (floor, ceiling) = (clock.overhead_floor, clock.overhead_ceiling);
    (left / 10).min(ceiling).max(floor).min(left / 2)
}

/// What a search that starts at `now` may use.
pub fn allot(
    reading: &Reading,
    search: &SearchLimits,
    clock: &config::Clock,
    pace: &Pace,
    now: Instant,
) -> Allotment {
    let (limits, engine_time, timer_time) = match reading.kind {
        ClockKind::Running => on_the_clock(reading, search, clock, pace, now),
        ClockKind::Standing | ClockKind::Unclocked => off_the_clock(reading, search, pace, now),
    };
    Allotment {
        limits: Limits {
            nodes: search.nodes,
            depth: search.depth,
            hard_deadline: Some(now + engine_time),
            ..limits
        },
        fallback: now + timer_time,
    }
}

fn on_the_clock(
    reading: &Reading,
    search: &SearchLimits,
    clock: &config::Clock,
    pace: &Pace,
    now: Instant,
) -> (Limits, Duration, Duration) {
    let left = reading.left_at(now).unwrap_or(pace.longest_think * 2);
    let held_back = overhead(left, clock);
    let usable = left.saturating_sub(held_back);
    let engine_time = usable.mul_f64(ENGINE_SHARE).min(pace.longest_think);
    let timer_time = usable
        .mul_f64(TIMER_SHARE)
        .min(pace.longest_think + GRACE)
        .max(Duration::from_millis(1));
    let mut limits = Limits::default();
    if let Some(movetime) = search.movetime {
        limits.movetime = Some(movetime.min(engine_time));
    } else if !search.any() {
        limits.clock = Some(Clock {
            time: left,
            increment: reading.increment,
            moves_to_go: None,
            overhead: held_back,
        });
    }
    (limits, engine_time, timer_time)
}

fn off_the_clock(
    reading: &Reading,
    search: &SearchLimits,
    pace: &Pace,
    now: Instant,
) -> (Limits, Duration, Duration) {
    let mut time = match reading.kind {
        ClockKind::Unclocked => pace.unclocked_think,
        ClockKind::Running | ClockKind::Standing => pace.first_think,
    };
    if let Some(left) = reading.left {
        time = time.min(left / FIRST_MOVE_PART);
    }
    let mut most = pace.longest_think;
    if let Some(allowed) = reading.expires_in {
        let age = now.saturating_duration_since(reading.at);
        most = most.min(allowed.saturating_sub(age) / EXPIRATION_PART);
        time = time.min(most);
    }
    let movetime = search.movetime.unwrap_or(time).min(most);
    let given = if search.any() && search.movetime.is_none() {
        None
    } else {
        Some(movetime)
    };
    // Nodes or a depth alone may take their time here, but not for ever.
    let engine_time = given.unwrap_or(most);
    let limits = Limits {
        movetime: given,
        ..Limits::default()
    };
    (limits, engine_time + GRACE / 2, engine_time + GRACE * 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn reading(left: Option<Duration>, kind: ClockKind, at: Instant) -> Reading {
        Reading {
            left,
            increment: ms(2000),
            at,
            kind,
            expires_in: None,
        }
    }

    fn allotted(reading: &Reading, search: &SearchLimits, now: Instant) -> Allotment {
        let clock = config::Clock::default();
        allot(reading, search, &clock, &Pace::default(), now)
    }

    #[test]
    fn a_running_clock_loses_the_age_of_its_state() {
        let at = Instant::now();
        let running = reading(Some(ms(10_000)), ClockKind::Running, at);
        assert_eq!(running.left_at(at + ms(400)), Some(ms(9600)));
        assert_eq!(running.left_at(at + ms(99_000)), Some(ms(0)));
        let standing = reading(Some(ms(10_000)), ClockKind::Standing, at);
        assert_eq!(standing.left_at(at + ms(99_000)), Some(ms(10_000)));
    }

    #[test]
    fn the_overhead_shrinks_with_the_clock() {
        let clock = config::Clock::default();
        let at = |left| overhead(ms(left), &clock);
        assert_eq!(at(180_000), clock.overhead_ceiling);
        assert_eq!(at(3_000), ms(300));
        assert_eq!(at(300), clock.overhead_floor);
        assert_eq!(at(80), ms(40));
        assert_eq!(at(0), ms(0));
    }

    #[test]
    fn the_timers_stay_inside_every_clock() {
        let now = Instant::now();
        for left in [0, 1, 7, 50, 300, 1000, 60_000, 2_147_483_646, u64::MAX] {
            let running = reading(Some(ms(left)), ClockKind::Running, now);
            let allotment = allotted(&running, &SearchLimits::default(), now);
            let deadline = allotment.limits.hard_deadline.expect("always one");
            assert!(deadline <= allotment.fallback, "{left}");
            assert!(
                allotment.fallback - now <= ms(left.clamp(1, 200_000)),
                "{left}"
            );
        }
    }

    #[test]
    fn the_clock_goes_to_the_engine_unless_a_test_sets_limits() {
        let now = Instant::now();
        let running = reading(Some(ms(60_000)), ClockKind::Running, now);
        let clock = allotted(&running, &SearchLimits::default(), now)
            .limits
            .clock;
        let clock = clock.expect("the clock decides");
        assert_eq!((clock.time, clock.increment), (ms(60_000), ms(2000)));
        let search = SearchLimits {
            nodes: Some(1),
            ..SearchLimits::default()
        };
        let limits = allotted(&running, &search, now).limits;
        assert!(limits.clock.is_none() && limits.nodes == Some(1));
        let search = SearchLimits {
            movetime: Some(ms(90_000)),
            ..SearchLimits::default()
        };
        let limits = allotted(&running, &search, now).limits;
        assert!(
            limits.movetime.expect("set") < ms(60_000),
            "not beyond the clock"
        );
    }

    #[test]
    fn no_clock_means_a_fixed_and_short_thought() {
        let now = Instant::now();
        let pace = Pace::default();
        let rows = [
            (None, ClockKind::Unclocked, pace.unclocked_think),
            (
                Some(ms(172_800_000)),
                ClockKind::Unclocked,
                pace.unclocked_think,
            ),
            (Some(ms(180_000)), ClockKind::Standing, pace.first_think),
            (Some(ms(3000)), ClockKind::Standing, ms(150)),
        ];
        for (left, kind, time) in rows {
            let limits = allotted(&reading(left, kind, now), &SearchLimits::default(), now).limits;
            assert_eq!(limits.movetime, Some(time));
            assert!(limits.clock.is_none());
        }
    }

    #[test]
    fn a_wait_must_leave_time_to_play() {
        let now = Instant::now();
        let pace = Pace::default();
        let affords = |left, kind, wait| reading(left, kind, now).affords(wait, &pace, now);
        assert!(affords(Some(ms(90_000)), ClockKind::Running, ms(60_000)));
        assert!(!affords(Some(ms(70_000)), ClockKind::Running, ms(60_000)));
        assert!(affords(None, ClockKind::Unclocked, ms(3_600_000)));
        assert!(affords(Some(ms(5000)), ClockKind::Standing, ms(60_000)));
        assert!(!affords(Some(ms(5000)), ClockKind::Running, Duration::MAX));
    }
}
