//! The handle, and the commits of the thread that owns the file.
//!
//! Changes wait in memory, only the latest about each subject; the thread writes all of them in one
//! transaction. Changes that cannot be written now wait for the next attempt.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::data::{Change, State};
use super::lock::Lock;
use super::tables;
use crate::sqlite::{Database, Error, FileKind, Timestamp, Worker};

/// The file in the data folder.
const FILE: &str = "state.db";
/// What `SQLite` has not merged into it yet.
const LOG: &str = "state.db-wal";
/// The key of the note with the id of the account that the state is of.
pub const OWNER_NOTE: &str = "account";
/// How the file is opened.
pub(super) static KIND: FileKind = FileKind {
    schema: tables::SCHEMA,
    exclusive: true,
    durable: true,
    shrinks: false,
    // An operator may look at the file with another program.
    busy: Duration::from_secs(2),
    log_size: 4 << 20,
    checked: u64::MAX,
    name: "a file of this program",
    backup: "copy",
    fresh: "start with empty state (today's bot games are then counted from 0)",
    newer: "give this one another [data] folder",
};
/// Subjects that may wait to be written; changes about any others are dropped.
const MAX_WAITING: usize = 50_000;
/// Pause between two attempts at a file that cannot be written.
const RETRY: Duration = Duration::from_secs(10);
/// Maximum time that a caller waits for the disk.
const MAX_WAIT: Duration = Duration::from_secs(3);

type Subject = (u8, String);

/// Takes changes to the state. Clones write to the same file; the last one to be dropped waits until
/// everything is on disk.
#[derive(Clone, Debug)]
pub struct Store(Option<Arc<Handle>>);

#[derive(Debug)]
struct Handle {
    waiting: Arc<Mutex<Batch>>,
    worker: Worker<Committer>,
    trouble: watch::Receiver<Option<Error>>,
    /// Maximum time that a caller waits for the disk.
    patience: Duration,
    _lock: Option<Lock>,
}

/// Changes that wait to be written.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Those about the same kind of thing follow one another, pruning is last.
    changes: BTreeMap<Subject, Change>,
    dropped: u64,
}

/// Where a batch of changes goes.
pub(super) trait Backend: Debug + Send {
    /// Writes all of them, or none.
    fn commit(&mut self, changes: &[Change]) -> Result<(), Error>;
}

impl Backend for Database {
    fn commit(&mut self, changes: &[Change]) -> Result<(), Error> {
        self.write(|batch| {
            changes
                .iter()
                .try_for_each(|change| tables::write(batch, change))
        })
        .map_err(|error| match error {
            Error::Failed { path, reason } | Error::Damaged { path, reason, .. } => {
                Error::Unwritable { path, reason }
            }
            other => other,
        })
    }
}

/// Opens the file and reads the state in it.
pub(super) fn open(path: &Path, now: Timestamp) -> Result<(Database, State), Error> {
    let opened = Database::open(&KIND, path, now).and_then(|db| {
        let state = db.ask(|db| tables::read(db, now))?;
        Ok((db, state))
    });
    opened.map_err(|error| match error {
        Error::Failed { path, reason } => Error::Folder { path, reason },
        other => other,
    })
}

impl Store {
    /// A store that forgets everything at the end of this run.
    pub fn nowhere() -> (Self, State) {
        (Self(None), State::default())
    }

    /// Opens the state kept in `folder`, which is created if missing and locked for this process.
    ///
    /// # Errors
    /// When the folder cannot be used, is in use, or holds a file that this program cannot read.
    pub fn open(folder: &Path) -> Result<(Self, State), Error> {
        let lock = Lock::take(folder)?;
        let (db, state) = open(&folder.join(FILE), Timestamp::now())?;
        let store = Self::start(db, Some(lock), MAX_WAIT).map_err(|error| Error::Folder {
            path: folder.to_owned(),
            reason: format!("no thread for it: {error}"),
        })?;
        Ok((store, state))
    }

    /// Fails as `open` would for the file in `folder`, if there is one; gives the account that it is of, as
    /// far as it says so without its log. A bot that has it open does not matter, and nothing changes.
    ///
    /// # Errors
    /// When the file is of a later version or another program, or damaged.
    pub fn check(folder: &Path) -> Result<Option<String>, Error> {
        let (path, log) = (folder.join(FILE), folder.join(LOG));
        if !path.exists() {
            return Ok(None);
        }
        match Database::check_unlocked(&KIND, &path) {
            // What the log holds may make it whole.
            Err(Error::Damaged { .. }) if log.metadata().is_ok_and(|log| log.len() > 0) => Ok(None),
            checked => Ok(checked?.ask(|db| tables::note(db, OWNER_NOTE)).ok()),
        }
    }

