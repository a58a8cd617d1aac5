//! Reads the archive for the pages.
//!
//! One request at a time reads it, on a thread with less priority than the searches of games, so the bot
//! and its writer notice no readers. Without an archive only the latest games are known; an archive that
//! exists but cannot be read is an error.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, oneshot};

use crate::archive::{ArchiveError, ArchiveReader};

/// Added to the niceness of the reading thread: more than the searches of games have.
const NICENESS: i32 = 10;

/// The device and the inode of a file.
type FileId = (u64, u64);

/// The archive, opened by the first query.
#[derive(Debug)]
pub(super) struct ArchiveAccess {
    path: Option<PathBuf>,
    /// With the file that is open: another one may take its place at the path.
    open: Arc<Mutex<Option<(FileId, ArchiveReader)>>>,
    /// Held by the reading thread until it is done, even if its request has been cancelled.
    turn: Arc<Semaphore>,
    /// The error of the last query, if any.
    trouble: Mutex<Option<ArchiveError>>,
}

impl ArchiveAccess {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            open: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
            trouble: Mutex::default(),
        }
    }

    /// The answer of the archive; `None` if none is configured.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&ArchiveReader) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<Option<T>, ArchiveError> {
        let Some(path) = self.path.clone() else {
            return Ok(None);
        };
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        let turn = turn.expect("the semaphore is never closed");
        let open = Arc::clone(&self.open);
        let at = path.clone();
        let read = move || {
            let _turn = turn;
            let file = fs::metadata(&at).map(|file| (file.dev(), file.ino())).ok();
            let mut open = open.lock();
            let reader = match open.take() {
                Some((known, reader)) if Some(known) == file => reader,
                _ => ArchiveReader::open(&at)?,
            };
            let answer = question(&reader)?;
            // A reader that failed is not used again.
            *open = file.map(|file| (file, reader));
            Ok(answer)
        };
        let failed = |reason: String| Err(ArchiveError::Failed { path, reason });
        let (sender, receiver) = oneshot::channel();
        // Niceness cannot be lowered again, so no thread of a pool may do this.
        let thread = thread::Builder::new().name("archive reader".into());
        let spawned = thread.spawn(move || {
            // On Linux this changes the thread, not the process. Failing is harmless.
            let _ = rustix::process::nice(NICENESS);
            let _ = sender.send(read());
        });
        let answer = match spawned {
            Ok(_) => receiver
                .await
                .unwrap_or_else(|_| failed("a fault of this program".to_owned())),
            Err(error) => failed(error.to_string()),
        };
        self.log(answer.as_ref().err().filter(|error| is_there(error)));
        answer.map(Some)
    }

    /// The answer of the archive, or that of `otherwise` if there is no archive.
    pub(super) async fn ask_or<T: Send + 'static>(
        &self,
        question: impl FnOnce(&ArchiveReader) -> Result<T, ArchiveError> + Send + 'static,
        otherwise: impl FnOnce() -> T,
    ) -> Result<T, ArchiveError> {
        let answer = if_there(self.ask(question).await)?;
        Ok(answer.unwrap_or_else(otherwise))
    }

    /// Logs trouble once, however many queries fail.
    fn log(&self, trouble: Option<&ArchiveError>) {
        let mut known = self.trouble.lock();
        if known.as_ref() == trouble {
            return;
        }
        if let Some(error) = trouble {
            tracing::warn!(%error, "the page cannot read the archive");
        }
        *known = trouble.cloned();
    }
}

/// Whether the archive exists and cannot be read. A missing archive is no error: if nothing is archived,
/// the latest games are all there is.
pub(super) fn is_there(error: &ArchiveError) -> bool {
    !matches!(error, ArchiveError::Missing(_))
}

/// The answer of an archive that need not exist.
pub(super) fn if_there<T>(
    answer: Result<Option<T>, ArchiveError>,
) -> Result<Option<T>, ArchiveError> {
    match answer {
        Err(ArchiveError::Missing(_)) => Ok(None),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::{ArchiveEntry, Database, GameRecord};

    #[tokio::test]
    async fn a_cancelled_request_starts_no_second_archive_thread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        drop(Database::open(&path, 1).unwrap());
        let queries = Arc::new(ArchiveAccess::new(Some(path)));
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let asking = tokio::spawn({
            let queries = Arc::clone(&queries);
            async move {
                let slow = move |_: &ArchiveReader| {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    Ok(())
                };
                queries.ask(slow).await
            }
        });
        begins.await.unwrap();
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        assert_eq!(queries.turn.available_permits(), 0, "it still reads");
        go_on.send(()).unwrap();
        let next = queries.ask(|reader| reader.ids_like("a")).await;
        assert_eq!(next, Ok(Some(Vec::new())));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn archive_reads_yield_to_the_searches_of_games() {
        fn niceness() -> i32 {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            fields.split(' ').nth(16).unwrap().parse().unwrap()
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        Database::open(&path, 1).unwrap();
        let queries = ArchiveAccess::new(Some(path));
        let reader = queries.ask(|_| Ok(niceness())).await;
        assert_eq!(reader, Ok(Some((niceness() + NICENESS).min(19))));
    }

    #[tokio::test]
    async fn no_archive_differs_from_an_unreadable_one() {
        let none = ArchiveAccess::new(None);
        let answer = none.ask(|reader| reader.ids_like("a")).await;
        assert_eq!(answer, Ok(None));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        let queries = ArchiveAccess::new(Some(path.clone()));
        let answer = queries.ask(|reader| reader.ids_like("a")).await;
        assert_eq!(answer, Err(ArchiveError::Missing(path.clone())));
        assert_eq!(if_there(answer), Ok(None));
        std::fs::write(&path, "no database").unwrap();
        let answer = queries.ask(|reader| reader.ids_like("a")).await;
        assert!(if_there(answer).is_err());
    }

    #[tokio::test]
    async fn the_archive_at_the_path_is_read_after_another_one_has_taken_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        let archive_with = |id: &str| {
            let game = GameRecord {
                id: id.to_owned(),
                ..GameRecord::default()
            };
            let mut archive = Database::open(&path, 1).unwrap();
            archive.commit(&[ArchiveEntry::Game(game.into())]).unwrap();
        };
        let queries = ArchiveAccess::new(Some(path.clone()));
        let ids = || queries.ask(|reader| reader.ids_like("game"));
        let move_away = || {
            for end in ["", "-wal", "-shm"] {
                let file = folder.path().join(format!("games.db{end}"));
                // Beside the archive itself there may be nothing.
                let _ = fs::rename(&file, folder.path().join(format!("moved.db{end}")));
            }
        };
        archive_with("gameOld1");
        assert_eq!(ids().await, Ok(Some(vec!["gameOld1".to_owned()])));
        move_away();
        assert_eq!(ids().await, Err(ArchiveError::Missing(path.clone())));
        archive_with("gameNew1");
        assert_eq!(ids().await, Ok(Some(vec!["gameNew1".to_owned()])));
        // Replaced without a query in between.
        move_away();
        archive_with("gameNew2");
        assert_eq!(ids().await, Ok(Some(vec!["gameNew2".to_owned()])));
    }
}
