//! The move overhead: clock time of a move beyond our thinking, learned from every own move of all games.
//!
//! It is what the server charged less what the bot used. A high percentile, plus a reserve, is held back
//! from every clock. Pure: clocks and times come in as data; a cost that could be a changed clock teaches
//! nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bot::game::clock::{ClockKind, ClockState};
use crate::config;

const WINDOW: usize = 128;
/// Of a hundred moves so many cost no more than what is learned.
const USUAL: usize = 95;
/// Of a hundred moves so many cost no more than what counts as the worst.
const WORST: usize = 99;
/// What a move is taken to cost before any was measured: a server on the same continent.
const PRIOR: Duration = Duration::from_millis(300);
/// So many measured moves weigh as much as that.
const PRIOR_WEIGHT: u32 = 8;
/// So many measured moves tell how much costs differ.
const ENOUGH: usize = 12;
/// From this many moves on a single one that stands out counts for nothing.
const OUTVOTED: usize = 5;
/// A cost beyond this is no journey of a move but a clock that was changed, or a host that slept.
const LONGEST: Duration = Duration::from_secs(10);
/// By so much the server may charge less than we took: clocks are rounded.
const SLACK: Duration = Duration::from_millis(50);
/// On less than this the reserve shrinks, where the measurements allow.
const SCRAMBLE: Duration = Duration::from_secs(3);

/// What is known of the way to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// What a move costs, nearly always.
    pub learned: Duration,
    /// What half of the moves cost at most.
    pub median: Duration,
    /// What the worst moves cost.
    pub worst: Duration,
    /// How many moves this was learned from.
    pub moves: usize,
}

impl Default for Latency {
    /// Before any move was measured.
    fn default() -> Self {
        Self {
            learned: PRIOR,
            median: PRIOR,
            worst: PRIOR,
            moves: 0,
        }
    }
}

impl Latency {
    /// What is held back of a clock with so much left: what a move costs, within the operator's
    /// bounds, and a reserve. It may be more than there is: then there is nothing to think with.
    pub fn held_back(&self, left: Duration, rules: &config::Clock) -> Duration {
        let usual = self
            .learned
            .min(rules.overhead_ceiling)
            .max(rules.overhead_floor);
        usual + self.reserve(left, rules)
    }

    /// In a scramble no more is kept than the worst moves ask for, once those are known.
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

/// An own move that was sent once, off a clock as a state on the same stream showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendSample {
    left: Duration,
    increment: Duration,
    received: Instant,
    sent: Instant,
}

impl SendSample {
    /// A move sent at this moment off this clock; none where no clock runs.
    pub fn of(clock: &ClockState, sent: Instant) -> Option<Self> {
        (clock.kind == ClockKind::Running).then_some(Self {
            left: clock.left?,
            increment: clock.increment,
            received: clock.at,
            sent,
        })
    }

    /// What the move cost beside our own thinking, from the clock that the state with the move
    /// shows; none where the clock was changed meanwhile.
    pub fn cost(&self, left_after: Duration) -> Option<Duration> {
        let charged = (self.left.saturating_add(self.increment) + SLACK).checked_sub(left_after)?;
        let ours = self.sent.saturating_duration_since(self.received);
        let cost = charged.checked_sub(ours)?.saturating_sub(SLACK);
        (cost <= LONGEST).then_some(cost)
    }
}

/// The costs of the last own moves.
#[derive(Clone, Debug, Default)]
pub struct OverheadEstimator {
    costs: VecDeque<Duration>,
    latency: Latency,
}

impl OverheadEstimator {
    /// Takes in what a move cost.
    pub fn learn(&mut self, cost: Duration) {
        if self.costs.len() == WINDOW {
            self.costs.pop_front();
        }
        self.costs.push_back(cost);
        let mut sorted: Vec<Duration> = self.costs.iter().copied().collect();
        sorted.sort_unstable();
        let usual = percentile(&sorted, USUAL);
        let weight = PRIOR_WEIGHT + sorted.len() as u32;
        self.latency = Latency {
            learned: usual + PRIOR.saturating_sub(usual) * PRIOR_WEIGHT / weight,
            median: percentile(&sorted, 50),
            worst: percentile(&sorted, WORST),
            moves: sorted.len(),
        };
    }

    /// What is known by now.
    pub fn latency(&self) -> Latency {
        self.latency
    }
}

