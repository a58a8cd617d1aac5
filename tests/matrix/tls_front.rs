//! A TLS front for a server without TLS. It records connections and which one each move uses, and
//! closes idle connections as servers do.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use megaton::practice::ServerHandle;
use rustls::ServerConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::harness::SPEED;

/// A connection over which nothing goes for so long is closed: a minute of Lichess.
pub(crate) const IDLE: Duration = Duration::from_millis(60_000 / SPEED as u64);
/// What keeps the connection of the moves warm.
const WARMING: &[u8] = b"GET /api/account/playing?nb=1 ";

/// The door.
pub(crate) struct Front {
    pub(crate) url: String,
    book: Arc<Mutex<Book>>,
    task: JoinHandle<()>,
}

/// A move that came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    at: Instant,
    /// The connection that it took, by the order of their handshakes.
    pub(crate) over: usize,
}

#[derive(Default)]
struct Book {
    /// How each connection is closed, in the order of their handshakes.
    connections: Vec<CancellationToken>,
    /// How many warming calls were answered, and the connection of the last of them.
    warmed: usize,
    lane: usize,
    moves: Vec<Came>,
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Front {
    /// Opens before a server, as `localhost`.
    pub(crate) async fn before(server: &ServerHandle, config: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = TlsAcceptor::from(config);
        let inside = server.address();
        let book = Arc::<Mutex<Book>>::default();
        let shared = Arc::clone(&book);
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (acceptor, book) = (acceptor.clone(), Arc::clone(&shared));
                tokio::spawn(serve(socket, acceptor, inside, book));
            }
        });
        Self {
            url: format!("https://localhost:{port}"),
            book,
            task,
        }
    }

    /// How many handshakes are over.
    pub(crate) fn handshakes(&self) -> usize {
        lock(&self.book).connections.len()
    }

    /// How many warming calls were answered.
    pub(crate) fn warmed(&self) -> usize {
        lock(&self.book).warmed
    }

    /// Closes the connection that was kept warm last.
    pub(crate) fn close_lane(&self) {
        let book = lock(&self.book);
        book.connections[book.lane].cancel();
    }

    /// The first move that came in after this moment.
    pub(crate) fn move_after(&self, at: Instant) -> Option<Came> {
        let book = lock(&self.book);
        book.moves.iter().copied().find(|came| came.at > at)
    }
}

impl Book {
    /// A handshake is over.
    fn enter(&mut self) -> (usize, CancellationToken) {
        let closed = CancellationToken::new();
        self.connections.push(closed.clone());
        (self.connections.len() - 1, closed)
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether these bytes begin with the request of a move.
fn is_move(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\r').next().unwrap_or(bytes);
    let line = String::from_utf8_lossy(line);
    line.starts_with("POST /api/bot/game/") && line.contains("/move/")
}

/// Hands on what comes from either side, until one of them ends or nothing comes any more.
async fn serve(
    socket: TcpStream,
    acceptor: TlsAcceptor,
    server: SocketAddr,
    book: Arc<Mutex<Book>>,
) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let mut outside = acceptor.accept(socket).await?;
    let mut inside = TcpStream::connect(server).await?;
    inside.set_nodelay(true)?;
    let (number, closed) = lock(&book).enter();
    let (mut asked, mut told) = (vec![0; 1 << 14], vec![0; 1 << 14]);
    let mut warming = false;
    loop {
        tokio::select! {
            read = outside.read(&mut asked) => {
                let bytes = &asked[..read?];
                if bytes.is_empty() {
                    return Ok(());
                }
                warming = bytes.starts_with(WARMING);
                if is_move(bytes) {
                    let came = Came { at: Instant::now(), over: number };
                    lock(&book).moves.push(came);
                }
                inside.write_all(bytes).await?;
            }
            read = inside.read(&mut told) => {
                let bytes = &told[..read?];
                if bytes.is_empty() {
                    return outside.shutdown().await;
                }
                outside.write_all(bytes).await?;
                outside.flush().await?;
                if std::mem::take(&mut warming) {
                    let mut book = lock(&book);
                    book.warmed += 1;
                    book.lane = number;
                }
            }
            () = closed.cancelled() => return outside.shutdown().await,
            () = tokio::time::sleep(IDLE) => return outside.shutdown().await,
        }
    }
}