    pub(super) fn start(
        backend: impl Backend + 'static,
        lock: Option<Lock>,
        patience: Duration,
    ) -> std::io::Result<Self> {
        let waiting = Arc::new(Mutex::default());
        let (announce, trouble) = watch::channel(None);
        let committer = Committer {
            waiting: Arc::clone(&waiting),
            backend: Box::new(backend),
            trouble: announce,
        };
        let worker = Worker::start("store", committer, RETRY, Committer::retry)?;
        Ok(Self(Some(Arc::new(Handle {
            waiting,
            worker,
            trouble,
            patience,
            _lock: lock,
        }))))
    }

    /// Writes a change soon. Never waits.
    pub fn write(&self, change: Change) {
        self.write_all([change]);
    }

    /// Writes changes soon, in one transaction. Never waits.
    pub fn write_all(&self, changes: impl IntoIterator<Item = Change>) {
        let Some(handle) = &self.0 else {
            return;
        };
        let mut waiting = handle.waiting.lock();
        let was_empty = waiting.changes.is_empty();
        for change in changes {
            waiting.put(change);
        }
        if was_empty && !waiting.changes.is_empty() {
            handle.worker.send(Committer::commit_soon);
        }
    }

    /// Ready once all changes are on disk, or after a few seconds if the disk does not answer.
    ///
    /// # Errors
    /// When they cannot be written now; the store tries again later all the same.
    pub fn flush(&self) -> impl Future<Output = Result<(), Error>> + Send + 'static {
        let written = self
            .0
            .as_ref()
            .map(|handle| (handle.worker.ask(Committer::commit), handle.patience));
        async move {
            let Some((written, patience)) = written else {
                return Ok(());
            };
            match tokio::time::timeout(patience, written).await {
                Ok(outcome) => outcome.unwrap_or(Err(Error::Closed)),
                Err(_) => Err(Error::Slow(patience.as_secs())),
            }
        }
    }

    /// Why nothing can be written at present, if so.
    pub fn trouble(&self) -> Option<Error> {
        self.write_errors()?.borrow().clone()
    }

    /// Watches `trouble`; `None` where nothing is kept.
    pub fn write_errors(&self) -> Option<watch::Receiver<Option<Error>>> {
        self.0.as_ref().map(|handle| handle.trouble.clone())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // The file is closed before the folder's lock is released, unless the disk hangs.
        self.worker.close(self.patience);
    }
}

impl Batch {
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn put(&mut self, change: Change) {
        let subject = change.subject();
        if self.changes.len() >= MAX_WAITING && !self.changes.contains_key(&subject) {
            self.dropped += 1;
            return;
        }
        self.changes.insert(subject, change);
    }

    /// Takes back changes that could not be written, unless there are newer ones about the same.
    pub(super) fn put_back(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.changes.entry(change.subject()).or_insert(change);
        }
    }
}

/// Writes the batches, on the thread that owns the file.
#[derive(Debug)]
struct Committer {
    waiting: Arc<Mutex<Batch>>,
    backend: Box<dyn Backend>,
    trouble: watch::Sender<Option<Error>>,
}

impl Committer {
    /// Writes what waits, unless the last attempt failed.
    fn commit_soon(&mut self) {
        if self.trouble.borrow().is_none() {
            let _ = self.commit();
        }
    }

    /// Writes what still waits after a failed attempt.
    fn retry(&mut self) {
        if !self.waiting.lock().changes.is_empty() {
            let _ = self.commit();
        }
    }

    fn commit(&mut self) -> Result<(), Error> {
        let outcome = self.commit_batch();
        self.report(outcome.clone().err());
        outcome
    }

    fn commit_batch(&mut self) -> Result<(), Error> {
        let changes = std::mem::take(&mut self.waiting.lock().changes);
        let changes: Vec<Change> = changes.into_values().collect();
        let commit = AssertUnwindSafe(|| self.backend.commit(&changes));
        let outcome = catch_unwind(commit).unwrap_or_else(|_| {
            Err(Error::Unwritable {
                path: FILE.into(),
                reason: "a fault of this program".to_owned(),
            })
        });
        if outcome.is_err() {
            self.waiting.lock().put_back(changes);
        }
        outcome
    }

    /// Announces that the file can no longer be written, and that it can be again.
    fn report(&self, trouble: Option<Error>) {
        let before = self.trouble.borrow().is_some();
        match &trouble {
            Some(error) if !before => {
                tracing::debug!(%error, "state is kept in memory only until this is fixed");
            }
            None if before => {
                let dropped = std::mem::take(&mut self.waiting.lock().dropped);
                tracing::info!(dropped, "state can be written again");
            }
            _ => {}
        }
        if before || trouble.is_some() {
            self.trouble.send_replace(trouble);
        }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        let lost = self.waiting.lock().changes.len();
        if lost > 0
            && let Err(error) = self.commit_batch()
        {
            tracing::error!(%error, lost, "state is lost");
        }
    }
}
