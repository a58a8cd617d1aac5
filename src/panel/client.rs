//! The end of a command: one request to the bot behind a socket, one answer.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::protocol::{Request, Response};

/// How long is waited for the bot.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long where it is asked whether it is well: who asks (a container's runtime) waits ten seconds,
/// and is to hear why.
const PATIENCE_OF_PROBES: Duration = Duration::from_secs(8);
/// Longest answer, in bytes.
const LONGEST_ANSWER: u64 = 4 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    /// There is no socket.
    #[error("no bot is running: socket {} does not exist", .0.display())]
    Nobody(PathBuf),
    /// No one listens at the socket.
    #[error("no bot is running any more: nothing listens at {}", .0.display())]
    Left(PathBuf),
    /// The socket is someone else's.
    #[error("the socket {} belongs to another user: use the account that runs the bot", .0.display())]
    Forbidden(PathBuf),
    /// The bot took too long.
    #[error("the bot at {} does not answer", .0.display())]
    Silent(PathBuf),
    #[error("cannot talk to the bot at {}: {source}", path.display())]
    Broken {
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Unreachable {
    fn of(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            io::ErrorKind::NotFound => Self::Nobody(path),
            io::ErrorKind::ConnectionRefused => Self::Left(path),
            io::ErrorKind::PermissionDenied => Self::Forbidden(path),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent(path),
            _ => Self::Broken {
                path,
                source: error,
            },
        }
    }
}

/// Asks the bot behind this socket.
///
/// # Errors
/// When there is no answer; says why.
pub fn ask(path: &Path, request: &Request) -> Result<Response, Unreachable> {
    exchange(path, request).map_err(|error| Unreachable::of(path, error))
}

fn exchange(path: &Path, request: &Request) -> io::Result<Response> {
    let mut socket = UnixStream::connect(path)?;
    let patience = match request {
        Request::Health {} => PATIENCE_OF_PROBES,
        _ => PATIENCE,
    };
    socket.set_read_timeout(Some(patience))?;
    socket.set_write_timeout(Some(patience))?;
    let mut line = serde_json::to_string(request)?;
    line.push('\n');
    socket.write_all(line.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(socket.take(LONGEST_ANSWER)).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::ConnectionRefused,
            "it closed the connection",
        ));
    }
    Ok(serde_json::from_str(&answer)?)
}
