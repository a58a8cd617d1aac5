//! Numbers in memory as the wide registers like them: in lines of 64 bytes.

/// How many numbers a line holds.
pub(super) const LINE: usize = 32;

/// One line of the processor's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct Line(pub(super) [i16; LINE]);

/// Numbers cut into lines; there must be a whole number of them.
pub(super) fn cut(numbers: &[i16]) -> Vec<Line> {
    let (lines, rest) = numbers.as_chunks::<LINE>();
    debug_assert!(rest.is_empty(), "rows are whole lines");
    lines.iter().map(|&line| Line(line)).collect()
}

/// The numbers of lines, one by one.
pub(super) fn numbers(lines: &[Line]) -> impl Iterator<Item = i16> {
    lines.iter().flat_map(|line| line.0)
}
