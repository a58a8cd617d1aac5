//! Why a contest could not be held.

use std::io;
use std::path::{Path, PathBuf};

/// A contest that cannot be played as asked, or that broke.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// What was asked cannot work; the text says what would.
    #[error("{0}")]
    Setup(String),
    /// A player cannot be started, or not any more.
    #[error("player {name} does not start: {reason}")]
    Player {
        /// The player as it was given.
        name: String,
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {error}")]
    File {
        path: PathBuf,
        /// What the system says.
        #[source]
        error: io::Error,
    },
}

impl MatchError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::File { path, error }
    }
}
