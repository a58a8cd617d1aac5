//! Why a stream ended. What to do about it is the caller's decision.

use std::time::Duration;

use super::error::Error;

/// Why a stream is no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disconnect {
    /// It never opened: no way to the server, or another answer than a stream.
    #[error("the stream did not open: {0}")]
    Unopened(Error),
    /// No line came to its end for too long, not even a blank one.
    #[error("no line for {:.1} s, not even a blank one", .0.as_secs_f64())]
    Silent(Duration),
    /// The server closed it in good order.
    #[error("the server ended the stream")]
    Ended,
    #[error("the connection broke: {0}")]
    Reset(String),
    /// A line holds something else than JSON.
    #[error("no JSON in line {line} (byte {offset}), column {column}: {head}")]
    NotJson {
        /// The line, counted from one.
        line: u64,
        /// Where the line begins in the stream.
        offset: u64,
        /// Where in the line the parser gave up.
        column: usize,
        /// How the line begins.
        head: String,
    },
    /// A line did not end within the bound.
    #[error("line {line} is longer than {limit} bytes")]
    LineTooLong {
        /// The line, counted from one.
        line: u64,
        limit: usize,
    },
}

impl Disconnect {
    /// Whether other calls would fare no better: no one is reached, or the token is not accepted.
    pub fn is_of_all_calls(&self) -> bool {
        matches!(self, Self::Unopened(error) if error.is_unreached() || error.is_unauthorized())
    }
}
