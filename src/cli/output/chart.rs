//! Curves as text: braille dots, or `#` for ASCII terminals.
//!
//! Values range from 0 (bottom) to 1 (top); the area between the curve and a base line is filled.

use super::width;

/// The area to draw in, in characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Canvas {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// No characters beyond ASCII.
    pub(crate) ascii: bool,
}

/// Width of the labels before a curve.
pub(crate) const LABEL: usize = 7;
/// The bits of a braille character's dots by row, left and right.
const DOTS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
/// The braille character without dots.
const BLANK: u32 = 0x2800;

impl Canvas {
    /// As wide as the terminal, with room for labels.
    pub(crate) fn with_height(height: usize, ascii: bool) -> Self {
        Self {
            width: width().saturating_sub(LABEL + 2).max(10),
            height,
            ascii,
        }
    }

    /// Points across and down.
    const fn points(self) -> (usize, usize) {
        if self.ascii {
            (self.width, self.height)
        } else {
            (self.width * 2, self.height * 4)
        }
    }

    /// How many characters wide a curve of so many values is.
    pub(crate) fn used(self, values: usize) -> usize {
        let across = self.points().0;
        let dots = values * stretch(values, across);
        let dots = dots.min(across);
        if self.ascii { dots } else { dots.div_ceil(2) }
    }

    /// The lines of a filled curve, from the top.
    pub(crate) fn area(self, values: &[f64], base: f64) -> Vec<String> {
        let (across, down) = self.points();
        let columns = resample(values, across, base);
        let level = |value: f64| {
            let value = value.clamp(0.0, 1.0);
            ((value * (down - 1) as f64).round() as usize).min(down - 1)
        };
        let ground = level(base);
        let filled = |column: usize, height: usize| {
            columns.get(column).is_some_and(|value| {
                let top = level(*value);
                (top.min(ground)..=top.max(ground)).contains(&height)
            })
        };
        let wide = if self.ascii {
            columns.len()
        } else {
            columns.len().div_ceil(2)
        };
        let sign = |row: usize, column: usize| {
            if self.ascii {
                let height = down - 1 - row;
                return match (filled(column, height), height == ground) {
                    (true, false) => '#',
                    (_, true) => '-',
                    _ => ' ',
                };
            }
            let mut dots = BLANK;
            for (line, pair) in DOTS.iter().enumerate() {
                for (side, dot) in pair.iter().enumerate() {
                    if filled(column * 2 + side, down - 1 - (row * 4 + line)) {
                        dots |= dot;
                    }
                }
            }
            char::from_u32(dots).unwrap_or(' ')
        };
        (0..self.height)
            .map(|row| (0..wide).map(|column| sign(row, column)).collect())
            .collect()
    }

    /// The same curve as text, each line with the label of its row.
    pub(crate) fn labelled_area(
        self,
        values: &[f64],
        base: f64,
        label: impl Fn(usize) -> String,
    ) -> String {
        let lines = self.area(values, base).into_iter().enumerate();
        lines.fold(String::new(), |text, (row, line)| {
            let line = line.trim_end_matches([' ', '\u{2800}']);
            format!("{text}{:>LABEL$} {line}\n", label(row))
        })
    }
}

/// A bar chart of one line.
pub(crate) fn bars(values: &[f64], width: usize, ascii: bool) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const DIGITS: [char; 8] = ['0', '1', '2', '3', '4', '5', '6', '7'];
    let signs = if ascii { DIGITS } else { BLOCKS };
    let bars = resample(values, width, 0.0);
    let bar = |value: &f64| signs[((value.clamp(0.0, 1.0) * 7.0).round() as usize).min(7)];
    bars.iter().map(bar).collect()
}

/// How many columns each value takes where there is room for several.
fn stretch(values: usize, columns: usize) -> usize {
    (columns / values.max(1)).clamp(1, 4)
}

/// Fits values to columns: repeats each, or keeps the one farthest from the base of several.
fn resample(values: &[f64], columns: usize, base: f64) -> Vec<f64> {
    if values.len() <= columns {
        let times = stretch(values.len(), columns);
        let each = |value: &f64| std::iter::repeat_n(*value, times);
        return values.iter().flat_map(each).collect();
    }
    let far = |one: &f64, other: &f64| (one - base).abs().total_cmp(&(other - base).abs());
    let column = |index: usize| {
        let (from, to) = (
            index * values.len() / columns,
            (index + 1) * values.len() / columns,
        );
        values[from..to.max(from + 1)].iter().copied().max_by(far)
    };
    (0..columns).filter_map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_fills_the_space_between_itself_and_its_base() {
        let ascii = Canvas {
            width: 4,
            height: 3,
            ascii: true,
        };
        assert_eq!(
            ascii.area(&[1.0, 0.5, 0.0, 0.5], 0.5),
            ["#   ", "----", "  # "]
        );
        let dots = Canvas {
            width: 2,
            height: 1,
            ascii: false,
        };
        assert_eq!(dots.area(&[1.0, 0.0, 1.0, 0.0], 0.0), ["⣇⣇"]);
        assert_eq!(dots.area(&[], 0.0), [""]);
    }

    #[test]
    fn any_number_of_values_fits_any_width() {
        for values in [0, 1, 3, 60, 600, 5000] {
            let curve: Vec<f64> = (0..values).map(|n| f64::from(n % 7) / 7.0).collect();
            for width in [1, 10, 80] {
                for ascii in [false, true] {
                    let canvas = Canvas {
                        width,
                        height: 5,
                        ascii,
                    };
                    let lines = canvas.area(&curve, 0.5);
                    assert_eq!(lines.len(), 5);
                    assert!(lines.iter().all(|line| line.chars().count() <= width));
                    let used = canvas.used(curve.len());
                    assert!(lines.iter().all(|line| line.chars().count() == used));
                }
                assert!(bars(&curve, width, false).chars().count() <= width);
            }
        }
        assert_eq!(bars(&[0.0, 0.5, 1.0, f64::NAN], 4, true), "0470");
    }
}
