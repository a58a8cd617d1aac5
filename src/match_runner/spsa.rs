//! SPSA, the mathematics of tuning (Spall, 1998): each step changes all parameters at once, up or down at
//! random, asks for the result of the change against its opposite, and follows the winner.
//!
//! With the number k of a step from 1 to N, the perturbation is c(k) = step * (N / k)^0.101 and the gain
//! r(k) = r * ((A + N) / (A + k))^0.602 * (k / N)^0.202 with A = N / 10. A value moves by r(k) * c(k) *
//! (points won by its upward change - points lost): the schedule of Stockfish's test framework.
//!
//! It plays nothing and reads no clock or file; the same steps in the same order lead to the same values.

use serde::{Deserialize, Serialize};

use crate::engine::Tunable;

/// The decline of the gain and of the perturbation, and the share of all steps that damps the first gains:
/// the usual values.
const ALPHA: f64 = 0.602;
const GAMMA: f64 = 0.101;
const DAMPING: f64 = 0.1;
/// The share of the steps, at the end, over which values are averaged.
const AVERAGED: f64 = 0.25;
/// Spreads the numbers of steps over seeds; any odd number with well mixed bits.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// What fixes the course of a tuning besides its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpsaOptions {
    /// The number of steps.
    pub steps: u64,
    /// The gain r of the last step.
    pub gain: f64,
    pub seed: u64,
}

/// A parameter on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedParameter {
    pub tunable: Tunable,
    /// Where it began.
    pub start: i32,
    value: f64,
    /// The mean over the last quarter of all steps, as far as they are done; the value before.
    mean: f64,
}

impl TunedParameter {
    pub(super) fn new(tunable: Tunable, start: i32) -> Self {
        Self {
            tunable,
            start,
            value: f64::from(start),
            mean: f64::from(start),
        }
    }

    /// The result so far.
    pub fn result(&self) -> i32 {
        self.mean.round() as i32
    }

    /// How far it has moved, in its own steps.
    pub fn shift(&self) -> f64 {
        (self.mean - f64::from(self.start)) / f64::from(self.tunable.step)
    }

    /// Rounds a changed value up or down so that its mean over all `part` from 0 to 1 is the value itself:
    /// else a parameter with a small step would never move.
    fn rounded(&self, change: f64, part: f64) -> i32 {
        let Tunable { least, most, .. } = self.tunable;
        let whole = (self.value + change + part).floor() as i32;
        whole.clamp(least, most)
    }
}

/// The values of one side by name.
pub(super) type SideValues = Vec<(&'static str, i32)>;

/// A finished step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FinishedStep {
    /// Its number, from 0.
    pub(super) step: u64,
    /// Games won by the upward change minus games lost, from -2 to 2.
    pub(super) points: i32,
    /// Games that ended by a fault of a player.
    #[serde(default, skip_serializing_if = "super::record::is_zero")]
    pub(super) forfeits: u64,
}

/// The state of a tuning.
#[derive(Clone, Debug, PartialEq)]
pub struct Spsa {
    pub options: SpsaOptions,
    pub parameters: Vec<TunedParameter>,
    /// The finished steps.
    pub done: u64,
    /// Games that ended by a fault of a player.
    pub forfeits: u64,
    /// The steps in the means.
    averaged: u64,
}

impl Spsa {
    pub(super) fn new(options: SpsaOptions, parameters: Vec<TunedParameter>) -> Self {
        Self {
            options,
            parameters,
            done: 0,
            forfeits: 0,
            averaged: 0,
        }
    }

    /// The values of both sides of a step: each change, and its opposite.
    pub(super) fn sides(&self, step: u64) -> [SideValues; 2] {
        let mut draw = self.draw(step);
        let changes = self.changes(step, &mut draw);
        // Both sides are rounded by the same chance, which thus adds no noise to their difference.
        let parts: Vec<f64> = changes.iter().map(|_| draw.f64()).collect();
        [1.0, -1.0].map(|sign| {
            let values = self.parameters.iter().zip(changes.iter().zip(&parts));
            let side = values.map(|(it, (change, part))| {
                let value = it.rounded(sign * change, *part);
                (it.tunable.name, value)
            });
            side.collect()
        })
    }

