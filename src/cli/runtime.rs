//! The asynchronous runtime of a command and the signals that end it.

use std::future::Future;

use anyhow::Context;
use megaton::bot::Shutdown;
use tokio::runtime::{Builder, Runtime};

use super::failure::Failure;

/// Threads that carry streams and calls; searches have threads of their own.
const WORKERS: usize = 2;

/// Runs a future to its end on a runtime of its own.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = build()?;
    let outcome = runtime.block_on(work);
    // Whatever still hangs on a socket must not keep the process.
    runtime.shutdown_background();
    outcome
}

fn build() -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build();
    Ok(runtime.context("starting the runtime")?)
}

/// Listens for SIGINT and SIGTERM: the first drains, the second ends.
pub(super) fn listen() -> Result<Shutdown, Failure> {
    let mut signals = Signals::new()?;
    let shutdown = Shutdown::default();
    let told = shutdown.clone();
    tokio::spawn(async move {
        let name = signals.next().await;
        tracing::info!(
            signal = name,
            "finishing the games in progress; press again to exit now"
        );
        told.drain.cancel();
        let name = signals.next().await;
        tracing::warn!(signal = name, "leaving now");
        told.now.cancel();
    });
    Ok(shutdown)
}

/// SIGHUP, each time it comes.
#[cfg(unix)]
pub(super) struct Hangups(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangups {
    /// From now on the signal no longer ends the process.
    pub(super) fn listen() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};

        let hangup = signal(SignalKind::hangup()).context("listening for signals")?;
        Ok(Self(hangup))
    }

    /// The next one.
    pub(super) async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self, Failure> {
        use tokio::signal::unix::{SignalKind, signal};

        let listen = |kind| signal(kind).context("listening for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// The next signal that asks for an end.
    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "as on Unix, where it can fail")]
    const fn new() -> Result<Self, Failure> {
        Ok(Self)
    }

    async fn next(&mut self) -> &'static str {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        "Ctrl-C"
    }
}
