//! The loops without SIMD: the reference for the others.

use super::super::lines::{FeatureDelta, Line};
use super::super::network::QA;

/// An accumulator from another one with some inputs changed.
pub(super) fn update(source: &[Line], target: &mut [Line], delta: FeatureDelta<'_>) {
    target.copy_from_slice(source);
    update_in_place(target, delta);
}

/// As [`update`], in place.
pub(super) fn update_in_place(target: &mut [Line], delta: FeatureDelta<'_>) {
    let count = target.len();
    for &input in delta.on {
        for (units, row) in target.iter_mut().zip(delta.lines(input, 0, count, count)) {
            for (unit, weight) in units.0.iter_mut().zip(row.0) {
                *unit = unit.wrapping_add(weight);
            }
        }
    }
    for &input in delta.off {
        for (units, row) in target.iter_mut().zip(delta.lines(input, 0, count, count)) {
            for (unit, weight) in units.0.iter_mut().zip(row.0) {
                *unit = unit.wrapping_sub(weight);
            }
        }
    }
}

/// The sum of squared activations times weights.
pub(super) fn output(units: [&[Line]; 2], weights: [&[Line]; 2]) -> i64 {
    let lines = units
        .into_iter()
        .flatten()
        .zip(weights.into_iter().flatten());
    lines
        .map(|(units, weights)| {
            let line: i32 = units.0.iter().zip(weights.0).map(product).sum();
            i64::from(line)
        })
        .sum()
}

/// At most 128 * 255 * 255: the sum of a line stays within 32 bits.
fn product((&unit, weight): (&i16, i16)) -> i32 {
    let activation = i32::from(unit).clamp(0, QA);
    activation * activation * i32::from(weight)
}
