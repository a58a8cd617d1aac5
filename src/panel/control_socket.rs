//! The bot's end of the control socket.
//!
//! It serves few clients at a time and limits the length and time of a request. Commands go to the bot
//! through a bounded channel; if that is full, the client gets an error.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Mode, fchmod};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio::sync::Semaphore;

use super::health::Health;
use super::protocol::{LONGEST, Request, Response};
use super::reload::Reload;
use super::successor;
use crate::bot::{Command, ControlHandle};

/// Most clients at the same time.
const MOST_CLIENTS: usize = 16;
/// Clients that may wait to be accepted.
const BACKLOG: u32 = 128;
/// Bytes read of a line before it is refused for its length.
const MOST_READ: u64 = 64 << 10;
/// Time for a client to send its line, and to take the response.
const CLIENT_TIME: Duration = Duration::from_secs(5);
/// Time for the bot to answer.
const BOT_TIME: Duration = Duration::from_secs(10);
/// The same where the answer is the server's. A client waits 30 s.
const GAME_TIME: Duration = Duration::from_secs(25);
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest socket path that every system accepts, in bytes.
const LONGEST_PATH: usize = 100;

/// Why there is no control socket.
#[derive(Debug, thiserror::Error)]
pub enum ControlSocketError {
    #[error("the path of the control socket is too long ({} bytes, {LONGEST_PATH} fit): {}",
        .0.as_os_str().len(), .0.display())]
    TooLong(PathBuf),
    #[error("{} exists and is not a socket: move it away", .0.display())]
    NoSocket(PathBuf),
    #[error("another bot listens at {}", .0.display())]
    InUse(PathBuf),
    #[error("cannot open the control socket {}: {source}", path.display())]
    Failed { path: PathBuf, source: io::Error },
}

