//! The handle, and the thread that owns the file.
//!
//! Changes wait in memory, the latest about each thing; the thread takes them all and keeps them in
//! one transaction. What cannot be kept now waits on, and is said once.

use std::collections::HashMap;
use std::future::Future;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime};

use tokio::sync::{oneshot, watch};

use super::data::{Change, State};
use super::disk::{Backend, Database};
use super::error::StoreError;
use super::lock::Lock;
use super::timestamp::Timestamp;

/// The file in the data folder.
const FILE: &str = "state.db";
/// Things that may wait to be kept; about more than these nothing new is taken.
const MOST_WAITING: usize = 50_000;
/// How often a file that cannot be written is tried.
const RETRY: Duration = Duration::from_secs(10);
/// The longest that anyone waits for the disk.
const LONGEST_WAIT: Duration = Duration::from_secs(3);

type Subject = (u8, String);
type Waiter = oneshot::Sender<Result<(), StoreError>>;

/// Where changes go. Clones write to the same place; the last one that goes sees to it that
/// everything is on disk.
#[derive(Clone, Debug)]
pub struct Store(Option<Arc<Handle>>);

#[derive(Debug)]
struct Handle {
    desk: Arc<Shared>,
    trouble: watch::Receiver<Option<StoreError>>,
    /// The longest that anyone waits for the disk.
    patience: Duration,
    _lock: Option<Lock>,
}

/// What handles and thread share.
#[derive(Debug, Default)]
struct Shared {
    tray: Mutex<Batch>,
    changed: Condvar,
}

/// What waits to be kept.
#[derive(Debug, Default)]
pub(super) struct Batch {
    changes: HashMap<Subject, Change>,
    waiters: Vec<Waiter>,
    dropped: u64,
    closing: bool,
    closed: bool,
}

impl Store {
    /// Nothing is kept beyond this run.
    pub fn nowhere() -> (Self, State) {
        (Self(None), State::default())
    }

    /// The state kept in `folder`, which is made if need be and locked for this process.
    ///
    /// # Errors
    /// When the folder cannot be used, is in use, or holds what this program cannot read.
    pub fn open(folder: &Path) -> Result<(Self, State), StoreError> {
        let lock = Lock::take(folder)?;
        let now = Timestamp::from(SystemTime::now());
        let (disk, kept) = Database::open(&folder.join(FILE), now)?;
        let store =
            Self::start(disk, Some(lock), LONGEST_WAIT).map_err(|error| StoreError::Folder {
                path: folder.to_owned(),
                reason: format!("no thread for it: {error}"),
            })?;
        Ok((store, kept))
    }

    pub(super) fn start(
        sink: impl Backend + 'static,
        lock: Option<Lock>,
        patience: Duration,
    ) -> std::io::Result<Self> {
        let desk = Arc::new(Shared::default());
        let (say, trouble) = watch::channel(None);
        let clerk = Writer {
            desk: Arc::clone(&desk),
            sink: Box::new(sink),
            say,
        };
        thread::Builder::new()
            .name("store".into())
            .spawn(move || clerk.run())?;
        Ok(Self(Some(Arc::new(Handle {
            desk,
            trouble,
            patience,
            _lock: lock,
        }))))
    }

    /// Keeps a change soon. Never waits.
    pub fn write(&self, change: Change) {
        self.write_all([change]);
    }

    /// Keeps changes soon, all in one go. Never waits.
    pub fn write_all(&self, changes: impl IntoIterator<Item = Change>) {
        if let Some(handle) = &self.0 {
            let mut tray = handle.desk.tray();
            let before = tray.changes.len();
            for change in changes {
                tray.put(change);
            }
            if before == 0 && !tray.changes.is_empty() {
                handle.desk.changed.notify_all();
            }
        }
    }

    /// Keeps a change and all before it. What comes back is done once they are on disk, or after a
    /// few seconds if the disk does not answer.
    ///
    /// # Errors
    /// When they cannot be kept now; it is tried again later all the same.
    pub fn write_through(
        &self,
        change: Change,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        self.hand_in(Some(change))
    }

