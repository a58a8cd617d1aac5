//! Lists on stdout: a table for people, JSON or CSV for programs.
//!
//! Rows are written as they come, so a list may be longer than memory.

use std::borrow::Cow;
use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use megaton::archive::Order;
use serde::Serialize;

use super::table::{Column, Table};
use crate::cli::failure::Failure;

/// Rows listed by default.
const USUAL: usize = 30;
/// Rows of a table that are laid out together.
const BATCH: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    Table,
    Json,
    Csv,
}

#[derive(Debug, clap::Args)]
pub(crate) struct FormatArgs {
    /// Output format: tables, JSON, or CSV with a header line
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Same as --format json
    #[arg(long, conflicts_with_all = ["format", "csv"])]
    json: bool,
    /// Same as --format csv
    #[arg(long, conflicts_with = "format")]
    csv: bool,
    /// In CSV, leave cells as they are, even if a spreadsheet would run them as formulas
    #[arg(long)]
    raw: bool,
}

impl FormatArgs {
    /// The format given by name or by a switch of its own.
    pub(crate) fn format(&self) -> OutputFormat {
        match (self.json, self.csv) {
            (true, _) => OutputFormat::Json,
            (_, true) => OutputFormat::Csv,
            _ => self.format,
        }
    }

    pub(crate) fn csv<W: Write>(&self, out: W) -> CsvWriter<W> {
        CsvWriter::new(out, self.raw)
    }
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Maximum number of rows [default: 30]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// List everything
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Oldest first
    #[arg(long)]
    oldest: bool,
    #[command(flatten)]
    format: FormatArgs,
}

impl ListArgs {
    pub(crate) fn order(&self) -> Order {
        if self.oldest {
            Order::Oldest
        } else {
            Order::Newest
        }
    }

    /// How many rows to query: one more than the default shows, to know whether there are more.
    pub(crate) fn most(&self) -> usize {
        let usual = if self.all { usize::MAX } else { USUAL + 1 };
        self.limit.unwrap_or(usual)
    }

    /// Writes to stdout: the table has these columns, CSV the fields of such a row, however many rows
    /// come.
    pub(crate) fn printer(&self, columns: &[Column], row: &impl Row) -> io::Result<Printer> {
        let out = BufWriter::new(io::stdout().lock());
        let is_cut = self.limit.is_none() && !self.all;
        Ok(Printer {
            sink: match self.format.format() {
                OutputFormat::Table => Sink::Table(Table::new(columns), out),
                OutputFormat::Json => Sink::Json(out),
                OutputFormat::Csv => Sink::Csv(self.format.csv(out).titled(row)?),
            },
            is_empty: true,
            left: if is_cut { USUAL } else { usize::MAX },
            is_cut: false,
            which: if self.oldest { "earliest" } else { "latest" },
        })
    }
}

/// A row of a list: for JSON and CSV it serializes to a flat record with the same fields for each row.
pub(crate) trait Row: Serialize {
    /// The cells of the table.
    fn cells(&self) -> Vec<String>;
}

/// Prints rows as they come.
pub(crate) struct Printer {
    sink: Sink,
    is_empty: bool,
    /// How many more rows to show.
    left: usize,
    /// Whether rows were left out.
    is_cut: bool,
    /// Which rows are shown, if some are left out.
    which: &'static str,
}

type Out = BufWriter<StdoutLock<'static>>;

enum Sink {
    Table(Table, Out),
    Json(Out),
    Csv(CsvWriter<Out>),
}

