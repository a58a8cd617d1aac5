//! The file of explored positions: one line of JSON each, appended as they come.
//!
//! A damaged line is named and skipped. A file that is not ours, or of a later version, is never written
//! to; then the positions live in memory only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::candidates::{CandidateSet, ExploredPosition};
use crate::files::write_whole;

/// The first line.
const HEADER: &str = r#"{"file":"megaton explorer","version":1}"#;
/// The file is written anew once it holds this many times the positions that are kept.
const SLACK: usize = 4;

/// An open file.
#[derive(Debug)]
pub(super) struct CandidateFile {
    path: PathBuf,
    /// None if it must not or cannot be written.
    file: Option<File>,
}

impl CandidateFile {
    /// Opens or creates a file, and reads its positions into `set`.
    pub(super) fn open(path: &Path, set: &mut CandidateSet) -> Self {
        let closed = Self {
            path: path.to_owned(),
            file: None,
        };
        let text = match fs::read(path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                closed.warn("cannot be read", &error);
                return closed;
            }
        };
        let mut lines = text.lines();
        if !text.is_empty() && lines.next() != Some(HEADER) {
            tracing::error!(
                path = %path.display(),
                "is not a file of explored positions of this version: it stays as it is, and the \
                 explorer keeps its positions in memory"
            );
            return closed;
        }
        let mut read = 0;
        for (number, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
            match serde_json::from_str::<ExploredPosition>(line) {
                Ok(position) => {
                    set.put(position);
                    read += 1;
                }
                Err(error) => tracing::warn!(
                    path = %path.display(), line = number + 2, %error,
                    "a damaged line of explored positions is skipped"
                ),
            }
        }
        let is_whole = text.is_empty() || text.ends_with('\n');
        let opened = if text.is_empty() || read > set.len() * SLACK || !is_whole {
            rewrite(path, set)
        } else {
            OpenOptions::new().append(true).open(path)
        };
        let opened = opened.inspect_err(|error| closed.warn("cannot be written", error));
        Self {
            file: opened.ok(),
            ..closed
        }
    }

    /// Appends a position. After an error the file must be opened again, and this is `None`.
    pub(super) fn append(&mut self, position: &ExploredPosition) -> Option<()> {
        let file = self.file.as_mut()?;
        let mut line = serde_json::to_string(position).ok()?;
        line.push('\n');
        if let Err(error) = file.write_all(line.as_bytes()) {
            self.file = None;
            self.warn("cannot be written", &error);
        }
        self.file.is_some().then_some(())
    }

    fn warn(&self, what: &str, error: &io::Error) {
        tracing::warn!(path = %self.path.display(), %error, "the file of explored positions {what}");
    }
}

/// Writes a new file in place of the old one, which stays whole until then.
fn rewrite(path: &Path, set: &CandidateSet) -> io::Result<File> {
    let mut text = format!("{HEADER}\n");
    for position in set.iter() {
        text.push_str(&serde_json::to_string(position)?);
        text.push('\n');
    }
    write_whole(path, |file| file.write_all(text.as_bytes()))?;
    OpenOptions::new().append(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lookup::candidates::ExploredKey;
    use crate::rules::Position;

    fn explored(at: u64) -> ExploredPosition {
        ExploredPosition {
            key: ExploredKey::new(&Position::default(), None),
            at,
            moves: Vec::new(),
            checked: None,
        }
    }

    fn reopened(path: &Path) -> (CandidateSet, CandidateFile) {
        let mut set = CandidateSet::new(10);
        let file = CandidateFile::open(path, &mut set);
        (set, file)
    }

    #[test]
    fn positions_survive_and_a_file_that_grew_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("explorer.jsonl");
        let (_, mut file) = reopened(&path);
        for at in 0..20 {
            file.append(&explored(at));
        }
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 21);
        let (set, _file) = reopened(&path);
        assert_eq!(set.iter().map(|it| it.at).collect::<Vec<_>>(), [19]);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
    }

    #[test]
    fn a_file_cut_at_any_byte_costs_its_last_line_at_most() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("explorer.jsonl");
        let (_, mut file) = reopened(&path);
        file.append(&explored(7));
        let whole = fs::read(&path).unwrap();
        for cut in HEADER.len() + 1..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let (set, mut file) = reopened(&path);
            // Only its end of line may be missing.
            assert!(set.is_empty() || cut == whole.len() - 1, "{cut}");
            file.append(&explored(8));
            let (set, _) = reopened(&path);
            assert_eq!(set.iter().last().unwrap().at, 8, "{cut}");
        }
    }

    #[test]
    fn a_file_of_another_kind_or_version_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("explorer.jsonl");
        for text in ["my notes\n", &HEADER.replace('1', "2")] {
            fs::write(&path, text).unwrap();
            let (set, mut file) = reopened(&path);
            file.append(&explored(8));
            assert!(set.is_empty());
            assert_eq!(fs::read_to_string(&path).unwrap(), *text);
        }
    }
}
