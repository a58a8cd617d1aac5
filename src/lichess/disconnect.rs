//! Why a stream ended. How to react is the caller's decision.

use std::time::Duration;

use super::error::Error;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disconnect {
    /// No connection to the server, or another response than a stream.
    #[error("the stream did not open: {0}")]
    Unopened(Error),
    /// No line was completed for too long, not even a blank one.
    #[error("no line for {:.1} s, not even a blank one", .0.as_secs_f64())]
    Silent(Duration),
    #[error("the server ended the stream")]
    Ended,
    #[error("the connection broke: {0}")]
    Reset(String),
    #[error("no JSON in line {line} (byte {offset}), column {column}: {head}")]
    NotJson {
        /// The line, counted from one.
        line: u64,
        /// The byte of the stream at which the line begins.
        offset: u64,
        column: usize,
        /// The beginning of the line.
        head: String,
    },
    #[error("line {line} is longer than {limit} bytes")]
    LineTooLong {
        /// The line, counted from one.
        line: u64,
        limit: usize,
    },
}

impl Disconnect {
    /// Whether every other call would fail too: no connection, or a rejected token.
    pub fn is_of_all_calls(&self) -> bool {
        matches!(self, Self::Unopened(error) if error.is_unreached() || error.is_unauthorized())
    }
}
