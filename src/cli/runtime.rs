//! The asynchronous runtime of a command and the signals that end it.

use std::future::Future;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use indicatif::ProgressBar;
use megaton::bot::Shutdown;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;

/// Threads for streams and calls; searches have threads of their own.
const WORKERS: usize = 2;

/// Runs a future to its end on a new runtime.
pub(super) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .context("starting the runtime")?;
    let outcome = runtime.block_on(work);
    // Tasks that still wait for a socket must not keep the process.
    runtime.shutdown_background();
    outcome
}

/// Listens for SIGINT and SIGTERM: the first drains, the second ends.
pub(super) fn listen() -> Result<Shutdown, Failure> {
    let mut interrupts = receive(SignalKind::interrupt())?;
    let mut terminations = receive(SignalKind::terminate())?;
    let mut next = async move || {
        tokio::select! {
            _ = interrupts.recv() => "SIGINT",
            _ = terminations.recv() => "SIGTERM",
        }
    };
    let shutdown = Shutdown::default();
    let told = shutdown.clone();
    tokio::spawn(async move {
        let signal = next().await;
        tracing::info!(
            signal,
            "finishing the games in progress; press again to exit now"
        );
        told.drain.cancel();
        let signal = next().await;
        tracing::warn!(signal, "leaving now");
        told.now.cancel();
    });
    Ok(shutdown)
}

/// Runs blocking work on a thread of its own; SIGINT or SIGTERM sets its flag, and the work ends early.
pub(super) fn interruptible<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> Result<T, Failure> {
    block_on(async {
        let mut interrupts = receive(SignalKind::interrupt())?;
        let mut terminations = receive(SignalKind::terminate())?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        tokio::spawn(async move {
            tokio::select! {
                _ = interrupts.recv() => {}
                _ = terminations.recv() => {}
            }
            stopped.store(true, Ordering::Relaxed);
        });
        let done = tokio::task::spawn_blocking(move || work(&stop)).await;
        Ok(done.context("the work did not end as it should")?)
    })
}

/// A flag for blocking work with a bar, set when this is cancelled, after a word to the operator.
pub(super) fn flag_of(cancelled: &CancellationToken, bar: &ProgressBar) -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let (set, cancelled, bar) = (Arc::clone(&flag), cancelled.clone(), bar.clone());
    tokio::spawn(async move {
        cancelled.cancelled().await;
        bar.suspend(|| {
            let word = "finishing what is in progress; again leaves at once";
            // Without stderr the work ends all the same.
            let _ = writeln!(io::stderr().lock(), "{word}");
        });
        set.store(true, Ordering::Relaxed);
    });
    flag
}

/// Listens for SIGHUP, which from now on does not end the process.
pub(super) fn hangups() -> Result<Signal, Failure> {
    receive(SignalKind::hangup())
}

fn receive(kind: SignalKind) -> Result<Signal, Failure> {
    Ok(signal(kind).context("listening for signals")?)
}
