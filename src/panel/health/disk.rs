//! How much room a folder has.

use std::path::Path;

/// Bytes that may still be written there; none where the system does not tell.
#[cfg(unix)]
pub(super) fn free(folder: &Path) -> Option<u64> {
    // What does not exist yet is made on the disk of the first folder above that does.
    let there = folder.ancestors().find(|place| place.exists())?;
    let disk = rustix::fs::statvfs(there).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
pub(super) fn free(_: &Path) -> Option<u64> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_still_to_be_made_has_room_too() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free(&folder.path().join("not/yet")).is_some());
    }
}