    /// Done once everything handed in so far is on disk.
    ///
    /// # Errors
    /// When it cannot be kept now.
    pub fn flush(&self) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        self.hand_in(None)
    }

    fn hand_in(
        &self,
        change: Option<Change>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static {
        let kept = self.0.as_ref().map(|handle| {
            let (waiter, kept) = oneshot::channel();
            let mut tray = handle.desk.tray();
            if let Some(change) = change {
                tray.put(change);
            }
            tray.waiters.push(waiter);
            handle.desk.changed.notify_all();
            (kept, handle.patience)
        });
        async move {
            let Some((kept, patience)) = kept else {
                return Ok(());
            };
            match tokio::time::timeout(patience, kept).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) => Err(StoreError::Closed),
                Err(_) => Err(StoreError::Slow(patience.as_secs())),
            }
        }
    }

    /// Why nothing can be kept at present, if so.
    pub fn trouble(&self) -> Option<StoreError> {
        let handle = self.0.as_ref()?;
        handle.trouble.borrow().clone()
    }

    /// The same for anyone who wants to be told of changes; none where nothing is kept anyway.
    pub fn troubles(&self) -> Option<watch::Receiver<Option<StoreError>>> {
        self.0.as_ref().map(|handle| handle.trouble.clone())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let mut tray = self.desk.tray();
        tray.closing = true;
        self.desk.changed.notify_all();
        // The file is closed before the lock is let go of, unless the disk hangs.
        let _ = self
            .desk
            .changed
            .wait_timeout_while(tray, self.patience, |tray| !tray.closed);
    }
}

impl Shared {
    fn tray(&self) -> MutexGuard<'_, Batch> {
        self.tray.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Batch {
    /// About how many things something waits.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn put(&mut self, change: Change) {
        let subject = change.subject();
        if self.changes.len() >= MOST_WAITING && !self.changes.contains_key(&subject) {
            self.dropped += 1;
            return;
        }
        self.changes.insert(subject, change);
    }

    /// Changes that could not be kept come back, unless there is newer word of the same thing.
    pub(super) fn put_back(&mut self, changes: Vec<Change>) {
        for change in changes {
            self.changes.entry(change.subject()).or_insert(change);
        }
    }
}

/// The thread at the file.
struct Writer {
    desk: Arc<Shared>,
    sink: Box<dyn Backend>,
    say: watch::Sender<Option<StoreError>>,
}

impl Writer {
    fn run(mut self) {
        while let Some((changes, waiters)) = self.next() {
            let outcome = self.sink.commit(&changes);
            if outcome.is_err() {
                self.desk.tray().put_back(changes);
            }
            self.report(outcome.clone().err());
            for waiter in waiters {
                // Anyone who does not wait any more is not told.
                let _ = waiter.send(outcome.clone());
            }
        }
        self.last_try();
        let desk = Arc::clone(&self.desk);
        // Closes the file.
        drop(self);
        desk.tray().closed = true;
        desk.changed.notify_all();
    }

    /// What to keep next; none once all is done.
    fn next(&self) -> Option<(Vec<Change>, Vec<Waiter>)> {
        let mut tray = self.desk.tray();
        let mut in_trouble = self.say.borrow().is_some();
        loop {
            let asked = !tray.waiters.is_empty();
            if asked || (!tray.changes.is_empty() && !in_trouble) {
                break;
            }
            if tray.closing {
                return None;
            }
            let (next, timeout) = self
                .desk
                .changed
                .wait_timeout(tray, RETRY)
                .unwrap_or_else(PoisonError::into_inner);
            tray = next;
            in_trouble &= !timeout.timed_out();
        }
        let changes = std::mem::take(&mut tray.changes).into_values().collect();
        Some((changes, std::mem::take(&mut tray.waiters)))
    }

    /// Before the file is closed: what could not be kept until now.
    fn last_try(&mut self) {
        let changes = std::mem::take(&mut self.desk.tray().changes);
        let changes: Vec<Change> = changes.into_values().collect();
        if changes.is_empty() {
            return;
        }
        if let Err(error) = self.sink.commit(&changes) {
            tracing::error!(%error, lost = changes.len(), "state is lost");
        }
    }

    /// Says it when the file can no longer be written, and when it can again.
    fn report(&self, trouble: Option<StoreError>) {
        let before = self.say.borrow().is_some();
        match &trouble {
            Some(error) if !before => {
                tracing::debug!(%error, "state is kept in memory only until this is fixed");
            }
            None if before => {
                let dropped = std::mem::take(&mut self.desk.tray().dropped);
                tracing::info!(dropped, "state can be written again");
            }
            _ => {}
        }
        if before || trouble.is_some() {
            self.say.send_replace(trouble);
        }
    }
}
