//! Progress on stderr: a bar on a terminal, a line now and then elsewhere.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a bar is redrawn, so that its times move on.
const TICK: Duration = Duration::from_millis(250);
/// Least time between two lines of progress without a terminal.
const LINE_PERIOD: Duration = Duration::from_secs(30);

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

/// Moves a bar on. Where it begins is the work of an earlier run, which says nothing of the time to go.
pub(crate) fn advance(bar: &ProgressBar, position: u64) {
    let is_first = bar.position() == 0;
    bar.set_position(position);
    if is_first {
        // The bar notes its position only with a message; not noted yet, it would count as made since the reset.
        bar.set_message(bar.message());
        bar.reset_eta();
    }
}

/// Prints a line now and then, for runs without a terminal. It holds the time of the last one.
pub(crate) struct PeriodicLine(Instant);

impl PeriodicLine {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn print(&mut self, line: impl Display) {
        if self.0.elapsed() >= LINE_PERIOD {
            self.0 = Instant::now();
            // Without stderr the work continues.
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressDrawTarget;

    #[test]
    fn where_a_bar_begins_says_nothing_of_its_speed() {
        let bar = ProgressBar::with_draw_target(Some(4000), ProgressDrawTarget::hidden());
        // As on a terminal: only a message notes the position.
        bar.enable_steady_tick(Duration::from_hours(1));
        advance(&bar, 3000);
        bar.set_message("");
        // One step takes at least so long.
        std::thread::sleep(Duration::from_millis(50));
        advance(&bar, 3001);
        bar.set_message("");
        assert!(bar.per_sec() < 100.0, "{} steps/s", bar.per_sec());
    }
}
