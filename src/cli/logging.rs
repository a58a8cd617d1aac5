//! Where the log goes: lines to stderr, written by a thread of its own.
//!
//! A stuck terminal or a full pipe costs lines, which are counted, never a move. Results of
//! commands do not pass through here: stdout is theirs.

use std::env;
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::time::Duration;

use megaton::config::{Format, Log};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::EnvFilter;

use super::failure::Failure;

/// The variables that go before the config's level, in this order.
const FILTERS: [&str; 2] = ["MEGATON_LOG", "RUST_LOG"];
/// Lines kept for a slow reader of stderr before any are dropped.
const BACKLOG: usize = 16_384;
/// How often dropped lines are looked for.
const WATCH: Duration = Duration::from_secs(60);

/// The running log; dropping it writes out what is left.
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
        Format::Text => builder.with_ansi(colours()).try_init(),
        Format::Json => builder.json().flatten_event(true).try_init(),
    };
    begun.map_err(|error| Failure::failed(format!("cannot start the log: {error}")))?;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // A filter may leave out what this file says.
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

/// A panic is a line of the log like all others: anyone who reads it may expect JSON.
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

fn colours() -> bool {
    io::stderr().is_terminal() && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn filter(log: &Log) -> Result<EnvFilter, Failure> {
    for name in FILTERS {
        let Ok(text) = env::var(name) else { continue };
        return EnvFilter::builder().parse(&text).map_err(|error| {
            Failure::setup(format!("the variable {name} is no log filter: {error}"))
        });
    }
    Ok(EnvFilter::new(log.level.to_string()))
}

impl Logging {
    /// Says so when lines were dropped: for a process that runs for months. Never ends.
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
        // Writes out what is left, or gives up after a moment.
        self.worker = None;
        let dropped = self.dropped.dropped_lines();
        if dropped > 0 {
            let _ = writeln!(
                io::stderr().lock(),
                "megaton: {dropped} log lines were dropped"
            );
        }
    }
}
