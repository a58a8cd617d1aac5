//! Errors of a match.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Why a match cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum MatchError {
    /// The request cannot work; the text says what would.
    #[error("{0}")]
    Setup(String),
    /// A player cannot be started or restarted.
    #[error("player {name} does not start: {reason}")]
    Player { name: String, reason: String },
    #[error("the engine panicked at {0}: this is a bug")]
    Engine(String),
    #[error("{path}: {error}")]
    File {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

impl MatchError {
    pub(super) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |error| Self::File { path, error }
    }

    /// Does the work of an engine; its panic is an error that names the place.
    pub(super) fn catch<T>(place: &str, work: impl FnOnce() -> T) -> Result<T, Self> {
        catch_unwind(AssertUnwindSafe(work)).map_err(|_| Self::Engine(place.to_owned()))
    }
}
