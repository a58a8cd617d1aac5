//! A file that grows by whole lines and survives the death of its writer at any moment.
//!
//! Each line is one write. Opening the file cuts off an incomplete last line. A second writer at the same
//! time is refused.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::error::MatchError;

/// A locked file, open at its end.
#[derive(Debug)]
pub(super) struct AppendFile {
    file: File,
    path: PathBuf,
}

impl AppendFile {
    /// Opens or creates the file; returns the text of its complete lines.
    pub(super) fn open(path: &Path) -> Result<(Self, String), MatchError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(MatchError::file(folder))?;
        }
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(MatchError::file(path))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            MatchError::Setup(format!("{} is in use by another process", path.display()))
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(MatchError::file(path))?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n');
        bytes.truncate(whole.map_or(0, |at| at + 1));
        let end = bytes.len() as u64;
        file.set_len(end)
            .and_then(|()| file.seek(SeekFrom::Start(end)))
            .map_err(MatchError::file(path))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| MatchError::Setup(format!("{} is not text", path.display())))?;
        let path = path.to_owned();
        Ok((Self { file, path }, text))
    }

    pub(super) fn append(&mut self, line: &str) -> Result<(), MatchError> {
        debug_assert!(!line.contains('\n'));
        let line = format!("{line}\n");
        self.file
            .write_all(line.as_bytes())
            .map_err(MatchError::file(&self.path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partial_last_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/lines");
        let (mut lines, text) = AppendFile::open(&path).unwrap();
        assert_eq!(text, "");
        lines.append("one").unwrap();
        lines.append("two").unwrap();
        drop(lines);
        for cut in 4..8 {
            let whole = fs::read(&path).unwrap();
            fs::write(&path, &whole[..cut]).unwrap();
            let (mut lines, text) = AppendFile::open(&path).unwrap();
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
        let (first, _) = AppendFile::open(&path).unwrap();
        let error = AppendFile::open(&path).unwrap_err().to_string();
        assert!(error.contains("in use"), "{error}");
        drop(first);
        AppendFile::open(&path).unwrap();
    }
}
