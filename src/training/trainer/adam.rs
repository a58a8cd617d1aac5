//! `AdamW`: the optimiser step for a batch's gradient, with weight decay and bounds.
//!
//! Where a layout splits the inputs, an input makes two steps: its own, and that of all its twins
//! together. So an input with few samples starts from the others, without duplicated parameters.

use super::params::{ParamRule, Params, RULES, SimdLane, WIDTH};
use super::threads::side_by_side;
use crate::engine::nnue::{Layout, Shape};

/// The decay of the mean of the gradients.
const MEAN_KEPT: f32 = 0.9;
/// The decay of the mean of their squares.
const SQUARE_KEPT: f32 = 0.999;
/// Keeps a parameter with rare gradients from jumping.
const EPSILON: f32 = 1e-8;
/// The weight decay per step, times the learning rate.
const DECAY: f32 = 0.01;
/// Inputs of one plane.
const INPUTS: usize = Layout::Plain.inputs();
/// The fewest lanes that are worth a thread.
const LANES_A_THREAD: usize = 4096;

/// A step without decay and bound.
const FREE: ParamRule = ParamRule {
    decays: false,
    limit: f32::INFINITY,
};

/// The state of the optimiser.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Adam {
    /// The mean of the gradients.
    pub(super) mean: Params,
    /// The mean of their squares; 0 where there was no gradient yet.
    pub(super) square: Params,
    /// The mean of the summed gradients of twins; empty where inputs have none.
    pub(super) shared_mean: Vec<SimdLane>,
    /// The mean of the squares of those sums.
    pub(super) shared_square: Vec<SimdLane>,
    pub(super) steps: u64,
}

/// The constants of a step.
#[derive(Clone, Copy)]
struct Step {
    rate: f32,
    mean_scale: f32,
    square_scale: f32,
}

impl Adam {
    pub(super) fn new(shape: Shape) -> Adam {
        let is_split = shape.layout.inputs() > INPUTS;
        let twins = if is_split {
            INPUTS * shape.hidden / WIDTH
        } else {
            0
        };
        Adam {
            mean: Params::zeros(shape),
            square: Params::zeros(shape),
            shared_mean: vec![SimdLane::ZERO; twins],
            shared_square: vec![SimdLane::ZERO; twins],
            steps: 0,
        }
    }

    /// Whether a lane of the feature weights or one of its twins ever had a gradient.
    pub(super) fn has_seen(&self, lane: usize) -> bool {
        let twins = self.shared_square.len();
        self.square.feature_weights[lane] != SimdLane::ZERO
            || (twins > 0 && self.shared_square[lane % twins] != SimdLane::ZERO)
    }

    /// Moves the model against the sum of the gradients.
    pub(super) fn step(&mut self, model: &mut Params, gradients: &[&Params], rate: f32) {
        self.steps += 1;
        let unbiased = |kept: f32| 1.0 / (1.0 - f64::from(kept).powf(self.steps as f64)) as f32;
        let step = Step {
            rate,
            mean_scale: unbiased(MEAN_KEPT),
            square_scale: unbiased(SQUARE_KEPT),
        };
        self.step_together(&mut model.feature_weights, gradients, step);
        let kinds = model.kinds_mut().into_iter().zip(self.mean.kinds_mut());
        let kinds = kinds.zip(self.square.kinds_mut()).zip(RULES);
        let mut jobs = Vec::new();
        for (kind, (((model, mean), square), rule)) in kinds.enumerate() {
            let size = model.len().div_ceil(gradients.len()).max(LANES_A_THREAD);
            let parts = model.chunks_mut(size).zip(mean.chunks_mut(size));
            for (part, ((model, mean), square)) in parts.zip(square.chunks_mut(size)).enumerate() {
                let first = part * size;
                jobs.push(move || {
                    let lanes = model.iter_mut().zip(mean).zip(square).enumerate();
                    for (at, ((model, mean), square)) in lanes {
                        let mut sum = SimdLane::ZERO;
                        for gradient in gradients {
                            sum.add(&gradient.kinds()[kind][first + at]);
                        }
                        update(model, mean, square, &sum, step, rule);
                    }
                });
            }
        }
        side_by_side(gradients.len(), jobs);
    }

