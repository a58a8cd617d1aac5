//! Errors of a config: one message with line, key and remedy.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a config could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the config {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file was read and refused.
    #[error("{}:{fault}", path.display())]
    Refused {
        path: PathBuf,
        /// The error and its place.
        fault: Fault,
    },
}

/// One error and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The section and key, such as `[engine] hash`; empty for a TOML syntax error.
    pub key: String,
    /// The error and the remedy.
    pub what: String,
}

impl Fault {
    /// The error without its line, for settings that stand in no file yet.
    pub fn without_line(&self) -> String {
        match self.key.as_str() {
            "" => self.what.clone(),
            key => format!("{key}: {}", self.what),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.without_line())
    }
}
