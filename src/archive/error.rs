//! What can be wrong with the archive, and what the operator can do about it.
//!
//! Texts only; no file is ever deleted or replaced because of an error.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

/// Why games cannot be kept or looked up.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArchiveError {
    #[error("there is no archive {}: a bot that runs with this config creates it", .0.display())]
    Missing(PathBuf),
    /// The file was written by a later program.
    #[error(
        "{} was written by a later version of this program (format {found}, known up to {known}): \
         use that version, or move the file away",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        /// The latest format this program knows.
        known: u32,
    },
    /// The file is of an earlier format, and only a bot that runs may change it.
    #[error(
        "{} is of an earlier format ({found} of {known}): it is migrated when the bot runs, or by `megaton import`",
        path.display()
    )]
    Older {
        path: PathBuf,
        found: u32,
        /// The format of this program.
        known: u32,
    },
    /// The file cannot be read.
    #[error(
        "{} is damaged or not an archive of this program ({reason}): restore a backup, or move it and {}-wal away to start a new one",
        path.display(),
        path.display()
    )]
    Damaged { path: PathBuf, reason: String },
    /// Something did not work this time.
    #[error("cannot use {}: {reason}", path.display())]
    Failed { path: PathBuf, reason: String },
}

impl ArchiveError {
    /// What an error of `SQLite` means for this file.
    pub(super) fn of(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, reason }
            }
            _ => Self::Failed { path, reason },
        }
    }

    /// The same for an error of the file system.
    pub(super) fn of_io(path: &Path, error: &io::Error) -> Self {
        Self::Failed {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    }

    /// Whether trying again later may help: a full disk may be emptied, a damaged file stays so.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}