    /// Moves twins by the sum of their gradients. The bounds are for the step that follows.
    fn step_together(&mut self, weights: &mut [SimdLane], gradients: &[&Params], step: Step) {
        let (all, twins) = (weights.len(), self.shared_mean.len());
        let moments = self.shared_mean.iter_mut().zip(&mut self.shared_square);
        for (first, (mean, square)) in moments.enumerate() {
            let mut sum = SimdLane::ZERO;
            for gradient in gradients {
                for lane in (first..all).step_by(twins) {
                    sum.add(&gradient.feature_weights[lane]);
                }
            }
            let mut moved = SimdLane::ZERO;
            update(&mut moved, mean, square, &sum, step, FREE);
            for lane in (first..all).step_by(twins) {
                weights[lane].add(&moved);
            }
        }
    }
}

#[inline]
fn update(
    model: &mut SimdLane,
    mean: &mut SimdLane,
    square: &mut SimdLane,
    gradient: &SimdLane,
    step: Step,
    rule: ParamRule,
) {
    let decay = if rule.decays { DECAY } else { 0.0 };
    let kept = 1.0 - step.rate * decay;
    for i in 0..WIDTH {
        let slope = gradient.0[i];
        mean.0[i] = MEAN_KEPT * mean.0[i] + (1.0 - MEAN_KEPT) * slope;
        square.0[i] = SQUARE_KEPT * square.0[i] + (1.0 - SQUARE_KEPT) * slope * slope;
        let size = (square.0[i] * step.square_scale).sqrt() + EPSILON;
        let moved = model.0[i] * kept - step.rate * mean.0[i] * step.mean_scale / size;
        model.0[i] = moved.max(-rule.limit).min(rule.limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::nnue::BucketBy;

    fn step_of(rule: ParamRule, model: f32, gradient: f32, rate: f32) -> f32 {
        let (mut lane, mut mean, mut square) =
            (SimdLane([model; WIDTH]), SimdLane::ZERO, SimdLane::ZERO);
        let step = Step {
            rate,
            mean_scale: 1.0 / (1.0 - MEAN_KEPT),
            square_scale: 1.0 / (1.0 - SQUARE_KEPT),
        };
        let gradient = SimdLane([gradient; WIDTH]);
        update(&mut lane, &mut mean, &mut square, &gradient, step, rule);
        lane.0[0]
    }

    #[test]
    fn a_first_step_has_the_length_of_the_rate_whatever_the_gradient() {
        for gradient in [1e-4, 1.0, 100.0] {
            let moved = step_of(RULES[1], 0.5, gradient, 0.01);
            assert!((moved - 0.49).abs() < 1e-5, "{moved}");
        }
    }

    #[test]
    fn weights_decay_and_biases_do_not() {
        assert!(step_of(RULES[0], 1.0, 0.0, 0.1) < 1.0);
        assert!((step_of(RULES[1], 1.0, 0.0, 0.1) - 1.0).abs() < f32::EPSILON);
    }

    #[test]
    fn an_input_learns_from_its_twins() {
        let shape = Shape {
            layout: Layout::KingRing,
            hidden: 32,
            buckets: 1,
            bucket_by: BucketBy::Pieces,
            scale: 400,
        };
        let mut model = Params::random(shape, 1);
        let before = model.clone();
        let (mut gradient, mut adam) = (Params::zeros(shape), Adam::new(shape));
        gradient.feature_weights[INPUTS + 7] = SimdLane([1.0; WIDTH]);
        adam.step(&mut model, &[&gradient], 0.01);
        let moved = |lane: usize| {
            let weights = [&model, &before].map(|params| params.feature_weights[lane].0[0]);
            weights[1] - weights[0]
        };
        assert!((moved(INPUTS + 7) - 0.02).abs() < 1e-4);
        for twin in [7, 2 * INPUTS + 7] {
            assert!((moved(twin) - 0.01).abs() < 1e-4);
            assert!(adam.has_seen(twin));
        }
        assert!(moved(8).abs() < 1e-4 && !adam.has_seen(8));
    }

    #[test]
    fn nothing_outgrows_its_limit() {
        assert!((step_of(RULES[2], 1.9, -1.0, 0.5) - RULES[2].limit).abs() < f32::EPSILON);
        assert!((step_of(RULES[0], -1.9, 1.0, 0.5) + RULES[0].limit).abs() < f32::EPSILON);
    }
}
