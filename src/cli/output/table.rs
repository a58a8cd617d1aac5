//! Tables of text: each column as wide as its widest cell, two blanks between columns.

use comfy_table::{CellAlignment, ColumnConstraint, Table as Layout, Width, presets};

use super::plain;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// A column's title and alignment.
pub(crate) type Column = (&'static str, Align);

/// A table under construction.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Widths of the columns so far.
    widths: Vec<u16>,
}

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
            widths: Vec::new(),
        }
    }

    /// Adds a row with one cell per column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows added since the last call; the first call starts with the titles. Columns never shrink.
    pub(crate) fn take(&mut self) -> String {
        let mut layout = Layout::new();
        layout.load_style(presets::NOTHING);
        if self.widths.is_empty() {
            layout.add_row(self.columns.iter().map(|(title, _)| *title));
        }
        for row in self.rows.drain(..) {
            layout.add_row(row.iter().map(|cell| plain(cell)));
        }
        for (index, column) in layout.column_iter_mut().enumerate() {
            column.set_padding((0, 2));
            if self.columns[index].1 == Align::Right {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if let Some(width) = self.widths.get(index) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width)));
            }
        }
        let widths = layout.column_max_content_widths().into_iter().enumerate();
        let before = std::mem::take(&mut self.widths);
        let wider = |(index, width): (usize, u16)| {
            let padded = width + 2;
            padded.max(before.get(index).copied().unwrap_or_default())
        };
        self.widths = widths.map(wider).collect();
        format!("{}\n", layout.trim_fmt())
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
            table.take(),
            "name             n\nNuke             7\nBlast[31mCap  1234\n"
        );
    }
}
