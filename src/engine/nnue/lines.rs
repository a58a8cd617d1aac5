//! Numbers in lines of 64 bytes, as SIMD registers need them.

/// Numbers per line.
pub(super) const LINE: usize = 32;

/// One line of the processor's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [i16; LINE]);

/// Numbers cut into lines; their count must be a multiple of a line.
pub(super) fn cut(numbers: &[i16]) -> Vec<Line> {
    let (lines, rest) = numbers.as_chunks::<LINE>();
    debug_assert!(rest.is_empty(), "rows are whole lines");
    lines.iter().map(|&line| Line(line)).collect()
}

/// The numbers of lines, one by one.
pub(super) fn numbers(lines: &[Line]) -> impl Iterator<Item = i16> {
    lines.iter().flat_map(|line| line.0)
}

/// Inputs of one side's view that were turned on and off.
#[derive(Clone, Copy)]
pub(super) struct FeatureDelta<'a> {
    /// The weights of all inputs, row by row.
    pub(super) weights: &'a [Line],
    pub(super) on: &'a [u16],
    pub(super) off: &'a [u16],
}

impl<'a> FeatureDelta<'a> {
    /// `wanted` lines from `start` on of an input's row, which has `count`.
    #[inline]
    pub(super) fn lines(self, input: u16, start: usize, count: usize, wanted: usize) -> &'a [Line] {
        &self.weights[usize::from(input) * count + start..][..wanted]
    }
}
