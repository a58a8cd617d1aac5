//! Compares the gradient with finite differences of a loss that is computed independently: from positions, in
//! doubles, by the formulas of the net's file.

use super::super::example::Target;
use super::super::params::{RULES, floats, floats_mut};
use super::super::synthetic::{positions, sample};
use super::*;
use crate::engine::nnue::BucketBy;
use crate::engine::nnue::Layout;
use crate::rules::{Color, Position, Role, king_attacks};

const AIM: Target = Target {
    lambda: 0.6,
    score_scale: 400.0,
};

/// A position with its score and result from White's side.
type Labelled = (Position, i16, u8);

fn labelled(count: usize) -> Vec<Labelled> {
    let mut chance = fastrand::Rng::with_seed(9);
    positions(4, count)
        .into_iter()
        .map(|position| (position, chance.i16(-900..900), chance.u8(0..3)))
        .collect()
}

/// The index of an input by the definition of the format.
fn input(layout: Layout, position: &Position, side: Color, at: crate::rules::Square) -> usize {
    let king = position.king(side).unwrap();
    let (mut square, mut plane) = (at.index(), 0);
    if side == Color::Black {
        square = at.flip_rank().index();
    }
    if king.file() >= 4 {
        square = square / 8 * 8 + 7 - square % 8;
    }
    let piece = position.piece_at(at).unwrap();
    if layout == Layout::Attacked {
        let attackers = position.attackers_to(at, position.occupied());
        let kings = position.by_role(Role::King);
        plane = usize::from(attackers.intersects(position.by_color(!piece.color) - kings));
    }
    if matches!(layout, Layout::KingRing | Layout::KingZone) {
        let is_beside = |color| king_attacks(position.king(color).unwrap()).contains(at);
        plane = match [side, !side].map(is_beside) {
            [_, true] => 2,
            [own, false] => usize::from(own),
        };
    }
    if layout == Layout::KingZone {
        let is_home = king.rank() == if side == Color::White { 0 } else { 7 };
        let zone = match (is_home, king.file()) {
            (true, 3 | 4) => 0,
            (true, _) => 1,
            (false, _) => 2,
        };
        plane += 3 * zone;
    }
    let enemy = if piece.color == side { 0 } else { 384 };
    plane * 768 + enemy + piece.role.index() * 64 + square
}

/// The mean loss, in doubles.
fn reference(params: &[Vec<f64>; 4], shape: Shape, examples: &[Labelled]) -> f64 {
    let [
        feature_weights,
        feature_biases,
        output_weights,
        output_biases,
    ] = params;
    let hidden = shape.hidden;
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let mut loss = 0.0;
    for (position, score, result) in examples {
        let us = position.turn();
        let bucket = (position.occupied().count() - 1) * shape.buckets / 32;
        let mut output = output_biases[bucket];
        for (half, side) in [us, !us].into_iter().enumerate() {
            for unit in 0..hidden {
                let mut sum = feature_biases[unit];
                for square in position.occupied() {
                    let row = input(shape.layout, position, side, square);
                    sum += feature_weights[row * hidden + unit];
                }
                let weight = output_weights[(2 * bucket + half) * hidden + unit];
                output += sum.clamp(0.0, 1.0).powi(2) * weight;
            }
        }
        let sign = if us == Color::White { 1.0 } else { -1.0 };
        let result = 0.5 + sign * (f64::from(*result) / 2.0 - 0.5);
        let score = sigmoid(sign * f64::from(*score) / f64::from(AIM.score_scale));
        let lambda = f64::from(AIM.lambda);
        let target = lambda * result + (1.0 - lambda) * score;
        loss += (sigmoid(output) - target).powi(2);
    }
    loss / examples.len() as f64
}

/// A model with some units inactive, some active and some saturated.
fn model(shape: Shape) -> Params {
    let mut chance = fastrand::Rng::with_seed(77);
    let mut model = Params::random(shape, 3);
    floats_mut(&mut model.feature_biases).for_each(|bias| *bias = chance.f32() * 1.6 - 0.4);
    floats_mut(&mut model.output_weights).for_each(|weight| *weight = chance.f32() - 0.5);
    floats_mut(&mut model.output_biases)
        .take(shape.buckets)
        .for_each(|bias| *bias = chance.f32() - 0.5);
    model
}

#[test]
fn the_gradient_of_every_kind_of_number_is_that_of_the_loss() {
    for layout in Layout::ALL {
        let shape = Shape {
            layout,
            hidden: 32,
            buckets: 4,
            bucket_by: BucketBy::Pieces,
            scale: 400,
        };
        let labelled = labelled(24);
        let model = model(shape);
        let mut worker = Worker::new(shape);
        let samples = labelled
            .iter()
            .map(|(p, score, result)| sample(p, *score, *result, false));
        let examples = samples.map(|sample| Example::of(&sample, shape, AIM));
        worker.learn(&model, examples, 1.0 / labelled.len() as f32);

        let mut params = model
            .kinds()
            .map(|kind| floats(kind).map(f64::from).collect::<Vec<_>>());
        let loss = reference(&params, shape, &labelled);
        assert!((worker.loss / labelled.len() as f64 - loss).abs() < 1e-6);

        let gradients = worker
            .gradient
            .kinds()
            .map(|kind| floats(kind).collect::<Vec<_>>());
        for kind in 0..RULES.len() {
            let alive: Vec<usize> = (0..gradients[kind].len())
                .filter(|&at| gradients[kind][at] != 0.0)
                .collect();
            assert!(!alive.is_empty());
            let dead = (0..params[kind].len()).filter(|&at| gradients[kind][at] == 0.0);
            let some = alive.iter().step_by(alive.len().div_ceil(150)).copied();
            for at in some.chain(dead.step_by(977)) {
                let (before, step) = (params[kind][at], 1e-5);
                let mut loss_at = |number: f64| {
                    params[kind][at] = number;
                    reference(&params, shape, &labelled)
                };
                let slope = (loss_at(before + step) - loss_at(before - step)) / (2.0 * step);
                params[kind][at] = before;
                let found = f64::from(gradients[kind][at]);
                assert!(
                    (slope - found).abs() < 1e-6 + 1e-3 * slope.abs(),
                    "{layout:?}, kind {kind}, number {at}: {found} is not {slope}"
                );
            }
        }
    }
}

#[test]
fn each_view_and_each_output_bucket_gets_a_gradient_of_its_own() {
    let shape = Shape {
        layout: Layout::Plain,
        hidden: 32,
        buckets: 8,
        bucket_by: BucketBy::Pieces,
        scale: 400,
    };
    let model = model(shape);
    let mut worker = Worker::new(shape);
    let start = sample(&Position::default(), 300, 2, false);
    worker.learn(&model, [Example::of(&start, shape, AIM)].into_iter(), 1.0);
    // 32 pieces: the last bucket. Both halves of it have learned, and no other bucket.
    for (bucket, lanes) in worker.gradient.output_weights.chunks(2).enumerate() {
        let has_learned = lanes.iter().all(|lane| *lane != SimdLane::ZERO);
        assert_eq!(has_learned, bucket == 7);
        assert_eq!(
            worker.gradient.output_biases[0].0[bucket] != 0.0,
            bucket == 7
        );
    }
    let rows = worker.gradient.feature_weights.iter();
    let touched = rows.filter(|row| **row != SimdLane::ZERO).count();
    assert_eq!(
        touched, 32,
        "both sides see the start alike, mirrored to one view"
    );
}
