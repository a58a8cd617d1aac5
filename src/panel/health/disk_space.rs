//! Free space of a folder's disk, read now and then by a thread of its own.
//!
//! A disk that hangs blocks every thread that accesses it, so no other thread does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Time between two readings.
const EVERY: Duration = Duration::from_secs(5);
/// A reading that takes longer means that the disk hangs.
const HANGS: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FreeSpace {
    /// Not read yet, or the system does not report it.
    Unknown,
    /// In bytes.
    Free(u64),
    /// The disk has not answered for so long.
    Silent(Duration),
}

/// Monitors a folder until all clones are dropped.
#[derive(Clone, Debug)]
pub(super) struct DiskMonitor {
    seen: Arc<Mutex<DiskReading>>,
    /// The thread ends when all clones of this are dropped.
    _end: mpsc::Sender<()>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DiskReading {
    free: Option<u64>,
    /// When the current reading began.
    begun: Option<Instant>,
}

impl DiskMonitor {
    pub(super) fn of(folder: PathBuf) -> Self {
        Self::by(move || free(&folder))
    }

    fn by(mut look: impl FnMut() -> Option<u64> + Send + 'static) -> Self {
        let (end, ended) = mpsc::channel();
        let monitor = Self {
            seen: Arc::default(),
            _end: end,
        };
        let seen = Arc::clone(&monitor.seen);
        let looking = move || {
            loop {
                seen.lock().begun = Some(Instant::now());
                let free = look();
                *seen.lock() = DiskReading { free, begun: None };
                if ended.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("disk".to_owned());
        if let Err(error) = thread.spawn(looking) {
            tracing::warn!(%error, "disk space is not monitored");
        }
        monitor
    }

    /// The last reading; accesses no disk.
    pub(super) fn room(&self) -> FreeSpace {
        self.seen.lock().room(Instant::now())
    }
}

impl DiskReading {
    fn room(self, now: Instant) -> FreeSpace {
        let asked = self.begun.map(|begun| now.saturating_duration_since(begun));
        match (asked, self.free) {
            (Some(asked), _) if asked >= HANGS => FreeSpace::Silent(asked),
            (_, Some(free)) => FreeSpace::Free(free),
            (_, None) => FreeSpace::Unknown,
        }
    }
}

/// Free bytes, if the system reports them.
fn free(folder: &Path) -> Option<u64> {
    // A missing folder would be created on the disk of its first existing parent.
    let there = folder.ancestors().find(|place| place.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_space_of_a_missing_folder_is_that_of_its_parent() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free(&folder.path().join("not/yet")).is_some());
    }

    #[test]
    fn a_hanging_disk_blocks_no_one() {
        let (look, looks) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let monitor = DiskMonitor::by(move || {
            let _ = look.send(());
            answers.recv().ok()
        });
        looks.recv().unwrap();
        assert_eq!(monitor.room(), FreeSpace::Unknown);
        let asked = monitor.seen.lock().begun.unwrap();
        let later = monitor.seen.lock().room(asked + HANGS);
        assert_eq!(later, FreeSpace::Silent(HANGS));
        answer.send(7).unwrap();
        while monitor.room() == FreeSpace::Unknown {
            std::thread::yield_now();
        }
        assert_eq!(monitor.room(), FreeSpace::Free(7));
        // The next look may be under way, and is no news before it hangs.
        let seen = DiskReading {
            free: Some(7),
            begun: Some(asked),
        };
        assert_eq!(seen.room(asked + EVERY), FreeSpace::Free(7));
    }
}
