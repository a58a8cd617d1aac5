//! One process per data folder: a lock that the system releases when its holder dies.
//!
//! The file stays behind on purpose and names its last holder; only the lock on it counts.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::sqlite::Error;

const LOCK_FILE: &str = "lock";

/// Holds the folder until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child process between fork and exec has a copy of the descriptor,
        // and the lock lasts until the last copy is closed (flock(2)).
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lock {
    /// Locks the folder, which is created if missing. Only this user can enter it: it holds chat and names.
    pub(super) fn take(folder: &Path) -> Result<Self, Error> {
        let unusable = |reason: String| Error::Folder {
            path: folder.to_owned(),
            reason,
        };
        fs::create_dir_all(folder).map_err(|error| unusable(error.to_string()))?;
        // It may come from a version that left it open. A folder of another user stays as it is.
        let _ = fs::set_permissions(folder, Permissions::from_mode(0o700));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join(LOCK_FILE))
            .map_err(|error| unusable(format!("{LOCK_FILE}: {error}")))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::Locked {
                    path: folder.to_owned(),
                    pid: holder(&mut file),
                });
            }
            Err(error) => return Err(unusable(format!("{LOCK_FILE}: {error}"))),
        }
        // The number may not fit on a full disk; the lock holds all the same.
        if let Err(error) = sign(&mut file) {
            tracing::warn!(%error, "cannot write our process number into the lock file");
        }
        Ok(Self { file })
    }
}

fn sign(file: &mut File) -> std::io::Result<()> {
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    writeln!(file, "{}", std::process::id())
}

/// The holder, if the file names it: the process may be about to write its number.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_locked_once_and_the_error_names_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/data");
        let lock = Lock::take(&path).unwrap();
        let refused = Lock::take(&path).unwrap_err();
        let pid = Some(std::process::id());
        assert_eq!(
            refused,
            Error::Locked {
                path: path.clone(),
                pid
            }
        );
        let text = refused.to_string();
        assert!(
            text.contains(&format!("process {}", std::process::id())),
            "{text}"
        );
        drop(lock);
        Lock::take(&path).unwrap();
    }

    #[test]
    fn a_dropped_lock_is_free_although_a_child_process_has_a_copy_of_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        let _inherited = lock.file.try_clone().unwrap();
        drop(lock);
        Lock::take(folder.path()).unwrap();
    }

    #[test]
    fn a_garbage_lock_file_does_not_matter() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LOCK_FILE), [0xff; 99]).unwrap();
        let lock = Lock::take(folder.path()).unwrap();
        fs::write(folder.path().join(LOCK_FILE), [0xff; 99]).unwrap();
        let refused = Lock::take(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("another process"), "{refused}");
        drop(lock);
    }

    #[test]
    fn only_its_user_can_enter_a_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        let _lock = Lock::take(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_cannot_be_created_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let refused = Lock::take(&file.join("data")).unwrap_err();
        assert!(matches!(&refused, Error::Folder { .. }), "{refused}");
        assert!(refused.to_string().contains("file/data"), "{refused}");
    }
}
