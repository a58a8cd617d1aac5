//! All instruction sets agree.

use super::*;
use crate::engine::nnue::lines::cut;

/// The largest accumulator and output weight that a valid net allows.
fn extremes(rng: &mut fastrand::Rng, count: usize) -> (Vec<Line>, Vec<Line>) {
    let units: Vec<i16> = (0..count)
        .map(|_| match rng.u8(..4) {
            0 => i16::MAX,
            1 => i16::MIN,
            2 => rng.i16(..),
            _ => rng.i16(-300..300),
        })
        .collect();
    let most = rng.bool();
    let weights: Vec<i16> = (0..count)
        .map(|_| if most { 128 } else { rng.i16(-128..=128) })
        .collect();
    (cut(&units), cut(&weights))
}

#[test]
fn every_kind_of_processor_gives_the_same_output() {
    let mut rng = fastrand::Rng::with_seed(5);
    for _ in 0..1000 {
        let count = 32 * rng.usize(1..=16);
        let (ours, our_weights) = extremes(&mut rng, count);
        let (theirs, their_weights) = extremes(&mut rng, count);
        let (units, weights) = ([&ours[..], &theirs], [&our_weights[..], &their_weights]);
        let expected = plain::output(units, weights);
        for simd in Simd::available() {
            assert_eq!(
                Kernels::new(simd).output(units, weights),
                expected,
                "{simd}"
            );
        }
    }
}

#[test]
fn no_lane_overflows_at_extreme_values() {
    for weight in [128, -128] {
        let (units, weights) = (cut(&[i16::MAX; 512]), cut(&[weight; 512]));
        let (units, weights) = ([&units[..]; 2], [&weights[..]; 2]);
        for simd in Simd::available() {
            let sum = Kernels::new(simd).output(units, weights);
            assert_eq!(sum.abs(), 1024 * 128 * 255 * 255, "{simd}");
        }
    }
}

#[test]
fn every_kind_of_processor_computes_the_same_accumulator() {
    let mut rng = fastrand::Rng::with_seed(6);
    for count in 0..1000 {
        let lines = rng.usize(1..=16);
        let mut draw = |lines: usize| -> Vec<Line> {
            let numbers: Vec<i16> = (0..32 * lines).map(|_| rng.i16(..)).collect();
            cut(&numbers)
        };
        let (source, weights) = (draw(lines), draw(40 * lines));
        let mut inputs = |most: usize| -> Vec<u16> {
            let count = rng.usize(..=most);
            (0..count).map(|_| rng.u16(..40)).collect()
        };
        let most = if count % 2 == 0 { 3 } else { 12 };
        let (on, off) = (inputs(most), inputs(most));
        let delta = FeatureDelta {
            weights: &weights,
            on: &on,
            off: &off,
        };
        let mut expected = source.clone();
        for (inputs, sign) in [(&on, 1), (&off, -1)] {
            for &input in inputs {
                let row = &weights[usize::from(input) * lines..][..lines];
                for (units, row) in expected.iter_mut().zip(row) {
                    for (unit, weight) in units.0.iter_mut().zip(row.0) {
                        *unit = unit.wrapping_add(weight.wrapping_mul(sign));
                    }
                }
            }
        }
        for simd in Simd::available() {
            let mut target = vec![Line([7; 32]); lines];
            Kernels::new(simd).update(&source, &mut target, delta);
            assert_eq!(target, expected, "{simd}");
            target.copy_from_slice(&source);
            Kernels::new(simd).update_in_place(&mut target, delta);
            assert_eq!(target, expected, "{simd}, on the spot");
        }
    }
}

#[test]
fn a_kind_of_processor_is_named() {
    for simd in Simd::available() {
        assert_eq!(simd.to_string().parse(), Ok(simd));
    }
    assert!("sse9".parse::<Simd>().is_err());
    assert!(Simd::best().is_available());
}
