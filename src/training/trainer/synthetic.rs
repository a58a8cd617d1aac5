//! Synthetic samples for tests: positions of random games with known labels.

use super::super::{GameResult, Sample};
use super::dataset::Dataset;
use crate::rules::{Color, Position, Role};

/// The piece values, pawn to king.
const VALUES: [i32; 6] = [100, 200, 230, 350, 600, 0];

/// Positions of random games without check, with both kings.
pub(super) fn positions(seed: u64, count: usize) -> Vec<Position> {
    let mut chance = fastrand::Rng::with_seed(seed);
    let mut found = Vec::with_capacity(count);
    while found.len() < count {
        let mut position = Position::default();
        for _ in 0..chance.usize(4..80) {
            let moves = position.legal_moves();
            if moves.is_empty() || position.outcome().is_some() {
                break;
            }
            position = position.play(moves[chance.usize(..moves.len())]);
        }
        let has_kings = Color::ALL
            .into_iter()
            .all(|side| position.king(side).is_some());
        if has_kings && !position.in_check() {
            found.push(position);
        }
    }
    found
}

/// White's material minus Black's, in centipawns.
pub(super) fn material(position: &Position) -> i32 {
    let count = |side, role: Role| position.by_piece(side, role).count() as i32;
    Role::ALL
        .into_iter()
        .map(|role| (count(Color::White, role) - count(Color::Black, role)) * VALUES[role.index()])
        .sum()
}

/// A sample labelled by its material; every 20th is for validation.
pub(super) fn by_material(number: usize, position: &Position) -> Sample {
    let score = material(position);
    let result = 1 + score.signum();
    sample(
        position,
        score as i16,
        result as u8,
        number.is_multiple_of(20),
    )
}

/// A sample with labels from White's side: result 0 lost, 1 drawn, 2 won.
pub(super) fn sample(position: &Position, score: i16, result: u8, validation: bool) -> Sample {
    let results = [GameResult::Lost, GameResult::Drawn, GameResult::Won];
    Sample::of(
        position,
        score,
        results[usize::from(result)],
        20,
        validation,
    )
}

/// Samples as the only file of a dataset.
pub(super) fn dataset(samples: Vec<Sample>) -> Dataset {
    let mut dataset = Dataset::default();
    dataset.add("synthetic", 1.0, samples);
    dataset
}

/// `count` samples labelled by material.
pub(super) fn material_stock(seed: u64, count: usize) -> Dataset {
    let positions = positions(seed, count).into_iter().enumerate();
    dataset(
        positions
            .map(|(at, position)| by_material(at, &position))
            .collect(),
    )
}
