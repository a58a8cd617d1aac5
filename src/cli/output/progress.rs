//! Progress on stderr: a bar on a terminal, a line now and then elsewhere.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a bar is redrawn, so that its times move on.
const TICK: Duration = Duration::from_millis(250);

/// A bar of this length, or a spinner without one, by a template of `indicatif`; hidden where stderr is
/// no terminal.
pub(crate) fn bar(length: Option<u64>, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = length.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// Prints at most one line per period, for runs without a terminal.
pub(crate) struct PeriodicLine {
    period: Duration,
    last: Instant,
}

impl PeriodicLine {
    pub(crate) fn new(period: Duration) -> Self {
        Self {
            period,
            last: Instant::now(),
        }
    }

    pub(crate) fn print(&mut self, line: impl Display) {
        if self.last.elapsed() >= self.period {
            self.last = Instant::now();
            // Without stderr the work continues.
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}
