//! Restarts a task that panicked, with exponential back-off.
//!
//! Never loses a panic silently: each one is logged.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures::FutureExt;

/// The longest pause before a restart, in multiples of the first.
const LONGEST: u32 = 32;

/// Back-off between restarts of a task.
#[derive(Debug)]
pub(super) struct RestartBackoff {
    first: Duration,
    next: u32,
    began: Instant,
}

impl RestartBackoff {
    /// `first` is the pause after the first failure; it doubles with every further one.
    pub(super) fn new(first: Duration) -> Self {
        Self {
            first,
            next: 1,
            began: Instant::now(),
        }
    }

    /// Waits until the next restart. A long healthy run resets the back-off.
    pub(super) async fn wait(&mut self) {
        if self.began.elapsed() > self.first * LONGEST {
            self.next = 1;
        }
        tokio::time::sleep(self.first * self.next).await;
        self.next = (self.next * 2).min(LONGEST);
        self.began = Instant::now();
    }
}

/// Runs a task; a panic becomes an error with its message.
pub(super) async fn catch_panic<T>(task: impl Future<Output = T>) -> Result<T, String> {
    let outcome = AssertUnwindSafe(task).catch_unwind().await;
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        text.unwrap_or("no reason given").to_owned()
    })
}

/// Runs a task until it is done and restarts it whenever it panics: `first` is the pause after the
/// first failure. Work in progress is lost; `begin` captures what must survive.
pub(crate) async fn restart_on_panic<F: Future<Output = ()>>(
    what: &str,
    first: Duration,
    begin: impl FnMut() -> F,
) {
    restart_and_report(what, first, begin, |_| ()).await;
}

/// The same, and passes on the message of each panic.
pub(super) async fn restart_and_report<F: Future<Output = ()>>(
    what: &str,
    first: Duration,
    mut begin: impl FnMut() -> F,
    report: impl Fn(String),
) {
    let mut backoff = RestartBackoff::new(first);
    loop {
        // A panic of `begin` itself counts as one of the task.
        let life = async { begin().await };
        let Err(reason) = catch_panic(life).await else {
            return;
        };
        tracing::error!(what, reason, "task panicked; restarting");
        report(reason);
        backoff.wait().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(50);

    #[tokio::test]
    async fn a_panicking_task_restarts_with_growing_pauses_until_it_is_done() {
        let mut lives = Vec::new();
        restart_on_panic("a test", FIRST, || {
            lives.push(Instant::now());
            let life = lives.len();
            async move { assert_eq!(life, 4, "an injected fault") }
        })
        .await;
        let pauses = lives.windows(2).map(|pair| pair[1] - pair[0]);
        // However late a busy machine is, no pause is shorter than this.
        for (pause, least) in pauses.zip([1, 2, 4].map(|times| FIRST * times)) {
            assert!(pause >= least, "{pause:?} instead of {least:?}");
        }
        assert_eq!(lives.len(), 4);
    }

    #[tokio::test]
    async fn a_long_healthy_run_resets_the_back_off() {
        let mut backoff = RestartBackoff::new(FIRST);
        backoff.next = LONGEST;
        backoff.began = backoff.began.checked_sub(FIRST * LONGEST * 2).unwrap();
        backoff.wait().await;
        assert_eq!(backoff.next, 2, "the first pause, and twice that to come");
    }

    #[tokio::test]
    async fn a_task_that_panics_at_its_start_is_restarted_too() {
        let mut begun = 0;
        restart_on_panic("a test", FIRST, || {
            begun += 1;
            assert!(begun > 1, "an injected fault");
            std::future::ready(())
        })
        .await;
        assert_eq!(begun, 2);
    }
}
