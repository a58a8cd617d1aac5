//! The log: lines on stderr, written by a thread of its own.
//!
//! A stuck terminal or a full pipe costs log lines, which are counted, but never a move.

use std::env;
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::time::Duration;

use megaton::config::{Format, Log};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::EnvFilter;

use super::failure::{Failure, OrFailure as _};
use super::output::wants_colors;

/// The variables that override the config's level, in this order.
pub(super) const FILTERS: [&str; 2] = ["MEGATON_LOG", "RUST_LOG"];
/// Lines that may wait for a slow reader of stderr.
const BACKLOG: usize = 16_384;
/// Time between two looks for dropped lines.
const WATCH: Duration = Duration::from_secs(60);

/// The running log; dropping it flushes the remaining lines.
#[derive(Debug)]
pub(super) struct Logging {
    dropped: ErrorCounter,
    worker: Option<WorkerGuard>,
}

/// Starts the log of this process.
pub(super) fn start(log: &Log) -> Result<Logging, Failure> {
    let (writer, worker) = NonBlockingBuilder::default()
        .lossy(true)
        .buffered_lines_limit(BACKLOG)
        .thread_name("log")
        .finish(io::stderr());
    let dropped = writer.error_counter();
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(log)?)
        .with_writer(writer);
    let begun = match log.format {
        Format::Text => builder
            .with_ansi(io::stderr().is_terminal() && wants_colors())
            .try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
    begun.or_failed("cannot start the log")?;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // The filter may suppress this module's lines.
        if tracing::enabled!(tracing::Level::ERROR) {
            log_panic(panic);
        } else {
            usual(panic);
        }
    }));
    Ok(Logging {
        dropped,
        worker: Some(worker),
    })
}

/// Logs a panic as a line like all others, since readers may expect JSON.
fn log_panic(panic: &PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string);
    let thread = std::thread::current();
    tracing::error!(
        place = place.as_deref().unwrap_or("unknown"),
        thread = thread.name().unwrap_or("without a name"),
        reason = panic.payload_as_str().unwrap_or("no reason given"),
        "panicked"
    );
}

fn filter(log: &Log) -> Result<EnvFilter, Failure> {
    for name in FILTERS {
        let Ok(text) = env::var(name) else { continue };
        return EnvFilter::builder()
            .parse(&text)
            .or_setup(format!("the variable {name} is no log filter"));
    }
    Ok(EnvFilter::new(log.level.to_string()))
}

impl Logging {
    /// Logs when lines were dropped. Never ends.
    pub(super) fn watch(&self) -> impl Future<Output = ()> + Send + 'static {
        let dropped = self.dropped.clone();
        async move {
            let mut known = 0;
            loop {
                tokio::time::sleep(WATCH).await;
                let now = dropped.dropped_lines();
                if now > known {
                    tracing::warn!(
                        lines = now - known,
                        "log lines dropped: the reader of stderr is too slow"
                    );
                }
                known = now;
            }
        }
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        // Flushes the remaining lines, or gives up after a moment.
        self.worker = None;
        let dropped = self.dropped.dropped_lines();
        if dropped > 0 {
            let note = format!("megaton: {dropped} log lines were dropped");
            let _ = writeln!(io::stderr().lock(), "{note}");
        }
    }
}
