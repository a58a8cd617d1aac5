//! What can be wrong with the data folder, and what the operator can do about it.
//!
//! Texts only; nothing in the folder is ever deleted or overwritten because of an error.

use std::path::PathBuf;

use thiserror::Error;

/// Why state cannot be kept.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// The folder cannot be made or written.
    #[error("cannot use the data folder {}: {reason}", path.display())]
    Folder {
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Another process keeps its state there.
    #[error(
        "the data folder {} is in use by {}: stop it first, or give this bot another [data] folder",
        path.display(),
        pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
    )]
    Locked {
        path: PathBuf,
        /// Who, if the lock tells.
        pid: Option<u32>,
    },
    /// The file was written by a later program.
    #[error(
        "{} was written by a later version of this program (format {found}, known up to {known}): \
         use that version, or give this one another [data] folder",
        path.display()
    )]
    Newer {
        path: PathBuf,
        found: u32,
        /// The latest format this program knows.
        known: u32,
    },
    /// The file cannot be read.
    #[error(
        "{} is damaged or not a file of this program ({reason}): restore a copy, or move it and {}-wal away to start with empty state (today's bot games are then counted from 0)",
        path.display(),
        path.display()
    )]
    Damaged { path: PathBuf, reason: String },
    /// The file cannot be written at the moment.
    #[error("cannot write {}: {reason}", path.display())]
    Unwritable { path: PathBuf, reason: String },
    /// The disk takes too long.
    #[error("the disk has not responded for {0} s")]
    Slow(u64),
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}