/// The cost that so many of a hundred do not exceed; with few to go by the second highest, so that
/// one hiccup does not slow the next hundred moves down.
fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100);
    let most = if sorted.len() >= OUTVOTED {
        sorted.len() - 1
    } else {
        sorted.len()
    };
    let place = rank.min(most).saturating_sub(1);
    sorted.get(place).copied().unwrap_or_default()
}

/// One [`OverheadEstimator`] for all games of the host. Clones are the same one; nothing holds it longer
/// than it takes to sort some numbers.
#[derive(Clone, Debug, Default)]
pub struct SharedEstimator(Arc<Mutex<OverheadEstimator>>);

impl SharedEstimator {
    /// One that begins with what moves cost before.
    pub fn knowing(costs: impl IntoIterator<Item = Duration>) -> Self {
        let estimator = Self::default();
        costs.into_iter().for_each(|cost| estimator.learn(cost));
        estimator
    }

    /// Takes in what a move cost.
    pub fn learn(&self, cost: Duration) {
        self.lock().learn(cost);
    }

    /// What is known by now.
    pub fn latency(&self) -> Latency {
        self.lock().latency()
    }

    fn lock(&self) -> MutexGuard<'_, OverheadEstimator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn learned(costs: impl IntoIterator<Item = u64>) -> Latency {
        let mut overhead = OverheadEstimator::default();
        for cost in costs {
            overhead.learn(ms(cost));
        }
        overhead.latency()
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
    fn the_cost_is_what_was_charged_less_what_we_took() {
        let at = Instant::now();
        let sending = SendSample::of(&clock(60_000, at), at + ms(700)).unwrap();
        // 60 s and 2 s less 61.12 s is 0.88 s, of which we took 0.7 s.
        assert_eq!(sending.cost(ms(61_120)), Some(ms(180)));
        assert_eq!(sending.cost(ms(61_300)), Some(ms(0)));
        assert_eq!(sending.cost(ms(61_330)), Some(ms(0)), "rounding");
    }

    #[test]
    fn a_clock_that_was_changed_teaches_nothing() {
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
    fn before_any_move_a_prior_holds_and_it_fades() {
        assert_eq!(learned([]), Latency::default());
        let after = |moves| learned(vec![20; moves]).learned;
        assert!(after(1) > ms(250) && after(8) == ms(160));
        assert!(after(128) < ms(40), "{:?}", after(128));
        // A slow line is believed at once.
        assert!(learned([600]).learned >= ms(600));
    }

    #[test]
    fn a_single_hiccup_does_not_count_and_a_slow_line_does() {
        let mut costs = vec![40; 60];
        costs.push(3000);
        assert!(learned(costs).learned < ms(80));
        let slow = (0..100).map(|n| if n % 10 == 0 { 900 } else { 40 });
        assert!(learned(slow).learned >= ms(900));
    }

    #[test]
    fn a_line_that_got_worse_since_the_last_run_is_believed_after_two_moves() {
        let estimator = SharedEstimator::knowing(vec![ms(40); 32]);
        assert!(estimator.latency().learned < ms(100) && estimator.latency().moves == 32);
        estimator.learn(ms(900));
        estimator.learn(ms(900));
        assert!(estimator.latency().learned >= ms(900));
    }

    #[test]
    fn old_moves_are_forgotten() {
        let mut costs = vec![900; 200];
        costs.extend(vec![30; WINDOW]);
        let latency = learned(costs);
        assert!(
            latency.learned < ms(60) && latency.moves == WINDOW,
            "{latency:?}"
        );
    }

    #[test]
    fn what_is_held_back_stays_within_the_operators_bounds() {
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
        let reserve = |latency: Latency, left| {
            latency
                .held_back(ms(left), &rules)
                .saturating_sub(latency.learned)
        };
        let steady = learned((0..100).map(|n| 90 + n % 20));
        assert_eq!(reserve(steady, 3000), rules.reserve);
        assert!(reserve(steady, 1000) < rules.reserve * 3 / 5);
        assert_eq!(reserve(steady, 0), rules.reserve_least);
        // Nothing measured, or now and then something far worse.
        assert_eq!(reserve(Latency::default(), 100), rules.reserve);
        let wild = learned((0..100).map(|n| if n % 25 == 0 { 900 } else { 90 }));
        assert_eq!(reserve(wild, 0), rules.reserve);
    }
}
