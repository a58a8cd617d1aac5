//! The listener: accepts connections, with limits on their number and times.
//!
//! It refuses requests that are too long or too slow, drops connections whose client reads nothing, and
//! turns clients away when it is full. Unread output stays in a buffer of fixed size.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 256;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// Size of the system's send buffer in bytes; Linux doubles it.
const SEND_BUFFER: u32 = 64 << 10;
/// Longest head of a request, in bytes.
const LONGEST_HEAD: usize = 16 << 10;
const MOST_HEADERS: usize = 64;
/// Pause after a failed accept.
const PAUSE: Duration = Duration::from_millis(100);

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\n\
    content-length: 27\r\nretry-after: 10\r\nconnection: close\r\n\r\nToo many connections here.\n";

/// How long a client may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For the head of a request, and between two requests of a connection.
    pub head: Duration,
    /// From the head to the response, the body included; a stream must only begin in time.
    pub request: Duration,
    /// To take the next bytes of a response.
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

pub(super) fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() {
        TcpSocket::new_v4()?
    } else {
        TcpSocket::new_v6()?
    };
    // A restart finds the port free.
    socket.set_reuseaddr(true)?;
    // Accepted connections inherit it. By default it grows to megabytes for a page that reads nothing.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves clients for ever.
pub(super) async fn serve(listener: TcpListener, router: Router, timeouts: Timeouts) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let Ok((client, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            // As much as fits at once: a refused client must not hold up others.
            if let Ok(mut client) = client.into_std() {
                let _ = client.write(FULL);
            }
            continue;
        };
        let _ = client.set_nodelay(true);
        let mut client = TimeoutStream::new(client);
        client.set_write_timeout(Some(timeouts.stall));
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let serving = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(timeouts.head)
                .max_headers(MOST_HEADERS)
                .max_buf_size(LONGEST_HEAD)
                .serve_connection(TokioIo::new(Box::pin(client)), service);
            if let Err(error) = serving.await {
                tracing::trace!(%error, "page connection lost");
            }
            drop(place);
        });
    }
}
