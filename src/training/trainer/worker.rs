//! One thread's part of a batch: outputs, losses, and gradients.
//!
//! Forward: `hidden = bias + rows of the inputs that are on`, `output = sum of clamp(hidden, 0, 1)²
//! times the bucket's weights + its bias`, `loss = (sigmoid(output) - target)²`. This module does not change
//! the model.

use super::example::{Example, sigmoid};
use super::params::{Params, SimdLane, WIDTH};
use crate::engine::nnue::Shape;

/// The buffers of one thread.
#[derive(Debug)]
pub(super) struct Worker {
    /// The sum over its examples.
    pub(super) gradient: Params,
    hidden: Vec<SimdLane>,
    /// The sum over its examples.
    pub(super) loss: f64,
}

impl Worker {
    pub(super) fn new(shape: Shape) -> Worker {
        let gradient = Params::zeros(shape);
        Worker {
            hidden: vec![SimdLane::ZERO; 2 * gradient.lanes()],
            gradient,
            loss: 0.0,
        }
    }

    /// Adds the gradient of examples, each with this weight.
    pub(super) fn learn(
        &mut self,
        model: &Params,
        examples: impl Iterator<Item = Example>,
        weight: f32,
    ) {
        self.gradient.clear();
        self.loss = 0.0;
        for example in examples {
            let answer = sigmoid(self.forward(model, &example));
            let error = answer - example.target;
            self.loss += f64::from(error * error);
            let slope = 2.0 * error * answer * (1.0 - answer) * weight;
            self.backward(model, &example, slope);
        }
    }

    pub(super) fn measure(&mut self, model: &Params, examples: impl Iterator<Item = Example>) {
        self.loss = 0.0;
        for example in examples {
            let error = sigmoid(self.forward(model, &example)) - example.target;
            self.loss += f64::from(error * error);
        }
    }

    /// The net's output, in units of its scale; stores the hidden units.
    pub(super) fn forward(&mut self, model: &Params, example: &Example) -> f32 {
        let lanes = model.lanes();
        let views = self.hidden.chunks_exact_mut(lanes).zip(&example.views);
        for (hidden, inputs) in views {
            for (at, (unit, bias)) in hidden.iter_mut().zip(&model.feature_biases).enumerate() {
                let mut sum = *bias;
                for &input in inputs {
                    sum.add(&model.feature_weights[input * lanes + at]);
                }
                *unit = sum;
            }
        }
        let weights = &model.output_weights[2 * lanes * example.bucket..][..2 * lanes];
        let mut sum = SimdLane::ZERO;
        for (unit, weight) in self.hidden.iter().zip(weights) {
            for i in 0..WIDTH {
                let active = unit.0[i].clamp(0.0, 1.0);
                sum.0[i] += active * active * weight.0[i];
            }
        }
        sum.sum() + model.output_biases[0].0[example.bucket]
    }

    /// Adds the example's gradient; `slope` is the derivative of the loss by the output.
    fn backward(&mut self, model: &Params, example: &Example, slope: f32) {
        let lanes = model.lanes();
        let outputs = 2 * lanes * example.bucket;
        let weights = &model.output_weights[outputs..][..2 * lanes];
        let gradient = &mut self.gradient;
        let by_weight = &mut gradient.output_weights[outputs..][..2 * lanes];
        gradient.output_biases[0].0[example.bucket] += slope;
        for (at, unit) in self.hidden.iter().enumerate() {
            let by_hidden = through(unit, &weights[at], &mut by_weight[at], slope);
            let (view, lane) = (at / lanes, at % lanes);
            gradient.feature_biases[lane].add(&by_hidden);
            for &input in &example.views[view] {
                gradient.feature_weights[input * lanes + lane].add(&by_hidden);
            }
        }
    }
}

/// Back through the activation: adds the gradient of the weights, returns that of the hidden units.
#[inline]
fn through(unit: &SimdLane, weight: &SimdLane, by_weight: &mut SimdLane, slope: f32) -> SimdLane {
    let mut by_hidden = SimdLane::ZERO;
    for i in 0..WIDTH {
        let active = unit.0[i].clamp(0.0, 1.0);
        by_weight.0[i] += slope * active * active;
        // Below 0 the activation itself is 0.
        let steep = if unit.0[i] < 1.0 { active } else { 0.0 };
        by_hidden.0[i] = 2.0 * slope * weight.0[i] * steep;
    }
    by_hidden
}

#[cfg(test)]
mod tests;
