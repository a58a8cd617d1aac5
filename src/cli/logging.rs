//! The log: lines on stderr, and in a file where the config names one.
//!
//! Each has a thread of its own. A stuck terminal, a full pipe or a slow disk costs log lines, which are
//! counted, but never a move.

use std::env;
use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::time::Duration;

use megaton::config::{Format, Log};
use megaton::panel::RecentLines;
use tracing_appender::non_blocking::{ErrorCounter, NonBlocking, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriterExt as _};

use super::failure::{Failure, OrFailure as _};
use super::log_file;
use super::output::wants_colors;
use super::setup::LogArgs;

/// The variables that override the config's level, in this order.
pub(super) const FILTERS: [&str; 2] = ["MEGATON_LOG", "RUST_LOG"];
/// Lines that may wait for a slow reader of stderr, or for a slow disk.
const BACKLOG: usize = 16_384;
/// Time between two looks for dropped lines.
const WATCH: Duration = Duration::from_secs(60);

/// The running log; dropping it flushes the remaining lines.
#[derive(Debug)]
pub(super) struct Logging {
    outputs: Vec<Output>,
    recent: RecentLines,
}

/// A place to which lines go.
#[derive(Debug)]
struct Output {
    name: &'static str,
    dropped: ErrorCounter,
    /// Dropping it flushes the remaining lines, or gives up after a moment.
    worker: Option<WorkerGuard>,
}

impl Output {
    fn open(name: &'static str, to: impl Write + Send + 'static) -> (NonBlocking, Self) {
        let (writer, worker) = NonBlockingBuilder::default()
            .lossy(true)
            .buffered_lines_limit(BACKLOG)
            .thread_name("log")
            .finish(to);
        let output = Self {
            name,
            dropped: writer.error_counter(),
            worker: Some(worker),
        };
        (writer, output)
    }
}

/// Starts the log of this process.
pub(super) fn start(args: &LogArgs, log: &Log) -> Result<Logging, Failure> {
    let log = &args.over(log);
    let recent = RecentLines::default();
    let (stderr, output) = Output::open("stderr", recent.noting(io::stderr()));
    let mut outputs = vec![output];
    let file = match &log.file {
        Some(path) => log_file::open(path, log.files)?,
        None => None,
    };
    // One text for both: without colours as soon as it goes into a file.
    let colors = file.is_none() && io::stderr().is_terminal() && wants_colors();
    let writer = match file.map(|file| Output::open("the log file", file)) {
        Some((file, output)) => {
            outputs.push(output);
            BoxMakeWriter::new(stderr.and(file))
        }
        None => BoxMakeWriter::new(stderr),
    };
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter(args, log)?)
        .with_writer(writer);
    let begun = match log.format {
        Format::Text => builder.with_ansi(colors).try_init(),
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
    Ok(Logging { outputs, recent })
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

/// The filter of the option, of the first variable that is not blank, or of the config.
fn filter(args: &LogArgs, log: &Log) -> Result<EnvFilter, Failure> {
    for name in FILTERS {
        let text = env::var(name).unwrap_or_default();
        let text = text.trim();
        if args.log_level.is_none() && !text.is_empty() {
            // A word that is no level would be the name of a module, and nothing else logged.
            let is_word = text.bytes().all(|it| it.is_ascii_alphabetic());
            let checked = [if is_word { "megaton=" } else { "" }, text].concat();
            let parsed = EnvFilter::builder().parse(checked);
            let parsed = parsed.and_then(|_| EnvFilter::builder().parse(text));
            return parsed.or_setup(format!("the variable {name} is not a log filter"));
        }
    }
    Ok(EnvFilter::new(log.level.to_string()))
}

impl Logging {
    /// The latest lines on stderr.
    pub(super) fn recent_lines(&self) -> RecentLines {
        self.recent.clone()
    }

    /// Logs when lines were dropped. Never ends.
    pub(super) fn watch(&self) -> impl Future<Output = ()> + Send + 'static {
        let outputs = self.outputs.iter();
        let mut outputs: Vec<_> = outputs
            .map(|output| (output.name, output.dropped.clone(), 0))
            .collect();
        async move {
            loop {
                tokio::time::sleep(WATCH).await;
                for (name, dropped, known) in &mut outputs {
                    let now = dropped.dropped_lines();
                    if now > *known {
                        let lines = now - *known;
                        tracing::warn!(lines, "log lines dropped: {name} is too slow");
                    }
                    *known = now;
                }
            }
        }
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        for output in &mut self.outputs {
            output.worker = None;
        }
        for output in &self.outputs {
            let dropped = output.dropped.dropped_lines();
            if dropped > 0 {
                let note = format!("megaton: {dropped} lines for {} were dropped", output.name);
                let _ = writeln!(io::stderr().lock(), "{note}");
            }
        }
    }
}