/// An open control socket; dropping it removes the file.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Opens the socket for the user of this process only. Replaces one that a dead process left.
    ///
    /// # Errors
    /// When the socket cannot be opened.
    pub fn open(path: &Path) -> Result<Self, ControlSocketError> {
        Self::check(path)?;
        let failed = |source| ControlSocketError::Failed {
            path: path.to_owned(),
            source,
        };
        let folder = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(folder).map_err(failed)?;
        // Created beside its place and then moved, so that it replaces a dead one at once.
        let own = path.with_extension(std::process::id().to_string());
        let _ = fs::remove_file(&own);
        let listener = bind(&own).map_err(failed)?;
        if let Err(source) = fs::rename(&own, path) {
            let _ = fs::remove_file(&own);
            return Err(failed(source));
        }
        Ok(Self {
            listener,
            path: path.to_owned(),
        })
    }

    /// Checks whether the socket could be opened; changes nothing.
    ///
    /// # Errors
    /// When it could not.
    pub fn check(path: &Path) -> Result<(), ControlSocketError> {
        if path.as_os_str().len() > LONGEST_PATH {
            return Err(ControlSocketError::TooLong(path.to_owned()));
        }
        match fs::symlink_metadata(path) {
            Ok(there) if !there.file_type().is_socket() => {
                Err(ControlSocketError::NoSocket(path.to_owned()))
            }
            Ok(_) if BlockingStream::connect(path).is_ok() => {
                Err(ControlSocketError::InUse(path.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Serves clients for ever.
    pub async fn serve(self, control: ControlHandle, reload: Reload, health: Health) {
        let places = Arc::new(Semaphore::new(MOST_CLIENTS));
        loop {
            let Ok((client, _)) = self.listener.accept().await else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                // Without a message, which might block.
                drop(client);
                continue;
            };
            let control = control.by("the command line");
            let (reload, health) = (reload.clone(), health.clone());
            tokio::spawn(async move {
                if let Err(error) = serve(client, &control, &reload, &health).await {
                    tracing::debug!(%error, "a client of the control socket is lost");
                }
                drop(place);
            });
        }
    }
}

/// Binds a socket that only this user can ever connect to: the file takes the permissions that the socket
/// has before.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    socket.bind(path)?;
    socket.listen(BACKLOG)
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

async fn serve(
    client: UnixStream,
    control: &ControlHandle,
    reload: &Reload,
    health: &Health,
) -> io::Result<()> {
    let (input, mut output) = client.into_split();
    let mut line = Vec::new();
    let mut input = BufReader::new(input.take(MOST_READ));
    tokio::time::timeout(CLIENT_TIME, input.read_until(b'\n', &mut line)).await??;
    let answer = if line.len() > LONGEST {
        Response::refused(format!("a request may have at most {LONGEST} bytes"))
    } else {
        match serde_json::from_slice::<Request>(&line) {
            Ok(request) => answer(request, control, reload, health).await,
            Err(error) => Response::refused(format!("unknown request: {error}")),
        }
    };
    let mut line = serde_json::to_vec(&answer)?;
    line.push(b'\n');
    tokio::time::timeout(CLIENT_TIME, async {
        output.write_all(&line).await?;
        output.shutdown().await
    })
    .await?
}

/// Handles a request.
pub(super) async fn answer(
    request: Request,
    control: &ControlHandle,
    reload: &Reload,
    health: &Health,
) -> Response {
    if request == (Request::Health {}) {
        return Response {
            health: Some(health.report()),
            ..Response::done("")
        };
    }
    if matches!(request, Request::Upgrade { .. })
        && let Err(why) = successor::check(reload.path()).await
    {
        return Response::refused(format!("{why}: the bot plays on as it is"));
    }
    let Some(command) = request.command() else {
        return match reload.now(control.via()).await {
            Ok(text) => Response::done(text),
            Err(why) => Response::refused(why),
        };
    };
    let time = match command {
        Command::Abort(_) | Command::Resign(_) => GAME_TIME,
        _ => BOT_TIME,
    };
    match control.ask(command, time).await {
        Ok(reply) => reply.into(),
        Err(error) => Response::refused(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::bot::{Reply, channel};
    use crate::config::Config;
    use crate::panel::{Reloader, SelfTest, StatusWatch, ask};

    fn well(control: &ControlHandle) -> Health {
        let (watch, _) = StatusWatch::new(control.clone());
        Health::new(watch, SelfTest::default(), None)
    }

    fn open(
        path: &Path,
    ) -> (
        ControlSocket,
        ControlHandle,
        crate::bot::CommandReceiver,
        Reload,
    ) {
        let (control, commands) = channel();
        let (_, reload) = Reloader::new(None, Config::default(), control.clone());
        (
            ControlSocket::open(path).unwrap(),
            control,
            commands,
            reload,
        )
    }

    async fn asked(path: &Path, bytes: &[u8]) -> String {
        let mut client = UnixStream::connect(path).await.unwrap();
        client.write_all(bytes).await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_command_goes_in_and_its_answer_comes_out() {
        let folder = tempfile::tempdir().unwrap();
        // A folder that is not there is created.
        let path = folder.path().join("run/control.sock");
        let (socket, control, mut commands, reload) = open(&path);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let health = well(&control);
        tokio::spawn(socket.serve(control, reload, health));
        tokio::spawn(async move {
            loop {
                let order = commands.next().await;
                let said = matches!(order.command, Command::Pause);
                order.answer(Reply::done(format!("paused: {said}")));
            }
        });
        let there = path.clone();
        let answer = tokio::task::spawn_blocking(move || ask(&there, &Request::Pause {}));
        let answer = answer.await.unwrap().unwrap();
        assert!(answer.ok && answer.text == "paused: true", "{answer:?}");
        for bad in [&b"{}"[..], b"\n", b"\xff\xfe\n", b"{\"do\":\"fly\"}\n", b""] {
            let answer = asked(&path, bad).await;
            assert!(answer.contains("unknown request"), "{answer}");
        }
        let long = vec![b'x'; LONGEST + 10];
        assert!(asked(&path, &long).await.contains("at most 4096 bytes"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn silent_clients_do_not_block_others_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let (socket, control, commands, reload) = open(&path);
        let health = well(&control);
        tokio::spawn(socket.serve(control, reload, health));
        let mut idle = Vec::new();
        for _ in 0..MOST_CLIENTS {
            idle.push(UnixStream::connect(&path).await.unwrap());
        }
        let mut refused = UnixStream::connect(&path).await.unwrap();
        let mut nothing = Vec::new();
        // Hung up on: an end or a reset, as the system has it.
        let _ = refused.read_to_end(&mut nothing).await;
        assert!(nothing.is_empty());
        drop(idle);
        drop(commands);
        loop {
            // Their places are free as soon as the server has seen them leave.
            let mut client = UnixStream::connect(&path).await.unwrap();
            let _ = client.write_all(b"{\"do\":\"status\"}\n").await;
            let mut answer = String::new();
            let _ = client.read_to_string(&mut answer).await;
            if answer.contains("the bot has exited") {
                break;
            }
        }
    }

    #[tokio::test]
    async fn a_socket_is_private_from_its_first_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let _listener = bind(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[tokio::test]
    async fn a_dead_socket_is_replaced_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        drop(UnixListener::bind(&path).unwrap());
        let socket = ControlSocket::open(&path).unwrap();
        assert!(matches!(
            ControlSocket::check(&path),
            Err(ControlSocketError::InUse(_))
        ));
        assert!(matches!(
            ControlSocket::open(&path),
            Err(ControlSocketError::InUse(_))
        ));
        drop(socket);
        assert!(!path.exists(), "it goes with the bot");
        fs::write(&path, "mine").unwrap();
        assert!(matches!(
            ControlSocket::open(&path),
            Err(ControlSocketError::NoSocket(_))
        ));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        let long = folder.path().join("x".repeat(LONGEST_PATH));
        assert!(matches!(
            ControlSocket::open(&long),
            Err(ControlSocketError::TooLong(_))
        ));
    }
}
