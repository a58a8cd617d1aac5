//! The thread that owns the file: it runs what callers ask for, in turn.
//!
//! A file that failed is closed and reopened for the next job, so that a disk that has room again, or
//! a file put back, is found without a restart; so is another file in the place of one that works, as after
//! a damaged one was moved away. A job that panics has failed: its transaction is undone, and the thread continues.

use std::any::Any;
use std::fs;
use std::future::Future;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE as LEAVE_LOG;

use super::database::Database;
use crate::sqlite::{Error, Timestamp, Worker};

/// Hands jobs to the thread. Clones hand them to the same thread; it ends with the last of them.
#[derive(Clone, Debug)]
pub struct Writer {
    path: PathBuf,
    worker: Arc<Worker<OpenFile>>,
}

/// The open file with the device and inode that it was opened at; `None` before it is opened, and after it failed.
type OpenFile = Option<(Option<(u64, u64)>, Database)>;

impl Writer {
    /// Starts the thread. The file is opened for the first job.
    ///
    /// # Errors
    /// When the system provides no thread.
    pub fn start(path: &Path) -> std::io::Result<Self> {
        let worker = Arc::new(Worker::start("archive", None, Duration::MAX, |_| ())?);
        let path = path.to_owned();
        Ok(Self { path, worker })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a job on the file. Dropping the future does not cancel the job.
    ///
    /// # Errors
    /// Those of the file.
    pub fn ask<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Database) -> Result<T, Error> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send + 'static {
        let (path, file) = (self.path.clone(), self.path.clone());
        let answer = self.worker.ask(move |open: &mut OpenFile| {
            let run = || {
                let found = || fs::metadata(&file).map(|it| (it.dev(), it.ino())).ok();
                let (at, mut database) = match open.take() {
                    Some((at, database)) if at == found() => (at, database),
                    moved => {
                        // Its log went with it: one of that name is the other file's, and closing leaves it alone.
                        moved.map(|(_, it)| it.0.ask(|db| db.set_db_config(LEAVE_LOG, true)));
                        let database = Database::open(&file, Timestamp::now().as_millis())?;
                        (found(), database)
                    }
                };
                let done = job(&mut database)?;
                *open = Some((at, database));
                Ok(done)
            };
            catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
                let reason = format!("a fault of this program: {}", message(panic.as_ref()));
                tracing::error!(path = %file.display(), reason, "work at the archive failed");
                Err(Error::failed(&file, &reason))
            })
        });
        async move {
            let gone = || Err(Error::failed(&path, "its thread has exited"));
            answer.await.unwrap_or_else(gone)
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given")
}
