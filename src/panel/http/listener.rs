//! The listener: lets connections in, few enough and none for ever.
//!
//! A request that is too long or too slow in coming is refused, an answer that no one takes is
//! dropped, and who comes when the house is full is told so. What is still to be taken lies in a buffer
//! that does not grow. None of it reaches the bot.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Sleep;

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 256;
/// Connections that may wait to be let in.
const MOST_AT_THE_DOOR: u32 = 1024;
/// What the system holds of an answer that a client does not take, in bytes; it doubles the number.
const UNTAKEN: u32 = 64 << 10;
/// Longest head of a request, in bytes.
const LONGEST_HEAD: usize = 16 << 10;
/// Headers of a request.
const MOST_HEADERS: usize = 64;
/// After the system could not take a client in.
const BREATH: Duration = Duration::from_millis(100);

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\
    content-length: 27\r\nretry-after: 10\r\nconnection: close\r\n\r\nToo many connections here.\n";

/// How long a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the head of a request, and between two requests of a connection.
    pub head: Duration,
    /// From the head to the answer, the body read on the way; streams only have to begin.
    pub request: Duration,
    /// To take the next bytes of an answer.
    pub stall: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            head: Duration::from_secs(15),
            request: Duration::from_secs(30),
            stall: Duration::from_secs(30),
        }
    }
}

#[derive(Debug)]
pub(super) struct Listener {
    listener: TcpListener,
}

impl Listener {
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        // A start right after the end finds the port free.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        // What is let in takes it over. By itself it grows to megabytes for every page that reads nothing.
        socket.set_send_buffer_size(UNTAKEN)?;
        socket.bind(address)?;
        let listener = socket.listen(MOST_AT_THE_DOOR)?;
        Ok(Self { listener })
    }

    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(super) async fn serve(self, router: Router, patience: Timeouts) {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let Ok((client, _)) = self.listener.accept().await else {
                tokio::time::sleep(BREATH).await;
                continue;
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                // As much of it as fits at once: no one waits for one who is turned away.
                if let Ok(mut client) = client.into_std() {
                    let _ = client.write(FULL);
                }
                continue;
            };
            let _ = client.set_nodelay(true);
            let service = TowerToHyperService::new(router.clone());
            tokio::spawn(async move {
                let serving = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(patience.head)
                    .max_headers(MOST_HEADERS)
                    .max_buf_size(LONGEST_HEAD)
                    .serve_connection(
                        TokioIo::new(Connection::new(client, patience.stall)),
                        service,
                    );
                if let Err(error) = serving.await {
                    tracing::trace!(%error, "page connection lost");
                }
                drop(place);
            });
        }
    }
}

/// A connection that gives a client up who takes nothing any more.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    /// How long the client may take nothing.
    patience: Duration,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    fn new(stream: TcpStream, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            stalled: None,
        }
    }

    fn patiently<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.stalled = None;
            return outcome;
        }
        let patience = self.patience;
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.patiently(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.patiently(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
