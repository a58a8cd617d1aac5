//! The thread at the file: what is to be done there waits in a row, and whoever asks may wait too.
//!
//! A file that failed is closed and opened anew for the next piece of work, so that a disk that has
//! room again, or a file put back, is found without a restart. Nothing is ever replaced.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::SystemTime;

use tokio::sync::oneshot;

use super::disk::Disk;
use super::error::ArchiveError;
use super::record::Millis;

/// A piece of work; false if the file is better opened anew.
type Work = Box<dyn FnOnce(Result<&mut Disk, ArchiveError>) -> bool + Send>;

/// Where work at the file is handed in. Clones hand in to the same thread; it ends with the last.
#[derive(Clone, Debug)]
pub struct Clerk {
    path: PathBuf,
    work: mpsc::Sender<Work>,
}

impl Clerk {
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

    /// Has something done at the file. What comes back is done once that is; whoever drops it does
    /// not call the work off.
    ///
    /// # Errors
    /// Those of the file.
    pub fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Disk) -> Result<T, ArchiveError> + Send + 'static,
    ) -> impl Future<Output = Result<T, ArchiveError>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        let work = move |disk: Result<&mut Disk, ArchiveError>| {
            let done = disk.and_then(work);
            let sound = done.is_ok();
            // Whoever does not wait any more is not told.
            let _ = answer.send(done);
            sound
        };
        let path = self.path.clone();
        let handed_in = self.work.send(Box::new(work)).is_ok();
        async move {
            let gone = || ArchiveError::Failed {
                path,
                reason: "its thread has ended".to_owned(),
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
            None => Disk::open(path, now()),
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

fn now() -> Millis {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| {
        Millis::try_from(now.as_millis()).unwrap_or(Millis::MAX)
    })
}
