//! Evaluation from scratch: slow and simple, the reference for the faster paths.

use super::Network;
use super::lines::numbers;
use super::network::QA;
use crate::rules::{Color, Position};

impl Network {
    /// The value of a position in centipawns for the side to move; `None` once a king is gone.
    ///
    /// Computes everything from scratch: for tests and single positions.
    pub fn evaluate(&self, position: &Position) -> Option<i32> {
        let side = position.turn();
        let hidden = [self.hidden(position, side)?, self.hidden(position, !side)?];
        let bucket = self.shape.bucket_by.bucket_of(position, self.shape.buckets);
        let sum = hidden
            .iter()
            .zip(self.output(bucket))
            .flat_map(|(units, weights)| units.iter().zip(numbers(weights)))
            .map(|(&unit, weight)| {
                let activation = i64::from(unit).clamp(0, i64::from(QA));
                activation * activation * i64::from(weight)
            })
            .sum();
        Some(self.centipawns(bucket, sum))
    }

    /// The accumulator of one side's view.
    fn hidden(&self, position: &Position, side: Color) -> Option<Vec<i16>> {
        let view = self.shape.layout.view_of(position, side)?;
        let mut units: Vec<i16> = numbers(&self.feature_biases).collect();
        for input in view.features(position, self.shape.layout.marks_of(position)?) {
            for (unit, weight) in units.iter_mut().zip(numbers(self.row(input))) {
                *unit = unit.wrapping_add(weight);
            }
        }
        Some(units)
    }
}
