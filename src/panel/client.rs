//! A command's end of the control socket: one request, one response.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::protocol::{Request, Response};

/// How long a command waits for the bot.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a health check waits: container runtimes give it ten seconds and should see the reason.
const PATIENCE_OF_PROBES: Duration = Duration::from_secs(8);
/// Longest response, in bytes.
const LONGEST_RESPONSE: u64 = 4 << 20;

/// Why there is no response.
#[derive(Debug, thiserror::Error)]
pub enum Unreachable {
    #[error(
        "no bot is running with this config: socket {} does not exist (one that began before [data] or \
         [lichess] url was changed listens at the old place until it is restarted)", .0.display()
    )]
    Missing(PathBuf),
    #[error("no bot is running any more: nothing listens at {}", .0.display())]
    Closed(PathBuf),
    #[error("the socket {} belongs to another user: use the account that runs the bot", .0.display())]
    Forbidden(PathBuf),
    #[error("the bot at {} does not answer", .0.display())]
    Silent(PathBuf),
    #[error("cannot talk to the bot at {}: {source}", path.display())]
    Broken { path: PathBuf, source: io::Error },
}

impl Unreachable {
    fn of(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing(path),
            io::ErrorKind::ConnectionRefused => Self::Closed(path),
            io::ErrorKind::PermissionDenied => Self::Forbidden(path),
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent(path),
            _ => Self::Broken { path, source },
        }
    }
}

/// Sends a request to the bot behind this socket.
///
/// # Errors
/// When there is no response.
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
    writeln!(socket, "{}", serde_json::to_string(request)?)?;
    let mut response = String::new();
    BufReader::new(socket.take(LONGEST_RESPONSE)).read_line(&mut response)?;
    if response.is_empty() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    Ok(serde_json::from_str(&response)?)
}
