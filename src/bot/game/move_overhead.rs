//! The move overhead: clock time of a move beyond our thinking, learned from every own move of all games.
//!
//! It is the time charged by the server minus the time used by the bot. A high percentile, plus a
//! reserve, is held back from every clock. Pure: clocks and times come in as data; costs that could
//! come from a changed clock are ignored.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::bot::settings::BotTiming;
use crate::config;

const WINDOW: usize = 128;
/// The percentile of move costs used as the estimate.
const USUAL: usize = 95;
/// The percentile of move costs used as the worst case.
const WORST: usize = 99;
/// The cost assumed before any measurement: a server on the same continent.
const PRIOR: Duration = Duration::from_millis(300);
/// The weight of that assumption, in measured moves.
const PRIOR_WEIGHT: u32 = 8;
/// Measured moves needed to know how costs vary.
const ENOUGH: usize = 12;
/// From this many moves on, a single outlier is ignored.
const OUTVOTED: usize = 5;
/// A higher cost is no transit time but a changed clock or a suspended host.
const LONGEST: Duration = Duration::from_secs(10);
/// How much less than the used time the server may charge: clocks are rounded.
const SLACK: Duration = Duration::from_millis(50);
/// Below this the reserve shrinks if the measurements allow.
const SCRAMBLE: Duration = Duration::from_secs(3);

/// The move overhead as far as known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveOverhead {
    /// The cost that nearly all moves stay below.
    pub learned: Duration,
    /// The cost of the worst moves.
    pub worst: Duration,
    /// Number of moves measured.
    pub moves: usize,
}

impl Default for MoveOverhead {
    /// The overhead assumed before any measurement.
    fn default() -> Self {
        Self {
            learned: PRIOR,
            worst: PRIOR,
            moves: 0,
        }
    }
}

impl MoveOverhead {
    /// The time to hold back from this clock: the move overhead, within the operator's bounds, plus
    /// a reserve. It may exceed the time left: then none remains for thinking.
    pub fn held_back(&self, left: Duration, rules: &config::Clock) -> Duration {
        let usual = self.learned.min(rules.overhead_ceiling);
        usual.max(rules.overhead_floor) + self.reserve(left, rules)
    }

    /// In a scramble the reserve covers no more than the worst moves, once those are known.
    fn reserve(&self, left: Duration, rules: &config::Clock) -> Duration {
        let full = rules.reserve;
        if left >= SCRAMBLE || self.moves < ENOUGH {
            return full;
        }
        let least = rules.reserve_least.min(full);
        let needed = self.worst.saturating_sub(self.learned).clamp(least, full);
        let share = left.as_secs_f64() / SCRAMBLE.as_secs_f64();
        needed + full.saturating_sub(needed).mul_f64(share)
    }
}

/// A move sent once, on a clock stated by the same stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendSample {
    left: Duration,
    increment: Duration,
    received: Instant,
    sent: Instant,
}

impl SendSample {
    /// A move sent at `sent` on this clock; none if no clock runs.
    pub fn of(clock: &ClockState, sent: Instant) -> Option<Self> {
        (clock.kind == ClockKind::Running).then_some(Self {
            left: clock.left?,
            increment: clock.increment,
            received: clock.at,
            sent,
        })
    }

    /// The move's cost beyond our thinking, from the clock in the state that shows the move; none
    /// if the clock was changed in between.
    pub fn cost(&self, left_after: Duration) -> Option<Duration> {
        let charged = (self.left.saturating_add(self.increment) + SLACK).checked_sub(left_after)?;
        let ours = self.sent.saturating_duration_since(self.received);
        let cost = charged.checked_sub(ours)?.saturating_sub(SLACK);
        (cost <= LONGEST).then_some(cost)
    }
}

/// The costs of the bot's last moves.
#[derive(Clone, Debug, Default)]
pub struct OverheadEstimator {
    costs: VecDeque<Duration>,
    overhead: MoveOverhead,
}

