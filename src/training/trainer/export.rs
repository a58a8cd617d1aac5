//! Quantises a net to the integers of the engine, and measures the loss of precision.

use super::super::Sample;
use super::adam::Adam;
use super::error::TrainError;
use super::example::{Example, Target};
use super::params::{Params, RULES, floats};
use super::worker::Worker;
use crate::engine::nnue::{Network, Parts, QA, QB, Shape};
use crate::rules::Position;

/// The most positions for the comparison of both nets.
const COMPARED: usize = 10_000;
/// The least positions to correct the bias of an output bucket.
const FEWEST_TO_LEVEL: u32 = 30;

/// The precision of the exported net.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fidelity {
    /// The share of the weights at their bound.
    pub clipped: f64,
    /// Inputs that no sample activates; their weights are exported as 0.
    pub unseen: usize,
    /// The positions of the comparison.
    pub positions: usize,
    /// The mean difference in centipawns.
    pub mean_error: f64,
    /// The largest difference in centipawns.
    pub largest_error: f64,
}

/// The quantised net, without inputs that the optimiser has never seen.
///
/// Rounding the weights shifts all outputs of a bucket in the same direction, by some centipawns; the output
/// biases correct that as far as the samples show it.
pub(super) fn quantise(
    model: &Params,
    adam: &Adam,
    shape: Shape,
    samples: &[Sample],
) -> Result<Network, TrainError> {
    let mut parts = rounded(model, adam, shape);
    let network = Network::from_parts(shape, &parts)?;
    let mut shifts = vec![(0_u32, 0.0); shape.buckets];
    for Difference { bucket, centipawns } in differences(model, &network, samples) {
        shifts[bucket].0 += 1;
        shifts[bucket].1 += centipawns;
    }
    for (bias, (count, sum)) in parts.output_biases.iter_mut().zip(shifts) {
        if count >= FEWEST_TO_LEVEL {
            let unit = f64::from(QA * QB) / f64::from(shape.scale);
            *bias += (sum / f64::from(count) * unit).round() as i32;
        }
    }
    Ok(Network::from_parts(shape, &parts)?)
}

fn rounded(model: &Params, adam: &Adam, shape: Shape) -> Parts {
    let whole = |number: f32, unit: i32| (f64::from(number) * f64::from(unit)).round();
    let short = |number: f32, unit: i32| whole(number, unit) as i16;
    let rows = model.feature_weights.iter().enumerate();
    let feature_weights = rows.flat_map(|(lane, row)| {
        let has_seen = adam.has_seen(lane);
        row.0
            .map(|number| if has_seen { short(number, QA) } else { 0 })
    });
    Parts {
        feature_weights: feature_weights.collect(),
        feature_biases: floats(&model.feature_biases)
            .map(|number| short(number, QA))
            .collect(),
        output_weights: floats(&model.output_weights)
            .map(|number| short(number, QB))
            .collect(),
        output_biases: floats(&model.output_biases)
            .take(shape.buckets)
            .map(|number| whole(number, QA * QB) as i32)
            .collect(),
    }
}

/// The output of the float net minus that of the quantised net, for a sample.
struct Difference {
    bucket: usize,
    centipawns: f64,
}

fn differences(
    model: &Params,
    network: &Network,
    samples: &[Sample],
) -> impl Iterator<Item = Difference> {
    let shape = network.shape();
    let target = Target {
        lambda: 0.0,
        score_scale: 1.0,
    };
    let mut worker = Worker::new(shape);
    let step = samples.len().div_ceil(COMPARED).max(1);
    samples.iter().step_by(step).filter_map(move |sample| {
        let example = Example::of(sample, shape, target);
        let whole = f64::from(network.evaluate(&position(sample)?)?);
        let float = f64::from(worker.forward(model, &example)) * f64::from(shape.scale);
        Some(Difference {
            bucket: example.bucket,
            centipawns: float - whole,
        })
    })
}

/// The position of a sample, with White to move.
fn position(sample: &Sample) -> Option<Position> {
    let mut rows = [['1'; 8]; 8];
    for piece in sample.pieces() {
        let letter = piece.role.char();
        let row = &mut rows[7 - usize::from(piece.square.rank())];
        row[usize::from(piece.square.file())] = if piece.mine {
            letter.to_ascii_uppercase()
        } else {
            letter.to_ascii_lowercase()
        };
    }
    let rows = rows.map(String::from_iter);
    Position::from_fen(&format!("{} w - - 0 1", rows.join("/"))).ok()
}

/// Compares both nets on samples.
pub(super) fn fidelity(
    model: &Params,
    adam: &Adam,
    network: &Network,
    samples: &[Sample],
) -> Fidelity {
    let errors: Vec<f64> = differences(model, network, samples)
        .map(|difference| difference.centipawns.abs())
        .collect();
    Fidelity {
        clipped: clipped(model),
        unseen: unseen(model, adam),
        positions: errors.len(),
        mean_error: errors.iter().sum::<f64>() / errors.len().max(1) as f64,
        largest_error: errors.iter().fold(0.0, |most, &error| most.max(error)),
    }
}

/// The share of the weights at their bound.
fn clipped(model: &Params) -> f64 {
    let (mut all, mut at_bound) = (0_usize, 0_usize);
    for (kind, rule) in model.kinds().into_iter().zip(RULES) {
        if rule.decays {
            all += floats(kind).count();
            at_bound += floats(kind).filter(|n| n.abs() >= rule.limit).count();
        }
    }
    at_bound as f64 / all as f64
}

fn unseen(model: &Params, adam: &Adam) -> usize {
    let lanes = model.lanes();
    let inputs = model.feature_weights.len() / lanes;
    let has_seen = |input: &usize| (0..lanes).any(|at| adam.has_seen(input * lanes + at));
    inputs - (0..inputs).filter(has_seen).count()
}