impl Printer {
    /// Prints a row. False if the list needs no more.
    pub(crate) fn print(&mut self, row: &impl Row) -> Result<bool, Failure> {
        let Some(left) = self.left.checked_sub(1) else {
            self.is_cut = true;
            return Ok(false);
        };
        self.left = left;
        match &mut self.sink {
            Sink::Table(table, out) => {
                table.row(row.cells());
                if table.len() == BATCH {
                    out.write_all(table.take().as_bytes())?;
                }
            }
            Sink::Json(out) => {
                out.write_all(if self.is_empty { b"[\n" } else { b",\n" })?;
                serde_json::to_writer(out, row).map_err(io::Error::from)?;
            }
            Sink::Csv(writer) => writer.row(row)?,
        }
        self.is_empty = false;
        Ok(true)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Ends the list; an empty table says `nothing`. A note on stderr says if the default limit left
    /// rows out.
    pub(crate) fn finish(self, nothing: &str) -> Result<(), Failure> {
        match self.sink {
            Sink::Table(mut table, mut out) => {
                if self.is_empty {
                    writeln!(out, "{nothing}")?;
                } else if table.len() > 0 {
                    out.write_all(table.take().as_bytes())?;
                }
                out.flush()?;
            }
            Sink::Json(mut out) => {
                out.write_all(if self.is_empty { b"[]\n" } else { b"\n]\n" })?;
                out.flush()?;
            }
            Sink::Csv(mut writer) => writer.flush()?,
        }
        if self.is_cut {
            let which = self.which;
            let note = format!("showing the {which} {USUAL}; use --limit or --all for more");
            writeln!(io::stderr().lock(), "megaton: {note}")?;
        }
        Ok(())
    }
}

/// Writes CSV. A cell of text from outside must not run as a formula in a spreadsheet: it gets a `'` in
/// front, unless it is `raw`.
#[derive(Debug)]
pub(crate) struct CsvWriter<W: Write> {
    writer: Box<csv::Writer<W>>,
    raw: bool,
}

impl<W: Write> CsvWriter<W> {
    pub(crate) fn new(out: W, raw: bool) -> Self {
        Self {
            writer: Box::new(csv::Writer::from_writer(out)),
            raw,
        }
    }

    /// Writes the names of the fields of such a row.
    fn titled(mut self, row: &impl Serialize) -> io::Result<Self> {
        self.first_line(row, true)?;
        Ok(self)
    }

    fn row(&mut self, row: &impl Serialize) -> io::Result<()> {
        self.first_line(row, false)
    }

    /// Writes the names of a row's fields, or their values.
    fn first_line(&mut self, row: &impl Serialize, has_headers: bool) -> io::Result<()> {
        let mut plain = csv::WriterBuilder::new()
            .has_headers(has_headers)
            .from_writer(Vec::new());
        plain.serialize(row).map_err(of_csv)?;
        let plain = plain
            .into_inner()
            .map_err(csv::IntoInnerError::into_error)?;
        let mut cells = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(&*plain);
        let line = cells.records().next().transpose().map_err(of_csv)?;
        self.cells(line.iter().flatten())
    }

    /// Writes a row of cells.
    pub(crate) fn cells<'c>(&mut self, cells: impl IntoIterator<Item = &'c str>) -> io::Result<()> {
        let raw = self.raw;
        let cells = cells.into_iter().map(|cell| match cell {
            cell if !raw && is_formula(cell) => Cow::Owned(format!("'{cell}")),
            cell => Cow::Borrowed(cell),
        });
        let cells: Vec<Cow<'_, str>> = cells.collect();
        self.writer
            .write_record(cells.iter().map(|it| it.as_bytes()))
            .map_err(of_csv)
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Whether a spreadsheet may take the cell for a formula.
fn is_formula(cell: &str) -> bool {
    cell.len() > 1
        && cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
        && cell.parse::<f64>().is_err()
}

/// The I/O error inside an error of the CSV writer, so that a reader that left is recognized.
fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct Line {
        name: &'static str,
        diff: Option<i32>,
    }

    fn csv(raw: bool) -> String {
        let mut out = Vec::new();
        let sample = Line {
            name: "",
            diff: None,
        };
        let mut writer = CsvWriter::new(&mut out, raw).titled(&sample).unwrap();
        for (name, diff) in [
            ("Nuke", Some(-7)),
            ("=HYPERLINK(\"http://evil.example\",\"x\")", None),
            ("-1+cmd|' /C calc'!A0", Some(5)),
            ("@SUM(A1)", None),
            ("\tx", None),
            ("-", None),
        ] {
            writer.row(&Line { name, diff }).unwrap();
        }
        writer.flush().unwrap();
        drop(writer);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn no_cell_of_csv_is_a_formula_and_numbers_stay_numbers() {
        assert_eq!(
            csv(false),
            "name,diff\nNuke,-7\n\"'=HYPERLINK(\"\"http://evil.example\"\",\"\"x\"\")\",\n\
             '-1+cmd|' /C calc'!A0,5\n'@SUM(A1),\n'\tx,\n-,\n"
        );
        assert!(csv(true).contains("\n@SUM(A1),\n"), "as it is on request");
    }
}
