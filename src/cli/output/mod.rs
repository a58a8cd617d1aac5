//! What commands print on stdout: lines, labelled fields, JSON, tables, charts and boards.
//!
//! Everything that commands format alike (counts, durations, clocks, plain text) has its one function
//! here. Logs, errors and questions go to stderr and do not pass through this module.
//!
//! * `table`, `listing`: rows as a table, JSON or CSV; `chart`, `board`: drawings; `progress`: bars
//! * `status`, `match_report`: the status of a bot and the result of a match

pub(super) mod board;
pub(super) mod chart;
pub(super) mod listing;
pub(super) mod match_report;
pub(super) mod progress;
pub(super) mod status;
pub(super) mod table;

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use megaton::archive::{Millis, dates};
use serde::Serialize;

use super::failure::Failure;
pub(super) use super::plain_text::{plain, plain_lines};

/// Width of a terminal that does not report its own.
const USUAL_WIDTH: usize = 80;

/// Prints a line.
pub(super) fn print(text: impl Display) -> Result<(), Failure> {
    Ok(writeln!(io::stdout().lock(), "{text}")?)
}

/// Prints text that ends its lines itself.
pub(super) fn print_text(text: impl Display) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    write!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Prints `value` as one line of JSON.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(serde_json::to_string(value).map_err(io::Error::from)?)
}

/// Prints `value` as indented JSON.
pub(super) fn print_pretty_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// A line of a report: a label and a text.
pub(super) fn field(label: &str, text: impl Display) -> String {
    format!("{label:<11} {text}")
}

/// `1 name`, `2 names`.
pub(in crate::cli) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// `one entry`, `2 entries`.
pub(super) fn count_in_words(number: usize, one: &str, several: &str) -> String {
    match number {
        1 => format!("one {one}"),
        number => format!("{number} {several}"),
    }
}

/// The time on a clock: `2:57`, or with tenths below twenty seconds.
pub(super) fn clock(time: Millis) -> String {
    if time < 20_000 {
        return dates::tenths(time);
    }
    let (hours, minutes, seconds) = (time / 3_600_000, time / 60_000 % 60, time / 1000 % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// The value, or `-` for none.
pub(super) fn or_dash(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// The value, or nothing for none.
pub(super) fn or_blank(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Whether stdout is a terminal that shows colours.
pub(super) fn has_colors() -> bool {
    io::stdout().is_terminal() && wants_colors()
}

/// Whether the user wants colours: see <https://no-color.org>.
pub(super) fn wants_colors() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Columns of the terminal.
pub(super) fn width() -> usize {
    let set = std::env::var("COLUMNS").ok();
    set.and_then(|columns| columns.parse().ok())
        .or_else(terminal_width)
        .unwrap_or(USUAL_WIDTH)
        .clamp(20, 200)
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}
