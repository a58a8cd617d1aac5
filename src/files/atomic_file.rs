//! Atomic files, written under a temporary name and renamed.
//!
//! A kill at any moment leaves the old file or the new one, and perhaps the temporary one, which the
//! next write to the same path replaces. Links stay, and the file that they lead to is replaced; a
//! device or a pipe is written to directly.

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
    /// The file's name until it is complete; none once it has its own, or for what is not a file.
    temporary: Option<PathBuf>,
}

impl AtomicFile {
    /// Begins a file that is to replace the one at this path.
    pub fn create(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let special = fs::metadata(&path).is_ok_and(|it| !it.is_file() && !it.is_dir());
        let temporary = (!special).then(|| path.with_added_extension("part"));
        // An old one may be a link, and what that leads to must stay as it is.
        let _ = temporary.as_ref().map(fs::remove_file);
        let new = temporary.as_ref().map(File::create_new);
        let file = new.unwrap_or_else(|| File::create(&path))?;
        Ok(Self {
            file: BufWriter::with_capacity(BUFFER, file),
            path,
            temporary,
        })
    }

    /// Writes the file through to the disk and gives it its name.
    pub fn commit(mut self) -> io::Result<()> {
        self.file.flush()?;
        if let Some(temporary) = &self.temporary {
            self.file.get_ref().sync_all()?;
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
    fn links_stay_and_what_is_not_a_file_is_written_to() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, pipe] = ["file", "link", "pipe"].map(|name| folder.path().join(name));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole(&link, |file| file.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, mode).unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read_to_string(pipe).unwrap()
        });
        write_whole(&pipe, |file| file.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), "through");
        assert_eq!(names(folder.path()), ["file", "link", "pipe"]);
    }

    #[test]
    fn a_link_with_the_temporary_name_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let [path, part, other] = ["a", "a.part", "other"].map(|name| folder.path().join(name));
        fs::write(&other, "untouched").unwrap();
        std::os::unix::fs::symlink(&other, &part).unwrap();
        write_whole(&path, |file| file.write_all(b"new")).unwrap();
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_to_string(&other).unwrap(), "untouched");
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
