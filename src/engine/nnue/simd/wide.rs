//! The loops in SIMD registers of 32 and 64 bytes.
//!
//! Written by hand, since the compiler does not vectorise them. No product exceeds 16 bits and no
//! lane of a sum 32: nets that could exceed them are rejected on loading.

/// Lines held in registers at a time.
const BLOCK: usize = 4;

/// A sum in lanes, in memory.
#[repr(C, align(64))]
struct Lanes<const N: usize>([i32; N]);

impl<const N: usize> Lanes<N> {
    /// The sum of the lanes may exceed 32 bits.
    #[inline]
    fn sum(&self) -> i64 {
        self.0.iter().map(|&lane| i64::from(lane)).sum()
    }
}

/// The loops with the instructions that a module has imported, `PER_LINE` registers per line.
macro_rules! loops {
    ($feature:literal) => {
        /// How many numbers a register holds.
        const WIDTH: usize = LINE / PER_LINE;

        /// An accumulator from another one with some inputs changed.
        #[target_feature(enable = $feature)]
        pub(in super::super) fn update(
            source: &[Line],
            target: &mut [Line],
            delta: FeatureDelta<'_>,
        ) {
            let count = target.len();
            let (blocks, rest) = source[..count].as_chunks::<BLOCK>();
            let (targets, last) = target.as_chunks_mut::<BLOCK>();
            for (i, (block, target)) in blocks.iter().zip(targets).enumerate() {
                store(target, changed::<BLOCK>(block, i * BLOCK, count, delta));
            }
            let start = blocks.len() * BLOCK;
            for (i, (line, target)) in rest.iter().zip(last).enumerate() {
                let target = std::slice::from_mut(target);
                let line = std::slice::from_ref(line);
                store(target, changed::<1>(line, start + i, count, delta));
            }
        }

        /// As `update`, in place.
        #[target_feature(enable = $feature)]
        pub(in super::super) fn update_in_place(target: &mut [Line], delta: FeatureDelta<'_>) {
            let count = target.len();
            let (blocks, rest) = target.as_chunks_mut::<BLOCK>();
            let start = blocks.len() * BLOCK;
            for (i, block) in blocks.iter_mut().enumerate() {
                let sums = changed::<BLOCK>(block, i * BLOCK, count, delta);
                store(block, sums);
            }
            for (i, line) in rest.iter_mut().enumerate() {
                let line = std::slice::from_mut(line);
                let sums = changed::<1>(line, start + i, count, delta);
                store(line, sums);
            }
        }

        /// Some lines of an accumulator, from the one at `start` on, with the same lines of
        /// `delta`'s rows of `count` lines.
        #[target_feature(enable = $feature)]
        #[inline]
        fn changed<const N: usize>(
            units: &[Line],
            start: usize,
            count: usize,
            delta: FeatureDelta<'_>,
        ) -> [[Register; PER_LINE]; N] {
            let mut sums = [[zero(); PER_LINE]; N];
            for (sums, line) in sums.iter_mut().zip(units) {
                *sums = load(line);
            }
            for &input in delta.on {
                for (sums, line) in sums.iter_mut().zip(delta.lines(input, start, count, N)) {
                    for (sum, weight) in sums.iter_mut().zip(load(line)) {
                        *sum = add(*sum, weight);
                    }
                }
            }
            for &input in delta.off {
                for (sums, line) in sums.iter_mut().zip(delta.lines(input, start, count, N)) {
                    for (sum, weight) in sums.iter_mut().zip(load(line)) {
                        *sum = sub(*sum, weight);
                    }
                }
            }
            sums
        }

        /// The sum of squared activations times weights.
        #[target_feature(enable = $feature)]
        pub(in super::super) fn output(units: [&[Line]; 2], weights: [&[Line]; 2]) -> i64 {
            let one = all(QA as i16);
            // Several sums, so that none waits for another.
            let mut sums = [zero(); 2];
            for side in 0..2 {
                for (units, weights) in units[side].iter().zip(weights[side]) {
                    let parts = load(units).into_iter().zip(load(weights));
                    for (i, (unit, weight)) in parts.enumerate() {
                        let activation = min(max(unit, zero()), one);
                        let weighed = multiply(activation, weight);
                        let sum = &mut sums[(side + i) % 2];
                        *sum = add_long(*sum, multiply_and_pair(weighed, activation));
                    }
                }
            }
            let mut lanes = Lanes([0; WIDTH / 2]);
            // SAFETY: the lanes are as large as a register and aligned to 64 bytes.
            unsafe { write((&raw mut lanes.0).cast(), add_long(sums[0], sums[1])) };
            lanes.sum()
        }

        /// Puts lines of registers where they belong.
        #[target_feature(enable = $feature)]
        #[inline]
        fn store<const N: usize>(lines: &mut [Line], sums: [[Register; PER_LINE]; N]) {
            for (line, sums) in lines.iter_mut().zip(sums) {
                let (parts, _) = line.0.as_chunks_mut::<WIDTH>();
                for (part, sum) in parts.iter_mut().zip(sums) {
                    // SAFETY: a part is as large as a register, and lines are aligned to 64 bytes.
                    unsafe { write((&raw mut *part).cast(), sum) };
                }
            }
        }

        /// The registers of a line.
        #[target_feature(enable = $feature)]
        #[inline]
        fn load(line: &Line) -> [Register; PER_LINE] {
            let (parts, _) = line.0.as_chunks::<WIDTH>();
            let mut registers = [zero(); PER_LINE];
            for (register, part) in registers.iter_mut().zip(parts) {
                // SAFETY: a part is as large as a register, and lines are aligned to 64 bytes.
                *register = unsafe { read((&raw const *part).cast()) };
            }
            registers
        }
    };
}

pub(super) mod avx2 {
    use crate::engine::nnue::lines::{FeatureDelta, LINE, Line};
    use crate::engine::nnue::network::QA;
    use crate::engine::nnue::simd::wide::{BLOCK, Lanes};
    use std::arch::x86_64::{
        __m256i as Register, _mm256_add_epi16 as add, _mm256_add_epi32 as add_long,
        _mm256_load_si256 as read, _mm256_madd_epi16 as multiply_and_pair, _mm256_max_epi16 as max,
        _mm256_min_epi16 as min, _mm256_mullo_epi16 as multiply, _mm256_set1_epi16 as all,
        _mm256_setzero_si256 as zero, _mm256_store_si256 as write, _mm256_sub_epi16 as sub,
    };

    const PER_LINE: usize = 2;

    loops!("avx2");
}

pub(super) mod avx512 {
    use crate::engine::nnue::lines::{FeatureDelta, LINE, Line};
    use crate::engine::nnue::network::QA;
    use crate::engine::nnue::simd::wide::{BLOCK, Lanes};
    use std::arch::x86_64::{
        __m512i as Register, _mm512_add_epi16 as add, _mm512_add_epi32 as add_long,
        _mm512_load_si512 as read, _mm512_madd_epi16 as multiply_and_pair, _mm512_max_epi16 as max,
        _mm512_min_epi16 as min, _mm512_mullo_epi16 as multiply, _mm512_set1_epi16 as all,
        _mm512_setzero_si512 as zero, _mm512_store_si512 as write, _mm512_sub_epi16 as sub,
    };

    const PER_LINE: usize = 1;

    loops!("avx512f,avx512bw");
}
