//! The two loops of every evaluation, once per instruction set.
//!
//! All variants compute exactly the same numbers; the choice affects only speed. The plain ones are
//! the reference; the others are selected once, by a look at the processor.

mod plain;
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "wide registers are loaded by pointer")]
mod wide;

use std::fmt;
use std::str::FromStr;

use super::lines::{FeatureDelta, Line};

/// An instruction set for evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Simd {
    /// Available on every processor.
    Plain,
    /// Registers of 32 bytes.
    Avx2,
    /// Registers of 64 bytes.
    Avx512,
}

impl Simd {
    /// Every instruction set, the fastest last.
    pub const ALL: [Simd; 3] = [Simd::Plain, Simd::Avx2, Simd::Avx512];

    /// Those of this processor.
    pub fn available() -> impl DoubleEndedIterator<Item = Simd> {
        Simd::ALL.into_iter().filter(|simd| simd.is_available())
    }

    /// The fastest of this processor.
    pub fn best() -> Simd {
        Simd::available().next_back().unwrap_or(Simd::Plain)
    }

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            Simd::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => std::is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => {
                std::is_x86_feature_detected!("avx512f")
                    && std::is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Simd::Avx2 | Simd::Avx512 => false,
        }
    }
}

impl fmt::Display for Simd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Simd::Plain => "plain",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
        })
    }
}

impl FromStr for Simd {
    type Err = String;

    fn from_str(text: &str) -> Result<Simd, String> {
        let named = |simd: &Simd| simd.to_string() == text;
        let simd = Simd::ALL.into_iter().find(named);
        let simd = simd.ok_or_else(|| format!("{text:?} is none of plain, avx2 and avx512"))?;
        if simd.is_available() {
            Ok(simd)
        } else {
            Err(format!("this processor has no {simd}"))
        }
    }
}

/// An instruction set that this processor is known to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kernels(Simd);

impl Kernels {
    /// The plain ones, if the processor lacks the requested ones.
    pub(super) fn new(simd: Simd) -> Kernels {
        Kernels(if simd.is_available() {
            simd
        } else {
            Simd::Plain
        })
    }

    /// An accumulator from another one with some inputs changed.
    #[inline]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "code for a processor that has been asked")
    )]
    pub(super) fn update(self, source: &[Line], target: &mut [Line], delta: FeatureDelta<'_>) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernels` are made only of what the processor has.
            Simd::Avx2 => unsafe { wide::avx2::update(source, target, delta) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernels` are made only of what the processor has.
            Simd::Avx512 => unsafe { wide::avx512::update(source, target, delta) },
            _ => plain::update(source, target, delta),
        }
    }

    /// As [`Kernels::update`], in place.
    #[inline]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "code for a processor that has been asked")
    )]
    pub(super) fn update_in_place(self, target: &mut [Line], delta: FeatureDelta<'_>) {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernels` are made only of what the processor has.
            Simd::Avx2 => unsafe { wide::avx2::update_in_place(target, delta) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernels` are made only of what the processor has.
            Simd::Avx512 => unsafe { wide::avx512::update_in_place(target, delta) },
            _ => plain::update_in_place(target, delta),
        }
    }

    /// The sum of squared activations times weights, over both sides' hidden units.
    #[inline]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "code for a processor that has been asked")
    )]
    pub(super) fn output(self, units: [&[Line]; 2], weights: [&[Line]; 2]) -> i64 {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernels` are made only of what the processor has.
            Simd::Avx2 => unsafe { wide::avx2::output(units, weights) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Kernels` are made only of what the processor has.
            Simd::Avx512 => unsafe { wide::avx512::output(units, weights) },
            _ => plain::output(units, weights),
        }
    }
}

#[cfg(test)]
mod tests;
