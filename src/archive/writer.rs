//! The thread at the file: what is to be done there waits in a row, and anyone who asks may wait too.
//!
//! A file that failed is closed and reopened for the next piece of work, so that a disk that has
//! room again, or a file put back, is found without a restart. Nothing is ever replaced. Work that
//! panics is work that failed: its transaction is undone, and the thread continues.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::SystemTime;

use tokio::sync::oneshot;

use super::database::Database;
use super::error::ArchiveError;
use super::record::Millis;

/// A piece of work; false if the file is better reopened.
type Work = Box<dyn FnOnce(Result<&mut Database, ArchiveError>) -> bool + Send>;

/// Where work at the file is handed in. Clones hand in to the same thread; it ends with the last.
#[derive(Clone, Debug)]
pub struct Writer {
    path: PathBuf,
    work: mpsc::Sender<Work>,
}

impl Writer {
    /// A thread at this file. The file is opened when there is work.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(path: &Path) -> std::io::Result<Self> {
        let (hand_in, work) = mpsc::channel();
        let at = path.to_owned();
        thread::Builder::new()
            .name("archive".into())
            .spawn(move || serve(&at, &work))?;
        Ok(Self {
            path: path.to_owned(),
            work: hand_in,
        })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has something done at the file. What comes back is done once that is; anyone who drops it does
    /// not call the work off.
    ///
    /// # Errors
    /// Those of the file.
    pub fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Database) -> Result<T, ArchiveError> + Send + 'static,
    ) -> impl Future<Output = Result<T, ArchiveError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        let at = self.path.clone();
        let work = move |disk: Result<&mut Database, ArchiveError>| {
            let done = disk.and_then(|disk| caught(&at, || work(disk)));
            let sound = done.is_ok();
            // Anyone who does not wait any more is not told.
            let _ = answer.send(done);
            sound
        };
        let path = self.path.clone();
        let handed_in = self.work.send(Box::new(work)).is_ok();
        async move {
            let gone = || ArchiveError::Failed {
                path,
                reason: "its thread has exited".to_owned(),
            };
            if !handed_in {
                return Err(gone());
            }
            answered.await.unwrap_or_else(|_| Err(gone()))
        }
    }
}

fn serve(path: &Path, work: &mpsc::Receiver<Work>) {
    let mut open = None;
    for work in work {
        let disk = match open.take() {
            Some(disk) => Ok(disk),
            None => caught(path, || Database::open(path, now())),
        };
        match disk {
            Ok(mut disk) => {
                if work(Ok(&mut disk)) {
                    open = Some(disk);
                }
            }
            Err(error) => {
                work(Err(error));
            }
        }
    }
}

/// Does it; a panic is an error of the file.
fn caught<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, ArchiveError>,
) -> Result<T, ArchiveError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let reason = format!("a fault of this program: {}", said(panic.as_ref()));
        tracing::error!(path = %path.display(), reason, "work at the archive failed");
        Err(ArchiveError::Failed {
            path: path.to_owned(),
            reason,
        })
    })
}

/// What a panic says of itself.
fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given")
}

fn now() -> Millis {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| {
        Millis::try_from(now.as_millis()).unwrap_or(Millis::MAX)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::archive::ArchiveEntry;
    use crate::archive::tests::{game, ground};

    #[tokio::test]
    async fn work_that_panics_is_undone_and_the_next_is_done() {
        let (_folder, path) = ground();
        let clerk = Writer::start(&path).unwrap();
        let entry = ArchiveEntry::Game(Arc::new(game("abcdefgh", 1, "Nuke")));
        clerk.ask(move |disk| disk.commit(&[entry])).await.unwrap();
        let failed = clerk.ask(|disk| {
            disk.change(|batch| -> rusqlite::Result<()> {
                batch.execute("DELETE FROM game", [])?;
                panic!("an injected fault")
            })
        });
        let error = failed.await.unwrap_err();
        let told = error.to_string();
        assert!(error.may_pass(), "{error:?}");
        assert!(
            told.contains("a fault of this program: an injected fault"),
            "{told}"
        );
        let kept = clerk.ask(|disk| disk.game("abcdefgh")).await.unwrap();
        assert!(kept.is_some(), "what was half done is undone");
    }
}
