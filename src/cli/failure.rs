//! Why a command did not do what was asked, and what the shell is told.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use megaton::config::ConfigError;

/// The status for a command line, config, token or account that cannot work as it stands.
pub(crate) const EXIT_SETUP: u8 = 2;
/// The status for a failure at work.
const EXIT_FAILED: u8 = 1;

/// The end of a command that did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked cannot work as it stands; trying again will not help.
    Setup(anyhow::Error),
    /// It broke on the way.
    Failed(anyhow::Error),
    /// The answer is no, and it has been given.
    Told,
    /// The answer has been given, and is one of several: its own status.
    Answer(u8),
}

impl Failure {
    /// A setup that cannot work, in words.
    pub(crate) fn setup(message: impl Into<String>) -> Self {
        Self::Setup(anyhow::Error::msg(message.into()))
    }

    /// A failure on the way, in words.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::Failed(anyhow::Error::msg(message.into()))
    }

    /// Says it on stderr, in one message, and chooses the status.
    pub(super) fn report(self) -> ExitCode {
        let (error, status) = match self {
            Self::Setup(error) => (error, EXIT_SETUP),
            Self::Failed(error) if reader_left(&error) => return ExitCode::SUCCESS,
            Self::Failed(error) => (error, EXIT_FAILED),
            Self::Told => return ExitCode::from(EXIT_FAILED),
            Self::Answer(status) => return ExitCode::from(status),
        };
        // Where stderr is closed too, the status still tells.
        let _ = writeln!(io::stderr().lock(), "megaton: {}", in_one_line(&error));
        ExitCode::from(status)
    }
}

/// The chain of causes; what an error has said of its cause already is not said again.
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

/// Whether the reader of our output went away, as `head` does: no one's failure.
fn reader_left(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == ErrorKind::BrokenPipe)
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

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_cause_is_said_once() {
        let cause = || io::Error::other("no such thing");
        let wrapped = Err::<(), _>(cause()).context("starting").unwrap_err();
        assert_eq!(in_one_line(&wrapped), "starting: no such thing");
        let told = Err::<(), _>(cause())
            .context("starting: no such thing")
            .unwrap_err();
        assert_eq!(in_one_line(&told), "starting: no such thing");
    }
}
