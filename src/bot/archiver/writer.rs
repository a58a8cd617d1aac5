//! Copies changes from the event log to the file, with a short delay.
//!
//! One batch at a time. A batch that could not be stored stays in the event log and is part of the
//! next one: games whole, so that none is ever stored in part. A panic raises an alert, and the
//! writer restarts after the last stored batch.

use std::future::Future;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::archive::{ArchiveEntry, ArchiveError, Writer};
use crate::bot::event_log::{Changes, EventLog};
use crate::bot::supervisor::{RestartBackoff, catch_panic};

/// Changes within so short a time are stored together.
const TOGETHER: Duration = Duration::from_millis(150);
/// After the first failed attempt; doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A disk without an answer for this long is reported as slow.
const SLOW: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct ArchiveWriter {
    event_log: EventLog,
    writer: Writer,
    /// Maximum pause between two attempts at a file that cannot be written.
    retry: Duration,
    stop: CancellationToken,
    /// Everything up to this version is stored; survives a panic, so that nothing is stored twice.
    kept: AtomicU64,
    /// The number of lost entries already reported.
    lost: AtomicU64,
}

impl ArchiveWriter {
    pub(super) fn new(
        event_log: EventLog,
        writer: Writer,
        retry: Duration,
        stop: CancellationToken,
    ) -> Self {
        Self {
            event_log,
            writer,
            retry,
            stop,
            kept: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Stores changes until stopped, and then the rest; restarts after panics.
    pub(super) async fn keep(&self) {
        self.keep_running(|| self.work()).await;
    }

    /// Restarts as often as needed. When stopped, tries once more.
    async fn keep_running<F: Future<Output = ()>>(&self, mut task: impl FnMut() -> F) {
        let mut backoff = RestartBackoff::new(FIRST_PAUSE.min(self.retry));
        loop {
            let last = self.stop.is_cancelled();
            let Err(reason) = catch_panic(task()).await else {
                return;
            };
            if last {
                tracing::error!(reason, "the latest games were not archived");
                return;
            }
            tracing::error!(reason, "archive writer panicked; restarting");
            self.event_log.set_write_error(Some(fault(&reason)));
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = backoff.wait() => {}
            }
        }
    }

    /// One run. Retries a file that cannot be written soon, then less and less often.
    async fn work(&self) {
        let Self {
            event_log, stop, ..
        } = self;
        let mut signal = event_log.changes();
        let mut pause = FIRST_PAUSE.min(self.retry);
        // Changes from before the start count as well.
        signal.mark_changed();
        loop {
            let stopping = tokio::select! {
                biased;
                () = stop.cancelled() => true,
                _ = signal.changed() => {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(TOGETHER) => {}
                    }
                    false
                }
            };
            signal.mark_unchanged();
            let changes = event_log.since(self.kept.load(Ordering::Relaxed));
            self.count_lost(changes.lost);
            let waiting = changes.games.len();
            let version = changes.version;
            match self.commit(changes).await {
                Ok(()) => {
                    self.kept.store(version, Ordering::Relaxed);
                    pause = FIRST_PAUSE.min(self.retry);
                    event_log.settle(version);
                    event_log.set_write_error(None);
                }
                Err(error) => {
                    tracing::debug!(%error, waiting, "cannot write to the archive");
                    event_log.set_write_error(Some(trouble(&error, waiting)));
                    if stopping {
                        tracing::error!(%error, games = waiting, "the latest games were not archived");
                        return;
                    }
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = tokio::time::sleep(pause) => {}
                    }
                    pause = (pause * 2).min(self.retry);
                    signal.mark_changed();
                }
            }
            if stopping {
                return;
            }
        }
    }

    /// Reports newly lost entries.
    fn count_lost(&self, lost: u64) {
        let said = self.lost.swap(lost, Ordering::Relaxed);
        if lost > said {
            tracing::error!(
                lost = lost - said,
                "permanently lost: could not be written to the archive"
            );
        }
    }

    /// Stores a batch. Reports a disk that does not answer as slow, and waits for it.
    async fn commit(&self, changes: Changes) -> Result<(), ArchiveError> {
        let (event_log, writer) = (&self.event_log, &self.writer);
        let entries = entries(changes);
        // After a failure an empty batch shows whether the file can be used again.
        if entries.is_empty() && event_log.write_errors().borrow().is_none() {
            return Ok(());
        }
        let mut commit = Box::pin(writer.ask(move |disk| disk.commit(&entries)));
        if let Ok(outcome) = tokio::time::timeout(SLOW, &mut commit).await {
            return outcome;
        }
        event_log.set_write_error(Some(slow(writer.path())));
        commit.await
    }
}