impl OverheadEstimator {
    /// Adds the cost of one move.
    pub fn learn(&mut self, cost: Duration) {
        if self.costs.len() == WINDOW {
            self.costs.pop_front();
        }
        self.costs.push_back(cost);
        let mut sorted: Vec<Duration> = self.costs.iter().copied().collect();
        sorted.sort_unstable();
        let usual = percentile(&sorted, USUAL);
        let weight = PRIOR_WEIGHT + sorted.len() as u32;
        self.overhead = MoveOverhead {
            learned: usual + PRIOR.saturating_sub(usual) * PRIOR_WEIGHT / weight,
            worst: percentile(&sorted, WORST),
            moves: sorted.len(),
        };
    }

    pub fn estimate(&self) -> MoveOverhead {
        self.overhead
    }
}

/// The cost that `percent` percent of the moves do not exceed; with few measurements the second
/// highest, so that one hiccup does not slow down the next hundred moves.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    let outliers = usize::from(sorted.len() >= OUTVOTED);
    let place = rank.min(sorted.len() - outliers).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

/// One [`OverheadEstimator`] for all games of the host; clones share it. Its lock is held only
/// while sorting a few numbers.
#[derive(Clone, Debug, Default)]
pub struct SharedEstimator(Arc<Mutex<OverheadEstimator>>);

impl SharedEstimator {
    /// Starts with the costs of earlier moves.
    pub fn from_samples(costs: impl IntoIterator<Item = Duration>) -> Self {
        let estimator = Self::default();
        costs.into_iter().for_each(|cost| estimator.learn(cost));
        estimator
    }

    /// Adds the cost of one move.
    pub fn learn(&self, cost: Duration) {
        self.0.lock().learn(cost);
    }

    pub fn estimate(&self) -> MoveOverhead {
        self.0.lock().estimate()
    }
}

/// The part of a running clock that an unanswered call may take before the next one.
const PATIENCE_PART: u32 = 4;
/// No call is given up sooner.
const MIN_PATIENCE: Duration = Duration::from_millis(300);

