//! The log of one thread, kept for a test to read.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing::Dispatch;
use tracing::subscriber::{DefaultGuard, NoSubscriber};

#[derive(Clone, Default)]
pub(crate) struct CapturedLog(Arc<Mutex<Vec<u8>>>);

/// Captures the log of a thread while it lives. Of a log line that is reached for the first time,
/// tracing remembers whether it is of interest. With one subscriber alone it asks the thread that
/// reached it, which may be another test's and have none; with two it asks both.
pub(crate) struct Capture {
    _this_thread: DefaultGuard,
    _other: Dispatch,
}

impl Write for CapturedLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic here").write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CapturedLog {
    /// Captures this thread's log, without times, until the guard is dropped.
    pub(crate) fn of_this_thread(&self) -> Capture {
        let other = Dispatch::new(NoSubscriber::default());
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_ansi(false)
            .without_time()
            .with_writer(move || log.clone())
            .finish();
        Capture {
            _this_thread: tracing::subscriber::set_default(subscriber),
            _other: other,
        }
    }

    /// The lines so far for which `fits` holds.
    pub(crate) fn lines(&self, fits: impl Fn(&str) -> bool) -> Vec<String> {
        let said = self.0.lock().expect("no panic here").clone();
        let said = String::from_utf8(said).expect("text");
        let lines = said.lines().filter(|line| fits(line));
        lines.map(str::to_owned).collect()
    }
}
