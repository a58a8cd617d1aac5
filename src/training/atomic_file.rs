//! Atomic files, written under a temporary name and renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The buffer of a file being written.
const BUFFER: usize = 1 << 20;

/// Writes a file; a kill at any moment leaves the old file or the new one.
pub(super) fn write_whole(
    path: &Path,
    write_to: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> io::Result<()> {
    let part = beside(path, "part");
    let write = || {
        let mut file = BufWriter::with_capacity(BUFFER, File::create(&part)?);
        write_to(&mut file)?;
        file.flush()?;
        file.get_ref().sync_all()?;
        fs::rename(&part, path)
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// The path of another file with this extension appended.
pub(super) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}
