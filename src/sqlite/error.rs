//! What can be wrong with a file, and what the operator can do about it.
//!
//! Texts only; no file is ever deleted or replaced because of an error.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use thiserror::Error;

use super::schema::FileKind;

/// Why a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// There is no file to read. Only the archive is opened for reading alone.
    #[error("there is no archive {}: a running bot creates its own in its [data] folder", .0.display())]
    Missing(PathBuf),
    /// The folder cannot be created or written.
    #[error("cannot use the data folder {}: {reason}", path.display())]
    Folder { path: PathBuf, reason: String },
    /// Another process uses the folder.
    #[error(
        "the data folder {} is in use by {}: stop it first, or give this bot another [data] folder",
        path.display(),
        pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    Locked {
        path: PathBuf,
        /// The other process, if the lock file names it.
        pid: Option<u32>,
    },
    /// A later version of this program wrote the file.
    #[error(
        "{} was written by a later version of this program (format {found}, known up to {known}): \
         use that version, or {remedy}",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        /// The latest format of this program.
        known: u32,
        remedy: &'static str,
    },
    /// The file has an earlier format, and a reader may not migrate it.
    #[error(
        "{} is of an earlier format ({found} of {known}): it is migrated when the bot runs, or by `megaton import`",
        path.display()
    )]
    Older {
        path: PathBuf,
        found: u32,
        /// The latest format of this program.
        known: u32,
    },
    /// The content cannot be read.
    #[error(
        "{} is damaged or not {} ({reason}): move it, {}-wal and {}-shm away; then restore a {}, or {}",
        path.display(), kind.name, path.display(), path.display(), kind.backup, kind.fresh
    )]
    Damaged {
        path: PathBuf,
        reason: String,
        kind: &'static FileKind,
    },
    /// Writing failed this time.
    #[error("cannot write {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
    /// Something else failed this time.
    #[error("cannot use {}: {reason}", path.display())]
    Failed { path: PathBuf, reason: String },
    #[error("the disk has not responded for {0} s")]
    Slow(u64),
    #[error("the store is closed")]
    Closed,
}

impl Error {
    pub fn failed(path: &Path, reason: &str) -> Self {
        Self::Failed {
            path: path.to_owned(),
            reason: reason.to_owned(),
        }
    }

    pub(super) fn damaged(kind: &'static FileKind, path: &Path, reason: &str) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            reason: reason.to_owned(),
            kind,
        }
    }

    /// The meaning of an error in a file that was opened before.
    pub(super) fn in_use(kind: &'static FileKind, path: &Path, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::damaged(kind, path, &error.to_string())
            }
            _ => Self::failed(path, &error.to_string()),
        }
    }

    /// Whether a later attempt may succeed: a full disk may be emptied, a damaged file stays damaged.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}
