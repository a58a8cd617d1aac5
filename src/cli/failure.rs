//! Why a command failed, and the exit status that says so.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use megaton::archive::ArchiveError;
use megaton::config::ConfigError;

use super::plain_text::plain_lines;

/// Exit status for a command line, config, token or account that cannot work.
pub(crate) const EXIT_SETUP: u8 = 2;
/// Exit status for a failure at work.
const EXIT_FAILED: u8 = 1;

/// The end of a command that did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The setup cannot work; trying again will not help.
    Setup(anyhow::Error),
    /// The work failed.
    Failed(anyhow::Error),
    /// The answer is no, and the command has printed it.
    Reported,
    /// The command has printed its answer, one of several with a status of its own.
    Answer(u8),
}

impl Failure {
    pub(crate) fn setup(message: impl Display) -> Self {
        Self::Setup(anyhow::Error::msg(message.to_string()))
    }

    pub(crate) fn failed(message: impl Display) -> Self {
        Self::Failed(anyhow::Error::msg(message.to_string()))
    }

    /// A setup that cannot work because of this error and its causes.
    pub(crate) fn of_setup(error: impl Into<anyhow::Error>) -> Self {
        Self::Setup(error.into())
    }

    /// Prints the failure on stderr and gives the exit status.
    pub(super) fn report(self) -> ExitCode {
        let (error, status) = match self {
            Self::Setup(error) => (error, EXIT_SETUP),
            Self::Failed(error) if reader_left(&error) => return ExitCode::SUCCESS,
            Self::Failed(error) => (error, EXIT_FAILED),
            Self::Reported => return ExitCode::from(EXIT_FAILED),
            Self::Answer(status) => return ExitCode::from(status),
        };
        // Where stderr is closed, the status remains.
        let text = plain_lines(&in_one_line(&error));
        let _ = writeln!(io::stderr().lock(), "megaton: {text}");
        ExitCode::from(status)
    }
}

/// Turns an error into a failure with context.
pub(crate) trait OrFailure<T> {
    /// A setup that cannot work: `what: error`.
    fn or_setup(self, what: impl Display) -> Result<T, Failure>;
    /// A failure at work: `what: error`.
    fn or_failed(self, what: impl Display) -> Result<T, Failure>;
}

impl<T, E: Display> OrFailure<T> for Result<T, E> {
    fn or_setup(self, what: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::setup(format!("{what}: {error}")))
    }

    fn or_failed(self, what: impl Display) -> Result<T, Failure> {
        self.map_err(|error| Failure::failed(format!("{what}: {error}")))
    }
}

/// The error and its causes, without those that it quotes itself.
fn in_one_line(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line.push_str(": ");
            line.push_str(&cause);
        }
    }
    line
}

/// Whether the reader of our output left, as `head` does, which is no failure. A failed write to
/// stdout is the error itself: one among the causes is of something else, such as a socket.
fn reader_left(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Setup(error.into())
    }
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        if error.may_pass() {
            Self::Failed(error.into())
        } else {
            Self::Setup(error.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use megaton::panel::Unreachable;

    use super::*;

    #[test]
    fn a_cause_is_printed_once() {
        let cause = || io::Error::other("no such thing");
        let wrapped = Err::<(), _>(cause()).context("starting").unwrap_err();
        assert_eq!(in_one_line(&wrapped), "starting: no such thing");
        let told = Err::<(), _>(cause())
            .context("starting: no such thing")
            .unwrap_err();
        assert_eq!(in_one_line(&told), "starting: no such thing");
    }

    #[test]
    fn a_bot_that_hangs_up_is_a_failure_and_a_reader_that_leaves_is_none() {
        let broken = || io::Error::from(ErrorKind::BrokenPipe);
        assert!(reader_left(&broken().into()));
        let unreachable = Unreachable::Broken {
            path: "control.sock".into(),
            source: broken(),
        };
        assert!(!reader_left(&unreachable.into()));
    }
}