fn entries(changes: Changes) -> Vec<ArchiveEntry> {
    let games = changes.games.into_iter().map(ArchiveEntry::Game);
    let challenges = changes.challenges.into_iter().map(ArchiveEntry::Challenge);
    let events = changes.events.into_iter();
    games
        .chain(challenges)
        .chain(events.map(ArchiveEntry::Event))
        .chain(changes.wire.into_iter().map(ArchiveEntry::Wire))
        .collect()
}

/// The alert text for a file that cannot be used.
pub(super) fn trouble(error: &ArchiveError, waiting: usize) -> String {
    let kept = match waiting {
        0 => String::new(),
        1 => " One game is held in memory.".to_owned(),
        games => format!(" {games} games are held in memory."),
    };
    format!("games are not archived: {error}.{kept} The bot plays on.")
}

/// The alert text for a panic.
fn fault(reason: &str) -> String {
    format!(
        "games are not archived: the archive writer panicked ({reason}) and restarts. The bot plays on."
    )
}

/// The alert text for a disk that does not answer.
pub(super) fn slow(path: &Path) -> String {
    let path = path.display();
    format!(
        "games are not archived yet: the disk of {path} does not respond, or a large file of an earlier format is being migrated. The bot plays on."
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{ArchiveReader, FILE_NAME};

    #[tokio::test]
    async fn a_writer_that_panics_raises_an_alert_and_loses_and_doubles_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let (event_log, stop) = (EventLog::default(), CancellationToken::new());
        let writer = Writer::start(&path).unwrap();
        let retry = Duration::from_millis(20);
        let writer = ArchiveWriter::new(event_log.clone(), writer, retry, stop.clone());
        event_log.note("game", "stored in the first life", None);
        let mut lives = 0;
        let surviving = writer.keep_running(|| {
            lives += 1;
            let life = lives;
            let (writer, event_log) = (&writer, &event_log);
            async move {
                if life > 1 {
                    return writer.work().await;
                }
                let kept = async {
                    while writer.kept.load(Ordering::Relaxed) == 0 {
                        tokio::task::yield_now().await;
                    }
                };
                tokio::select! {
                    () = writer.work() => {}
                    () = kept => {}
                }
                event_log.note("game", "not stored any more", None);
                panic!("an injected fault");
            }
        });
        let watched = async {
            let mut write_errors = event_log.write_errors();
            let raised = write_errors
                .wait_for(Option::is_some)
                .await
                .unwrap()
                .clone();
            assert!(raised.unwrap().contains("panicked (an injected fault)"));
            write_errors.wait_for(Option::is_none).await.unwrap();
            event_log.note("game", "stored at the end", None);
            stop.cancel();
        };
        let guard = Duration::from_secs(60);
        let both = async { tokio::join!(surviving, watched) };
        tokio::time::timeout(guard, both).await.expect("it ends");
        let events = ArchiveReader::open(&path).unwrap().events(9).unwrap();
        let texts: Vec<&str> = events.iter().rev().map(|it| it.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "stored in the first life",
                "not stored any more",
                "stored at the end"
            ]
        );
    }

    #[tokio::test]
    async fn a_writer_that_always_panics_ends_on_shutdown() {
        let folder = tempfile::tempdir().unwrap();
        let stop = CancellationToken::new();
        let writer = Writer::start(&folder.path().join(FILE_NAME)).unwrap();
        let event_log = EventLog::default();
        let hour = Duration::from_secs(3600);
        let writer = ArchiveWriter::new(event_log.clone(), writer, hour, stop.clone());
        let mut lives = 0;
        writer
            .keep_running(|| {
                lives += 1;
                stop.cancel();
                async { panic!("an injected fault") }
            })
            .await;
        assert_eq!(lives, 2, "once more after it was stopped");
        assert!(event_log.write_errors().borrow().is_some());
    }
}
