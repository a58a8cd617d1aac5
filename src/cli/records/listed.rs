//! Lists: how many, in which order, and written as a table for people or as JSON or CSV for programs.
//!
//! Lines are written as they come, so that a list may be longer than memory.

use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use megaton::archive::Order;
use serde::Serialize;

use super::table::{Align, Table};
use crate::cli::failure::Failure;

/// Rows of a table before it is shown: the columns are as wide as these need.
const AT_ONCE: usize = 1000;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    Table,
    Json,
    Csv,
}

/// How a list is given.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// So many at most
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// The earliest first
    #[arg(long)]
    oldest: bool,
    /// A table for people, a JSON array, or CSV with a line of names
    #[arg(long, value_enum, default_value_t = Form::Table)]
    format: Form,
    /// The same as --format json
    #[arg(long, conflicts_with_all = ["format", "csv"])]
    json: bool,
    /// The same as --format csv
    #[arg(long, conflicts_with = "format")]
    csv: bool,
}

impl ListArgs {
    /// In which order.
    pub(super) fn order(&self) -> Order {
        if self.oldest {
            Order::Oldest
        } else {
            Order::Newest
        }
    }

    /// How many at most.
    pub(super) fn most(&self) -> usize {
        if self.all { usize::MAX } else { self.limit }
    }

    /// Writes to stdout; the table has these columns.
    pub(super) fn printer(
        &self,
        columns: &[(&'static str, Align)],
    ) -> Printer<BufWriter<StdoutLock<'static>>> {
        let form = match (self.json, self.csv) {
            (true, _) => Form::Json,
            (_, true) => Form::Csv,
            _ => self.format,
        };
        Printer::new(form, columns, BufWriter::new(io::stdout().lock()))
    }
}

/// What stands in a list.
pub(super) trait Listed {
    /// As a row of the table, a cell for each column.
    fn cells(&self) -> Vec<String>;
    /// The same for programs: flat, with the same names for each.
    fn row(&self) -> impl Serialize;
}

/// Writes lines as they come, in one of the forms.
pub(super) enum Printer<W: Write> {
    Table {
        table: Table,
        waiting: usize,
        widths: Vec<usize>,
        shown: usize,
        out: W,
    },
    Json {
        any: bool,
        out: W,
    },
    Csv(Box<csv::Writer<W>>),
}

impl<W: Write> Printer<W> {
    fn new(form: Form, columns: &[(&'static str, Align)], out: W) -> Self {
        match form {
            Form::Table => Self::Table {
                table: Table::new(columns),
                waiting: 0,
                widths: Vec::new(),
                shown: 0,
                out,
            },
            Form::Json => Self::Json { any: false, out },
            Form::Csv => Self::Csv(Box::new(csv::Writer::from_writer(out))),
        }
    }

    /// One more line.
    pub(super) fn print(&mut self, one: &impl Listed) -> Result<(), Failure> {
        match self {
            Self::Table {
                table,
                waiting,
                widths,
                shown,
                out,
            } => {
                table.row(one.cells());
                *waiting += 1;
                if *waiting == AT_ONCE {
                    out.write_all(table.take(widths, *shown == 0).as_bytes())?;
                    (*shown, *waiting) = (*shown + *waiting, 0);
                }
            }
            Self::Json { any, out } => {
                out.write_all(if *any { b",\n" } else { b"[\n" })?;
                *any = true;
                serde_json::to_writer(out, &one.row()).map_err(io::Error::from)?;
            }
            Self::Csv(writer) => writer.serialize(one.row()).map_err(of_csv)?,
        }
        Ok(())
    }

    /// The end; where there was nothing, a table says so in these words.
    pub(super) fn finish(self, nothing: &str) -> Result<(), Failure> {
        match self {
            Self::Table {
                mut table,
                waiting,
                mut widths,
                shown,
                mut out,
            } => {
                if shown + waiting == 0 {
                    writeln!(out, "{nothing}")?;
                } else {
                    out.write_all(table.take(&mut widths, shown == 0).as_bytes())?;
                }
                out.flush()?;
            }
            Self::Json { any, mut out } => {
                out.write_all(if any { b"\n]\n" } else { b"[]\n" })?;
                out.flush()?;
            }
            Self::Csv(mut writer) => writer.flush()?,
        }
        Ok(())
    }
}

/// What CSV says when a reader goes away is what the system said.
pub(super) fn of_csv(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