    /// Moves the values after a step.
    pub(super) fn learn(&mut self, finished: FinishedStep) {
        let FinishedStep { step, points, .. } = finished;
        let pull = self.gain(step) * f64::from(points);
        let changes = self.changes(step, &mut self.draw(step));
        self.done += 1;
        self.forfeits += finished.forfeits;
        let is_late = self.done as f64 > self.options.steps as f64 * (1.0 - AVERAGED);
        self.averaged += u64::from(is_late);
        for (it, change) in self.parameters.iter_mut().zip(changes) {
            let Tunable { least, most, .. } = it.tunable;
            let moved = it.value + pull * change;
            it.value = moved.clamp(f64::from(least), f64::from(most));
            if is_late {
                it.mean += (it.value - it.mean) / self.averaged as f64;
            } else {
                it.mean = it.value;
            }
        }
    }

    /// The random numbers of a step: the signs of its changes, then whatever else it needs.
    fn draw(&self, step: u64) -> fastrand::Rng {
        fastrand::Rng::with_seed(self.options.seed ^ (step + 1).wrapping_mul(SPREAD))
    }

    /// How far a step moves each value, up or down.
    fn changes(&self, step: u64, draw: &mut fastrand::Rng) -> Vec<f64> {
        let factor = self.perturbation(step);
        let parameters = self.parameters.iter();
        let changes = parameters.map(|it| {
            let change = f64::from(it.tunable.step) * factor;
            if draw.bool() { change } else { -change }
        });
        changes.collect()
    }

    /// The perturbation of a step, as a factor on that of the last one.
    fn perturbation(&self, step: u64) -> f64 {
        (self.options.steps as f64 / (step + 1) as f64).powf(GAMMA)
    }

