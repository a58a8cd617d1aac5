//! Lists: how many, in which order, and written as a table for people or as JSON or CSV for programs.
//!
//! Lines are written as they come, so that a list may be longer than memory.

use std::io::{self, BufWriter, StdoutLock, Write};

use clap::ValueEnum;
use megaton::archive::Order;
use serde::Serialize;

use super::table::{Align, Table};
use crate::cli::failure::Failure;

/// So many are listed where no one says how many.
const USUAL: usize = 30;
/// Rows of a table before it is shown: the columns are as wide as these need.
const AT_ONCE: usize = 1000;

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    Table,
    Json,
    Csv,
}

impl OutputFormat {
    /// The one that is asked for, by its name or by a switch of its own.
    pub(super) fn of(named: Self, json: bool, csv: bool) -> Self {
        match (json, csv) {
            (true, _) => Self::Json,
            (_, true) => Self::Csv,
            _ => named,
        }
    }
}

/// How a list is given.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
#[derive(Debug, clap::Args)]
pub(super) struct ListArgs {
    /// Maximum number of rows [default: 30]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// List everything
    #[arg(long, conflicts_with = "limit")]
    all: bool,
    /// Oldest first
    #[arg(long)]
    oldest: bool,
    /// Output format: a table, a JSON array, or CSV with a header line
    #[arg(long, value_enum, default_value_t = OutputFormat::Table)]
    format: OutputFormat,
    /// Same as --format json
    #[arg(long, conflicts_with_all = ["format", "csv"])]
    json: bool,
    /// Same as --format csv
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

    /// How many are asked for at most.
    pub(super) fn most(&self) -> usize {
        // One more than is shown says that there are more.
        let usual = if self.all { usize::MAX } else { USUAL + 1 };
        self.limit.unwrap_or(usual)
    }

    /// Writes to stdout; the table has these columns.
    pub(super) fn printer(
        &self,
        columns: &[(&'static str, Align)],
    ) -> Printer<BufWriter<StdoutLock<'static>>> {
        let form = OutputFormat::of(self.format, self.json, self.csv);
        let mut printer = Printer::new(form, columns, BufWriter::new(io::stdout().lock()));
        if self.limit.is_none() && !self.all {
            printer.left = USUAL;
            printer.which = if self.oldest { "earliest" } else { "latest" };
        }
        printer
    }
}

/// What stands in a list.
pub(super) trait ListSummary {
    /// As a row of the table, a cell for each column.
    fn cells(&self) -> Vec<String>;
    /// The same for programs: flat, with the same names for each.
    fn row(&self) -> impl Serialize;
}

/// Writes lines as they come.
pub(super) struct Printer<W: Write> {
    page: OutputSink<W>,
    /// So many more are shown.
    left: usize,
    /// Which those are, if there are more.
    which: &'static str,
    /// Whether one was not shown.
    more: bool,
}

/// What they are written on, in one of the forms.
enum OutputSink<W: Write> {
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
    fn new(form: OutputFormat, columns: &[(&'static str, Align)], out: W) -> Self {
        let page = match form {
            OutputFormat::Table => OutputSink::Table {
                table: Table::new(columns),
                waiting: 0,
                widths: Vec::new(),
                shown: 0,
                out,
            },
            OutputFormat::Json => OutputSink::Json { any: false, out },
            OutputFormat::Csv => OutputSink::Csv(Box::new(csv::Writer::from_writer(out))),
        };
        Self {
            page,
            left: usize::MAX,
            which: "latest",
            more: false,
        }
    }

    /// One more line. False if no more are wanted.
    pub(super) fn print(&mut self, one: &impl ListSummary) -> Result<bool, Failure> {
        let Some(left) = self.left.checked_sub(1) else {
            self.more = true;
            return Ok(false);
        };
        self.left = left;
        self.page.print(one)?;
        Ok(true)
    }

    /// The end; where there was nothing, a table says so in these words. Who did not say how many are
    /// wanted is told that there are more.
    pub(super) fn finish(self, nothing: &str) -> Result<(), Failure> {
        self.page.finish(nothing)?;
        if self.more {
            let which = self.which;
            let text =
                format!("megaton: showing the {which} {USUAL}; use --limit or --all for more");
            writeln!(io::stderr().lock(), "{text}")?;
        }
        Ok(())
    }
}

impl<W: Write> OutputSink<W> {
    fn print(&mut self, one: &impl ListSummary) -> Result<(), Failure> {
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

    fn finish(self, nothing: &str) -> Result<(), Failure> {
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
