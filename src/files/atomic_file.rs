//! Atomic files, written under a temporary name and renamed.
//!
//! A kill at any moment leaves the old file or the new one, and perhaps the temporary one, which the
//! next write to the same path takes over. A second writer at the same time is refused. Links stay, and
//! the file that they lead to is replaced; a device, a pipe, or a file that is open is written to directly.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

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
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let temporary = (!is_special(path)).then(|| target.with_added_extension("part"));
        let file = match &temporary {
            Some(_) if target.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Some(temporary) => begin(temporary)?,
            None => File::options().append(true).open(path)?,
        };
        Ok(Self {
            file: BufWriter::new(file),
            path: target,
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

/// Whether this is a device, a pipe, or a file that is already open, as `/dev/stdout` may be.
fn is_special(path: &Path) -> bool {
    let [proc, dev, shm] = ["/proc", "/dev", "/dev/shm"].map(|it| path.starts_with(it));
    proc || dev && !shm || fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

/// Creates a temporary file, or empties the one that a killed writer left.
fn begin(temporary: &Path) -> io::Result<File> {
    // What an old link leads to must stay as it is.
    let _ = temporary.is_symlink().then(|| fs::remove_file(temporary));
    let file = File::options().append(true).create(true).open(temporary)?;
    // A file system without locks is no reason not to write.
    let is_free = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    let own = file.metadata()?.ino();
    // Another writer may have given its file the final name since this one opened it.
    if is_free && fs::symlink_metadata(temporary).is_ok_and(|it| it.ino() == own) {
        file.set_len(0)?;
        return Ok(file);
    }
    let why = "another process is writing this file";
    Err(io::Error::new(ErrorKind::ResourceBusy, why))
}

/// Fails if a file could not be written at this path, and leaves everything as it is.
pub fn check_writable(path: &Path) -> io::Result<()> {
    if is_special(path) {
        return Ok(());
    }
    AtomicFile::create(path).map(drop)
}

/// Fails if `out` leads to one of the files that it is made from, however the paths are written; they need
/// not be there yet.
pub fn check_apart(
    out: &Path,
    sources: impl IntoIterator<Item = impl AsRef<Path>>,
) -> io::Result<()> {
    let place = |path: &Path| {
        let folder = || fs::canonicalize(Path::new(".").join(path.parent()?)).ok();
        let place = fs::canonicalize(path).ok();
        place.or_else(|| Some(folder()?.join(path.file_name()?)))
    };
    let (own, mut sources) = (place(out), sources.into_iter());
    if own.is_some() && sources.any(|source| place(source.as_ref()) == own) {
        let why = "this very file is used here: name another";
        return Err(io::Error::new(ErrorKind::AlreadyExists, why));
    }
    Ok(())
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
        fs::write(&file, "earlier, ").unwrap();
        let open = File::options().append(true).open(&file).unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&open);
        let opened = PathBuf::from(format!("/proc/self/fd/{number}"));
        write_whole(&opened, |file| file.write_all(b"later")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "earlier, later");
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
    fn a_second_writer_is_refused_and_what_a_killed_one_left_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let [path, part] = ["a", "a.part"].map(|name| folder.path().join(name));
        fs::write(&part, "of a killed writer").unwrap();
        let mut first = AtomicFile::create(&path).unwrap();
        first.write_all(b"first").unwrap();
        let refused = AtomicFile::create(&path).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ResourceBusy);
        assert_eq!(check_writable(&path).unwrap_err().kind(), refused.kind());
        first.commit().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        write_whole(&path, |file| file.write_all(b"second")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(names(folder.path()), ["a"]);
    }

    #[test]
    fn a_path_that_cannot_be_written_is_found_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("there"), "old").unwrap();
        check_writable(&path("there")).unwrap();
        check_writable(&path("new")).unwrap();
        check_writable(Path::new("/dev/null")).unwrap();
        assert_eq!(names(folder.path()), ["there"]);
        assert_eq!(fs::read_to_string(path("there")).unwrap(), "old");
        for wrong in [
            folder.path().to_owned(),
            path("missing/new"),
            path("there/new"),
        ] {
            check_writable(&wrong).unwrap_err();
        }
    }

    #[test]
    fn one_file_is_found_behind_every_spelling() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("there"), "").unwrap();
        fs::create_dir(path("inside")).unwrap();
        std::os::unix::fs::symlink(path("there"), path("link")).unwrap();
        for (out, source, is_apart) in [
            ("there", "./there", false),
            ("there", "inside/../there", false),
            ("link", "there", false),
            ("new", "inside/../new", false),
            ("there", "new", true),
            ("missing/new", "missing/new", true),
            ("inside/new", "new", true),
        ] {
            let checked = check_apart(&path(out), [path("other"), path(source)]);
            assert_eq!(checked.is_ok(), is_apart, "{out}, {source}");
        }
        let here = std::env::current_dir().unwrap().join("no such file");
        check_apart(Path::new("no such file"), [here]).unwrap_err();
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