    fn gain(&self, step: u64) -> f64 {
        let (all, number) = (self.options.steps as f64, (step + 1) as f64);
        let damping = DAMPING * all;
        let decline = ((damping + all) / (damping + number)).powf(ALPHA);
        // Divided by the square of the perturbation, by which the change that it is multiplied with and the
        // difference that it is measured by grow.
        self.options.gain * decline / self.perturbation(step).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tunable(name: &'static str, least: i32, most: i32, step: i32) -> Tunable {
        Tunable {
            name,
            default: least,
            least,
            most,
            step,
            origin: "a test",
        }
    }

    fn spsa(steps: u64, gain: f64, parameters: Vec<TunedParameter>) -> Spsa {
        let options = SpsaOptions {
            steps,
            gain,
            seed: 1,
        };
        Spsa::new(options, parameters)
    }

    fn step(step: u64, points: i32) -> FinishedStep {
        FinishedStep {
            step,
            points,
            forfeits: 0,
        }
    }

    #[test]
    fn the_schedule_ends_at_the_gain_and_the_step_that_were_asked_for() {
        let spsa = spsa(1000, 0.002, Vec::new());
        let is_near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(is_near(spsa.gain(999), 0.002) && is_near(spsa.perturbation(999), 1.0));
        assert!(is_near(spsa.perturbation(0), 1000_f64.powf(0.101)));
        let first = (1100.0 / 101.0_f64).powf(0.602) * 0.001_f64.powf(0.202);
        assert!(is_near(spsa.gain(0), 0.002 * first));
    }

    #[test]
    fn sides_are_opposite_within_bounds_and_right_on_average() {
        let wide = TunedParameter {
            value: 50.3,
            ..TunedParameter::new(tunable("wide", -1000, 1000, 7), 0)
        };
        let narrow = TunedParameter::new(tunable("narrow", 0, 3, 2), 3);
        let spsa = spsa(4000, 0.002, vec![wide, narrow]);
        let (mut sum, mut ups) = (0.0, 0);
        for step in 0..4000 {
            let [up, down] = spsa.sides(step);
            assert_eq!((up[0].0, down[1].0), ("wide", "narrow"));
            sum += f64::from(up[0].1 + down[0].1) / 2.0;
            ups += usize::from(up[0].1 > down[0].1);
            let distance = 2.0 * 7.0 * spsa.perturbation(step);
            assert!((f64::from(up[0].1 - down[0].1).abs() - distance).abs() <= 1.0);
            assert!((0..=3).contains(&up[1].1) && (0..=3).contains(&down[1].1));
        }
        assert!((sum / 4000.0 - 50.3).abs() < 0.05, "{}", sum / 4000.0);
        assert!((1800..2200).contains(&ups), "{ups}");
    }

    #[test]
    fn a_value_follows_the_winner_and_stops_at_its_bounds() {
        let parameter = TunedParameter::new(tunable("a", 0, 100, 10), 50);
        let mut spsa = spsa(100, 0.2, vec![parameter]);
        for number in 0..100 {
            let [up, down] = spsa.sides(number);
            // The greater value wins both games.
            spsa.learn(step(number, 2 * (up[0].1 - down[0].1).signum()));
        }
        assert_eq!(spsa.done, 100);
        assert!(spsa.parameters[0].value >= 99.9 && spsa.parameters[0].result() > 90);
    }

    #[test]
    fn the_result_is_the_mean_over_the_last_quarter() {
        let parameter = TunedParameter::new(tunable("a", 0, 1000, 10), 500);
        let mut spsa = spsa(8, 0.1, vec![parameter]);
        for number in 0..6 {
            spsa.learn(step(number, 1));
            let TunedParameter { value, mean, .. } = spsa.parameters[0];
            assert!((value - mean).abs() < 1e-9);
        }
        spsa.learn(step(6, 2));
        let one = spsa.parameters[0].value;
        spsa.learn(step(7, -2));
        let two = spsa.parameters[0].value;
        assert!((spsa.parameters[0].mean - f64::midpoint(one, two)).abs() < 1e-9);
    }

    /// Plays pairs of games whose expected score falls with the squared distances from an optimum.
    fn tune(mut spsa: Spsa, optimum: &[(f64, f64)]) -> Spsa {
        let mut chance = fastrand::Rng::with_seed(7);
        let loss = |side: &SideValues| -> f64 {
            let terms = side.iter().zip(optimum);
            terms
                .map(|((_, value), (best, width))| ((f64::from(*value) - best) / width).powi(2))
                .sum()
        };
        for number in 0..spsa.options.steps {
            let [up, down] = spsa.sides(number);
            let score = 1.0 / (1.0 + (loss(&up) - loss(&down)).exp());
            let game = |chance: &mut fastrand::Rng| if chance.f64() < score { 1 } else { -1 };
            let points = game(&mut chance) + game(&mut chance);
            spsa.learn(step(number, points));
        }
        spsa
    }

    #[test]
    fn the_optimum_of_several_parameters_is_found_among_noisy_games() {
        let parameters = vec![
            TunedParameter::new(tunable("large", 0, 4000, 100), 1000),
            TunedParameter::new(tunable("small", 0, 20, 1), 3),
            TunedParameter::new(tunable("negative", -900, 0, 20), -150),
            TunedParameter::new(tunable("at its bound", 0, 500, 20), 100),
        ];
        let optimum = [
            (1700.0, 700.0),
            (8.0, 5.0),
            (-300.0, 150.0),
            (-200.0, 300.0),
        ];
        let tuned = tune(spsa(20_000, 0.01, parameters), &optimum);
        let found: Vec<i32> = tuned
            .parameters
            .iter()
            .map(TunedParameter::result)
            .collect();
        assert!((found[0] - 1700).abs() <= 150, "{found:?}");
        assert!((found[1] - 8).abs() <= 1, "{found:?}");
        assert!((found[2] + 300).abs() <= 35, "{found:?}");
        assert!(found[3] <= 30, "{found:?}");
    }
}
