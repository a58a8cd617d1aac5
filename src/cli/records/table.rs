//! Tables of text: columns as wide as they must be, numbers to the right.
//!
//! Pure. Cells hold no line breaks; what they hold is shown without control characters.

use std::fmt::Write as _;

/// Which way a column leans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// A table under construction.
#[derive(Clone, Debug)]
pub(super) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(columns: &[(&'static str, Align)]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// One more row, a cell for each column.
    pub(super) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        let clean = |cell: String| cell.chars().filter(|c| !c.is_control()).collect();
        self.rows.push(cells.into_iter().map(clean).collect());
    }

    /// The rows so far as lines, and none left; columns stay as wide as they once were.
    pub(super) fn take(&mut self, widths: &mut Vec<usize>, heading: bool) -> String {
        widths.resize(self.columns.len(), 0);
        for (index, width) in widths.iter_mut().enumerate() {
            let cells = self.rows.iter().map(|row| row[index].chars().count());
            let title = self.columns[index].0.chars().count();
            *width = cells.max().unwrap_or_default().max(title).max(*width);
        }
        let mut text = String::new();
        if heading {
            let titles: Vec<String> = self
                .columns
                .iter()
                .map(|column| column.0.to_owned())
                .collect();
            self.line(&titles, widths, &mut text);
        }
        for row in &self.rows {
            self.line(row, widths, &mut text);
        }
        self.rows.clear();
        text
    }

    /// The whole table.
    pub(super) fn finish(mut self) -> String {
        self.take(&mut Vec::new(), true)
    }

    fn line(&self, cells: &[String], widths: &[usize], text: &mut String) {
        let mut line = String::new();
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                line.push_str("  ");
            }
            // Writing to a string cannot fail.
            let _ = match self.columns[index].1 {
                Align::Left => write!(line, "{cell:<0$}", widths[index]),
                Align::Right => write!(line, "{cell:>0$}", widths[index]),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(vec!["Nuke".into(), "7".into()]);
        table.row(vec!["Blast\u{1b}[31mCap".into(), "1234".into()]);
        assert_eq!(
            table.finish(),
            "name             n\nNuke             7\nBlast[31mCap  1234\n"
        );
    }
}