/// The bot's clock as a state of the server showed it: the time left, and how long a wait it can
/// bear. No number from the server is trusted to be small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockState {
    /// Time left when the server made the state; none without a limit.
    pub left: Option<Duration>,
    /// Added after each move.
    pub increment: Duration,
    /// When the state arrived, or when the opening that brought it was requested.
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
    pub(in crate::bot) fn patience(&self, overhead: &MoveOverhead, now: Instant) -> Duration {
        let answer = (overhead.learned * 2).max(MIN_PATIENCE);
        let left = self.left_at(now);
        let left = left.filter(|_| self.kind == ClockKind::Running);
        left.map_or(Duration::MAX, |left| (left / PATIENCE_PART).max(answer))
    }

    /// Time left at `now` minus what is held back for the way to the server.
    pub(in crate::bot) fn usable(
        &self,
        overhead: &MoveOverhead,
        rules: &config::Clock,
        now: Instant,
    ) -> Option<Duration> {
        let left = self.left_at(now)?;
        Some(left.saturating_sub(overhead.held_back(left, rules)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn learned(costs: impl IntoIterator<Item = u64>) -> MoveOverhead {
        let mut estimator = OverheadEstimator::default();
        for cost in costs {
            estimator.learn(ms(cost));
        }
        estimator.estimate()
    }

    fn clock(left: u64, at: Instant) -> ClockState {
        ClockState {
            left: Some(ms(left)),
            increment: ms(2000),
            at,
            kind: ClockKind::Running,
            expires_in: None,
        }
    }

    #[test]
    fn the_cost_is_the_time_charged_minus_the_time_used() {
        let at = Instant::now();
        let sending = SendSample::of(&clock(60_000, at), at + ms(700)).unwrap();
        // 60 s and 2 s minus 61.12 s is 0.88 s, of which the bot used 0.7 s.
        assert_eq!(sending.cost(ms(61_120)), Some(ms(180)));
        assert_eq!(sending.cost(ms(61_300)), Some(ms(0)));
        assert_eq!(sending.cost(ms(61_330)), Some(ms(0)), "rounding");
    }

    #[test]
    fn a_changed_clock_teaches_nothing() {
        let at = Instant::now();
        let sending = SendSample::of(&clock(60_000, at), at + ms(5_000)).unwrap();
        for (left, why) in [
            (72_000, "fifteen seconds were given"),
            (61_000, "given after a long thought"),
            (40_000, "the host slept"),
            (u64::MAX, "nonsense"),
        ] {
            assert_eq!(sending.cost(ms(left)), None, "{why}");
        }
        for kind in [ClockKind::Standing, ClockKind::Unclocked] {
            let standing = ClockState {
                kind,
                ..clock(60_000, at)
            };
            assert_eq!(SendSample::of(&standing, at), None);
        }
    }

    #[test]
    fn before_any_move_a_prior_applies_and_then_fades() {
        assert_eq!(learned([]), MoveOverhead::default());
        let after = |moves| learned(vec![20; moves]).learned;
        assert!(after(1) > ms(250) && after(8) == ms(160));
        assert!(after(128) < ms(40), "{:?}", after(128));
        // A slow connection counts at once.
        assert!(learned([600]).learned >= ms(600));
    }

    #[test]
    fn a_single_hiccup_does_not_count_and_a_slow_connection_does() {
        let mut costs = vec![40; 60];
        costs.push(3000);
        assert!(learned(costs).learned < ms(80));
        let slow = (0..100).map(|n| if n % 10 == 0 { 900 } else { 40 });
        assert!(learned(slow).learned >= ms(900));
    }

    #[test]
    fn a_connection_that_got_worse_since_the_last_run_is_believed_after_two_moves() {
        let estimator = SharedEstimator::from_samples(vec![ms(40); 32]);
        assert!(estimator.estimate().learned < ms(100) && estimator.estimate().moves == 32);
        estimator.learn(ms(900));
        estimator.learn(ms(900));
        assert!(estimator.estimate().learned >= ms(900));
    }

    #[test]
    fn old_moves_are_forgotten() {
        let mut costs = vec![900; 200];
        costs.extend(vec![30; WINDOW]);
        let overhead = learned(costs);
        assert!(
            overhead.learned < ms(60) && overhead.moves == WINDOW,
            "{overhead:?}"
        );
    }

    #[test]
    fn the_time_held_back_stays_within_the_operators_bounds() {
        let rules = config::Clock::default();
        let minute = ms(60_000);
        let at = |cost: u64| learned(vec![cost; 100]).held_back(minute, &rules);
        assert!(at(0) >= rules.overhead_floor + rules.reserve);
        assert_eq!(at(9000), rules.overhead_ceiling + rules.reserve);
        let odd = config::Clock {
            overhead_floor: ms(400),
            overhead_ceiling: ms(100),
            ..rules
        };
        let _ = learned([20]).held_back(minute, &odd);
    }

    #[test]
    fn the_reserve_shrinks_in_a_scramble_if_the_measurements_allow() {
        let rules = config::Clock::default();
        let reserve = |overhead: MoveOverhead, left| {
            overhead
                .held_back(ms(left), &rules)
                .saturating_sub(overhead.learned)
        };
        let steady = learned((0..100).map(|n| 90 + n % 20));
        assert_eq!(reserve(steady, 3000), rules.reserve);
        assert!(reserve(steady, 1000) < rules.reserve * 3 / 5);
        assert_eq!(reserve(steady, 0), rules.reserve_least);
        // No measurement, or an occasional far worse move.
        assert_eq!(reserve(MoveOverhead::default(), 100), rules.reserve);
        let wild = learned((0..100).map(|n| if n % 25 == 0 { 900 } else { 90 }));
        assert_eq!(reserve(wild, 0), rules.reserve);
    }
}

#[cfg(test)]
pub(in crate::bot::game) mod clock_tests {
    use super::*;

    pub(in crate::bot::game) const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// A clock with an increment of two seconds.
    pub(in crate::bot::game) fn clock_state(
        left: Option<Duration>,
        kind: ClockKind,
        at: Instant,
    ) -> ClockState {
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
