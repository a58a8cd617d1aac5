//! The parameters of a net in training: floats in lanes of the width of vector registers.
//!
//! Model, gradient and the two moments of the optimiser all have this form, so one loop can go through all
//! of them.

use crate::engine::nnue::{Layout, QA, QB, Shape};

/// The numbers in a lane; a net's hidden units are a multiple of it.
pub(super) const WIDTH: usize = 32;
/// The bound of weights: times an activation, a quantised weight must fit 16 bits.
const LARGEST_WEIGHT: f32 = 1.98;
/// The range of initial feature weights. About twenty pieces on the board spread a hidden unit over
/// the part of the activation that has a slope.
const FEATURE_SPREAD: f32 = 0.1;
/// The initial feature biases: slightly above 0, so that most units start active.
const FEATURE_BIAS: f32 = 0.1;

/// Numbers that are stored and computed together.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub(super) struct SimdLane(pub(super) [f32; WIDTH]);

impl SimdLane {
    pub(super) const ZERO: SimdLane = SimdLane([0.0; WIDTH]);

    /// Adds another lane elementwise.
    #[inline]
    pub(super) fn add(&mut self, other: &SimdLane) {
        for (sum, number) in self.0.iter_mut().zip(other.0) {
            *sum += number;
        }
    }

    /// The pairwise sum of its numbers, which is faster and more exact than a sequential one.
    #[inline]
    pub(super) fn sum(mut self) -> f32 {
        let mut width = WIDTH / 2;
        while width > 0 {
            for i in 0..width {
                self.0[i] += self.0[i + width];
            }
            width /= 2;
        }
        self.0[0]
    }
}

/// The optimiser's settings for a kind of parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct ParamRule {
    /// Whether weight decay applies.
    pub(super) decays: bool,
    /// The bound of its absolute value.
    pub(super) limit: f32,
}

/// The four kinds, in the order of [`Params::kinds`] and of the net's file.
pub(super) const RULES: [ParamRule; 4] = [
    ParamRule {
        decays: true,
        limit: LARGEST_WEIGHT,
    },
    ParamRule {
        decays: false,
        limit: LARGEST_WEIGHT,
    },
    ParamRule {
        decays: true,
        limit: LARGEST_WEIGHT,
    },
    ParamRule {
        decays: false,
        limit: f32::INFINITY,
    },
];

const _: () = {
    // At most 32 weights and the bias stay within 16 bits; so does an output weight times 1.
    assert!(LARGEST_WEIGHT * QA as f32 * 33.0 < i16::MAX as f32);
    assert!(LARGEST_WEIGHT * QB as f32 * QA as f32 + 127.5 < i16::MAX as f32);
};

/// One number for each parameter of a net.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Params {
    /// For every input the lanes of its hidden units.
    pub(super) feature_weights: Vec<SimdLane>,
    pub(super) feature_biases: Vec<SimdLane>,
    /// For every output bucket the lanes of the side to move, then those of the other.
    pub(super) output_weights: Vec<SimdLane>,
    /// One lane with one number per output bucket; the rest is unused.
    pub(super) output_biases: Vec<SimdLane>,
}

impl Params {
    pub(super) fn zeros(shape: Shape) -> Params {
        let lanes = shape.hidden / WIDTH;
        let zeros = |count| vec![SimdLane::ZERO; count];
        Params {
            feature_weights: zeros(shape.layout.inputs() * lanes),
            feature_biases: zeros(lanes),
            output_weights: zeros(shape.buckets * 2 * lanes),
            output_biases: zeros(1),
        }
    }

    /// The initial parameters of a training. All output buckets start equal, and
    /// so do all planes of the inputs.
    pub(super) fn random(shape: Shape, seed: u64) -> Params {
        let mut params = Params::zeros(shape);
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut draw = |spread: f32| spread * (2.0 * chance.f32() - 1.0);
        let plane = Layout::Plain.inputs() * params.lanes();
        let (first, others) = params.feature_weights.split_at_mut(plane);
        for number in floats_mut(first) {
            *number = draw(FEATURE_SPREAD);
        }
        for other in others.chunks_exact_mut(plane) {
            other.copy_from_slice(first);
        }
        for number in floats_mut(&mut params.feature_biases) {
            *number = FEATURE_BIAS;
        }
        let lanes = 2 * params.lanes();
        let (first, others) = params.output_weights.split_at_mut(lanes);
        for number in floats_mut(first) {
            *number = draw((1.0 / shape.hidden as f32).sqrt());
        }
        for other in others.chunks_exact_mut(lanes) {
            other.copy_from_slice(first);
        }
        params
    }

    /// `fresh`, which has more hidden units, with these numbers in the first ones.
    pub(super) fn within(&self, mut fresh: Params) -> Params {
        let (old, new) = (self.lanes(), fresh.lanes());
        let kinds = fresh.kinds_mut().into_iter().zip(self.kinds());
        for (fresh, kind) in kinds.take(3) {
            copy_rows(kind, old, fresh, new);
        }
        fresh.output_biases.clone_from(&self.output_biases);
        fresh
    }

    /// The lanes of one side's hidden units.
    #[inline]
    pub(super) fn lanes(&self) -> usize {
        self.feature_biases.len()
    }

    pub(super) fn kinds(&self) -> [&[SimdLane]; 4] {
        [
            &self.feature_weights,
            &self.feature_biases,
            &self.output_weights,
            &self.output_biases,
        ]
    }

    pub(super) fn kinds_mut(&mut self) -> [&mut [SimdLane]; 4] {
        [
            &mut self.feature_weights,
            &mut self.feature_biases,
            &mut self.output_weights,
            &mut self.output_biases,
        ]
    }

    pub(super) fn clear(&mut self) {
        for kind in self.kinds_mut() {
            kind.fill(SimdLane::ZERO);
        }
    }
}

/// Copies rows of `old` lanes to the beginnings of rows of `new` lanes.
pub(super) fn copy_rows(from: &[SimdLane], old: usize, to: &mut [SimdLane], new: usize) {
    let rows = to.chunks_exact_mut(new).zip(from.chunks_exact(old));
    rows.for_each(|(to, from)| to[..old].copy_from_slice(from));
}

/// All numbers of these lanes.
pub(super) fn floats(lanes: &[SimdLane]) -> impl Iterator<Item = f32> {
    lanes.iter().flat_map(|lane| lane.0)
}

pub(super) fn floats_mut(lanes: &mut [SimdLane]) -> impl Iterator<Item = &mut f32> {
    lanes.iter_mut().flat_map(|lane| &mut lane.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_summed_whole() {
        let lane = SimdLane(std::array::from_fn(|i| i as f32));
        assert_eq!(lane.sum() as usize, WIDTH * (WIDTH - 1) / 2);
    }
}
