//! Atomic files, written under a temporary name and renamed.
//!
//! A kill at any moment leaves the old file or the new one, and perhaps the temporary one, which the
//! next write to the same path replaces.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The buffer of a file being written.
const BUFFER: usize = 1 << 20;

/// A file being written. Dropping it before [`AtomicFile::commit`] leaves the old file alone.
#[derive(Debug)]
pub struct AtomicFile {
    file: BufWriter<File>,
    path: PathBuf,
    /// The file's name until it is complete; none once it has its own.
    temporary: Option<PathBuf>,
}

impl AtomicFile {
    /// Begins a file that is to replace the one at this path.
    pub fn create(path: &Path) -> io::Result<Self> {
        let temporary = path.with_added_extension("part");
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER, File::create(&temporary)?),
            path: path.to_owned(),
            temporary: Some(temporary),
        })
    }

    /// Writes the file through to the disk and gives it its name.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        if let Some(temporary) = &self.temporary {
            fs::rename(temporary, &self.path)?;
        }
        self.temporary = None;
        Ok(())
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // An incomplete file is of no use, and the error that caused it is reported already.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// Writes a file in one go.
pub fn write_whole(
    path: &Path,
    write_to: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = AtomicFile::create(path)?;
    write_to(&mut file)?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<String> = entries
            .map(|entry| name(entry).to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_replaced_once_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.book");
        fs::write(&path, "old").unwrap();
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        file.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(folder.path()), ["a.book"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.book");
        fs::write(&path, "old").unwrap();
        let failed = write_whole(&path, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        // A folder cannot be replaced by a file.
        let taken = folder.path().join("taken");
        fs::create_dir_all(taken.join("inside")).unwrap();
        assert!(write_whole(&taken, |file| file.write_all(b"new")).is_err());
        assert_eq!(names(folder.path()), ["a.book", "taken"]);
    }
}
