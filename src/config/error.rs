//! What is wrong with a config, said once and in full.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why there is no config.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the config {}: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read and refused.
    #[error("{}:{fault}", path.display())]
    Refused {
        path: PathBuf,
        /// What is wrong in it.
        fault: Fault,
    },
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The line, from 1.
    pub line: usize,
    /// The section and key, such as `[engine] hash`; empty when it is about the TOML itself.
    pub key: String,
    /// What is wrong and what would be right.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.line)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.what)
    }
}
