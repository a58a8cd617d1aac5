//! The loops in plain code: what the others must agree with, and what they are made of where the
//! compiler needs no more than leave to use wide registers.

#![expect(
    clippy::inline_always,
    reason = "compiled into each caller, with the instructions that the caller may use"
)]

use super::super::lines::{LINE, Line};
use super::super::network::QA;
use super::Turned;

/// Hidden units from others of which some inputs differ.
#[inline(always)]
pub(super) fn update(source: &[Line], target: &mut [Line], turned: Turned<'_>) {
    let lines = target.len();
    // A step, a capture with one to three men beside the two, castling; what is rarer goes row by
    // row.
    match (turned.on, turned.off) {
        ([on], [off]) => fused(
            source,
            target,
            turned.rows(&[*on], lines),
            turned.rows(&[*off], lines),
        ),
        ([], [a, b]) => fused(source, target, [], turned.rows(&[*a, *b], lines)),
        ([], [a, b, c]) => fused(source, target, [], turned.rows(&[*a, *b, *c], lines)),
        ([], [a, b, c, d]) => {
            fused(source, target, [], turned.rows(&[*a, *b, *c, *d], lines));
        }
        ([a, b], [c, d]) => fused(
            source,
            target,
            turned.rows(&[*a, *b], lines),
            turned.rows(&[*c, *d], lines),
        ),
        _ => {
            target.copy_from_slice(source);
            update_in_place(target, turned);
        }
    }
}

/// As [`update`], on the spot.
#[inline(always)]
pub(super) fn update_in_place(target: &mut [Line], turned: Turned<'_>) {
    let lines = target.len();
    let (on, more_on) = turned.on.as_chunks::<4>();
    for inputs in on {
        grow(target, turned.rows(inputs, lines), []);
    }
    let (off, more_off) = turned.off.as_chunks::<4>();
    for inputs in off {
        grow(target, [], turned.rows(inputs, lines));
    }
    let pairs = more_on.len().min(more_off.len());
    for (&on, &off) in more_on.iter().zip(more_off) {
        grow(target, [turned.row(on, lines)], [turned.row(off, lines)]);
    }
    for &input in &more_on[pairs..] {
        grow(target, [turned.row(input, lines)], []);
    }
    for &input in &more_off[pairs..] {
        grow(target, [], [turned.row(input, lines)]);
    }
}

#[inline(always)]
fn fused<const ON: usize, const OFF: usize>(
    source: &[Line],
    target: &mut [Line],
    on: [&[Line]; ON],
    off: [&[Line]; OFF],
) {
    for (i, (target, source)) in target.iter_mut().zip(source).enumerate() {
        for j in 0..LINE {
            let mut unit = source.0[j];
            for row in &on {
                unit = unit.wrapping_add(row[i].0[j]);
            }
            for row in &off {
                unit = unit.wrapping_sub(row[i].0[j]);
            }
            target.0[j] = unit;
        }
    }
}

#[inline(always)]
fn grow<const ON: usize, const OFF: usize>(
    target: &mut [Line],
    on: [&[Line]; ON],
    off: [&[Line]; OFF],
) {
    for (i, target) in target.iter_mut().enumerate() {
        for j in 0..LINE {
            let mut unit = target.0[j];
            for row in &on {
                unit = unit.wrapping_add(row[i].0[j]);
            }
            for row in &off {
                unit = unit.wrapping_sub(row[i].0[j]);
            }
            target.0[j] = unit;
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
        .flat_map(|(units, weights)| units.0.into_iter().zip(weights.0))
        .map(|(unit, weight)| {
            let activation = i64::from(unit).clamp(0, i64::from(QA));
            activation * activation * i64::from(weight)
        })
        .sum()
}
