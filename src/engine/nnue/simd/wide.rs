//! The loops in wide registers: 32 bytes, and 64.
//!
//! Where plain code is enough the compiler is only given leave; the dot product is written out. No
//! product leaves 16 bits and no lane of a sum 32: a net that could make them do is refused when it
//! is read.

use std::arch::x86_64::{__m256i, __m512i};

use super::super::lines::Line;
use super::super::network::QA;
use super::{Turned, plain};

/// A sum in lanes, in memory.
#[repr(C, align(64))]
struct Lanes<const N: usize>([i32; N]);

impl<const N: usize> Lanes<N> {
    /// The lanes together may leave 32 bits.
    #[inline]
    fn sum(&self) -> i64 {
        self.0.iter().map(|&lane| i64::from(lane)).sum()
    }
}

/// The two functions that only need leave.
macro_rules! compiled_for {
    ($feature:literal) => {
        #[target_feature(enable = $feature)]
        pub(in super::super) fn update(source: &[Line], target: &mut [Line], turned: Turned<'_>) {
            plain::update(source, target, turned);
        }

        #[target_feature(enable = $feature)]
        pub(in super::super) fn update_in_place(target: &mut [Line], turned: Turned<'_>) {
            plain::update_in_place(target, turned);
        }
    };
}

pub(super) mod avx2 {
    use std::arch::x86_64::{
        _mm256_add_epi32, _mm256_load_si256, _mm256_madd_epi16, _mm256_max_epi16, _mm256_min_epi16,
        _mm256_mullo_epi16, _mm256_set1_epi16, _mm256_setzero_si256, _mm256_store_si256,
    };

    use super::{__m256i, Lanes, Line, QA, Turned, plain};

    compiled_for!("avx2");

    /// The sum of squared activations times weights.
    #[target_feature(enable = "avx2")]
    pub(in super::super) fn output(units: [&[Line]; 2], weights: [&[Line]; 2]) -> i64 {
        let (zero, one) = (_mm256_setzero_si256(), _mm256_set1_epi16(QA as i16));
        let mut sums = [zero; 2];
        for side in 0..2 {
            for (units, weights) in units[side].iter().zip(weights[side]) {
                for (half, sum) in sums.iter_mut().enumerate() {
                    let (unit, weight) = (load(units, half), load(weights, half));
                    let activation = _mm256_min_epi16(_mm256_max_epi16(unit, zero), one);
                    let weighed = _mm256_mullo_epi16(activation, weight);
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(weighed, activation));
                }
            }
        }
        let mut lanes = Lanes([0; 8]);
        let sum = _mm256_add_epi32(sums[0], sums[1]);
        // SAFETY: the lanes are 32 bytes, aligned to 64.
        unsafe { _mm256_store_si256((&raw mut lanes.0).cast(), sum) };
        lanes.sum()
    }

    /// One half of a line.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(line: &Line, half: usize) -> __m256i {
        let (halves, _) = line.0.as_chunks::<16>();
        // SAFETY: half a line is 32 bytes, and lines are aligned to 64.
        unsafe { _mm256_load_si256((&raw const halves[half]).cast()) }
    }
}

pub(super) mod avx512 {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_load_si512, _mm512_madd_epi16, _mm512_max_epi16, _mm512_min_epi16,
        _mm512_mullo_epi16, _mm512_set1_epi16, _mm512_setzero_si512, _mm512_store_si512,
    };

    use super::{__m512i, Lanes, Line, QA, Turned, plain};

    compiled_for!("avx512f,avx512bw");

    /// The sum of squared activations times weights.
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(in super::super) fn output(units: [&[Line]; 2], weights: [&[Line]; 2]) -> i64 {
        let (zero, one) = (_mm512_setzero_si512(), _mm512_set1_epi16(QA as i16));
        let mut sums = [zero; 2];
        for (side, sum) in sums.iter_mut().enumerate() {
            for (units, weights) in units[side].iter().zip(weights[side]) {
                let (unit, weight) = (load(units), load(weights));
                let activation = _mm512_min_epi16(_mm512_max_epi16(unit, zero), one);
                let weighed = _mm512_mullo_epi16(activation, weight);
                *sum = _mm512_add_epi32(*sum, _mm512_madd_epi16(weighed, activation));
            }
        }
        let mut lanes = Lanes([0; 16]);
        let sum = _mm512_add_epi32(sums[0], sums[1]);
        // SAFETY: the lanes are 64 bytes, aligned to as many.
        unsafe { _mm512_store_si512((&raw mut lanes.0).cast(), sum) };
        lanes.sum()
    }

    /// A line.
    #[target_feature(enable = "avx512f,avx512bw")]
    #[inline]
    fn load(line: &Line) -> __m512i {
        // SAFETY: a line is 64 bytes, aligned to as many.
        unsafe { _mm512_load_si512((&raw const line.0).cast()) }
    }
}
