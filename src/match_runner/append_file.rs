//! A file that grows by whole lines and survives the death of its writer at any moment.
//!
//! Each line is one write, of which nothing stays if it fails: the file ends with a whole line on a full disk
//! too. Opening the file cuts off an incomplete last line, but only once its reader has recognized the
//! file: one that is not ours stays as it is. A second writer at the same time is refused.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::error::MatchError;

/// A locked file, open at its end.
#[derive(Debug)]
pub(super) struct AppendFile {
    file: File,
    path: PathBuf,
}

/// What a file holds when it is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Contents<'a> {
    /// Its complete lines.
    pub(super) lines: &'a str,
    /// What follows the last of them.
    pub(super) rest: &'a [u8],
}

impl Contents<'_> {
    /// Whether the file is empty, or its writer died in the middle of its first line, this one.
    pub(super) fn is_new(&self, first: &str) -> bool {
        self.lines.is_empty() && first.as_bytes().starts_with(self.rest)
    }
}

impl Drop for AppendFile {
    fn drop(&mut self) {
        // A process that is just being started holds a copy of the descriptor, with which the lock would last.
        let _ = self.file.unlock();
    }
}

impl AppendFile {
    /// Opens or creates the file, and reads it by `read`. If that fails, the file is left alone.
    pub(super) fn open<T>(
        path: &Path,
        read: impl FnOnce(Contents<'_>) -> Result<T, MatchError>,
    ) -> Result<(Self, T), MatchError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(MatchError::file(folder))?;
        }
        let mut file = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .map_err(MatchError::file(path))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                MatchError::Setup(format!("{} is in use by another process", path.display()))
            }
            TryLockError::Error(error) => MatchError::file(path)(error),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(MatchError::file(path))?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n');
        let (lines, rest) = bytes.split_at(whole.map_or(0, |at| at + 1));
        // Its reader judges a line that is not text like any other damaged line.
        let text = String::from_utf8_lossy(lines);
        let read = read(Contents { lines: &text, rest })?;
        file.set_len(lines.len() as u64)
            .map_err(MatchError::file(path))?;
        let path = path.to_owned();
        Ok((Self { file, path }, read))
    }

    pub(super) fn append(&mut self, line: &str) -> Result<(), MatchError> {
        debug_assert!(!line.contains('\n'));
        let line = format!("{line}\n");
        let before = self.file.metadata().map(|it| it.len());
        let written = self.file.write_all(line.as_bytes());
        if let (Err(_), Ok(before)) = (&written, before) {
            // The error that counts is that of the write.
            let _ = self.file.set_len(before);
        }
        written.map_err(MatchError::file(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path) -> Result<(AppendFile, String), MatchError> {
        AppendFile::open(path, |contents| Ok(contents.lines.to_owned()))
    }

    #[test]
    fn a_file_that_is_not_ours_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("diary");
        for bytes in [&b"no end"[..], b"one\nno end", b"one\n\xff\n?"] {
            fs::write(&path, bytes).unwrap();
            let refused = |_: Contents<'_>| -> Result<(), MatchError> {
                Err(MatchError::Setup("not ours".to_owned()))
            };
            AppendFile::open(&path, refused).unwrap_err();
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn a_partial_last_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/lines");
        let (mut lines, text) = open(&path).unwrap();
        assert_eq!(text, "");
        lines.append("one").unwrap();
        lines.append("two").unwrap();
        drop(lines);
        for cut in 4..8 {
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut lines, text) = open(&path).unwrap();
            assert_eq!(text, "one\n", "{cut}");
            lines.append("two").unwrap();
            drop(lines);
            assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
        }
    }

    #[test]
    fn two_writers_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let (first, _) = open(&path).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
        drop(first);
        open(&path).unwrap();
    }

    #[test]
    fn a_copy_of_the_descriptor_keeps_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let (first, _) = open(&path).unwrap();
        let _copy = first.file.try_clone().unwrap();
        drop(first);
        open(&path).unwrap();
    }
}
