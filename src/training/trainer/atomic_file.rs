//! Atomic files, written under a temporary name and renamed.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::error::TrainError;

/// Writes a file; a kill at any moment leaves the old file or the new one.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    let part = beside(path, "part");
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().map_err(TrainError::writing(path))
}

/// The path of another file with this extension appended.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}
