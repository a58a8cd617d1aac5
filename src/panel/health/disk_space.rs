//! How much room a folder has, looked at now and then by a thread of its own.
//!
//! A disk that hangs holds anyone who asks it anything. No one but this thread does: not the threads
//! that games are played on, and no probe, however often it comes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// From one look to the next.
const EVERY: Duration = Duration::from_secs(5);
/// A look that takes longer hangs.
const HANGS: Duration = Duration::from_secs(30);

/// What is known of the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FreeSpace {
    /// No one has looked yet, or the system does not tell.
    Unknown,
    /// Bytes that may still be written there.
    Free(u64),
    /// The disk has been asked for so long and does not answer.
    Silent(Duration),
}

/// Looks at a folder for as long as there is a clone of it.
#[derive(Clone, Debug)]
pub(super) struct DiskMonitor {
    seen: Arc<Mutex<DiskReading>>,
    /// The thread ends when the last of these goes.
    _end: mpsc::Sender<()>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DiskReading {
    free: Option<u64>,
    /// When the look under way began.
    begun: Option<Instant>,
}

impl DiskMonitor {
    /// Looks at the disk of this folder.
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
                lock(&seen).begun = Some(Instant::now());
                let free = look();
                *lock(&seen) = DiskReading { free, begun: None };
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

    /// What the last look found; asks no one.
    pub(super) fn room(&self) -> FreeSpace {
        lock(&self.seen).room(Instant::now())
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

fn lock(seen: &Mutex<DiskReading>) -> MutexGuard<'_, DiskReading> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes that may still be written there; none where the system does not tell.
#[cfg(unix)]
fn free(folder: &Path) -> Option<u64> {
    // What does not exist yet is made on the disk of the first folder above that does.
    let there = folder.ancestors().find(|place| place.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_folder_that_is_still_to_be_made_has_room_too() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free(&folder.path().join("not/yet")).is_some());
    }

    #[test]
    fn a_disk_that_hangs_keeps_nobody_waiting() {
        let (look, looks) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let monitor = DiskMonitor::by(move || {
            let _ = look.send(());
            answers.recv().ok()
        });
        looks.recv().unwrap();
        assert_eq!(monitor.room(), FreeSpace::Unknown);
        let asked = lock(&monitor.seen).begun.unwrap();
        let later = lock(&monitor.seen).room(asked + HANGS);
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
