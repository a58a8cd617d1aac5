//! The listener: accepts connections, with limits on their number and times.
//!
//! It refuses requests that are too long or too slow, drops connections whose client reads nothing, and
//! turns clients away when it is full or one address has too many connections. Unread output stays in a
//! buffer of fixed size.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket};
use tokio_io_timeout::TimeoutStream;

/// Connections at the same time.
const MOST_CONNECTIONS: usize = 256;
/// Connections of one address at the same time. All clients of a reverse proxy have its address, and 160 of
/// their connections may be streams.
const MOST_OF_ADDRESS: usize = 192;
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
    // Each open connection holds a clone of the value of its address.
    let mut addresses: HashMap<IpAddr, Arc<()>> = HashMap::new();
    loop {
        let Ok((client, peer)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        addresses.retain(|_, open| Arc::strong_count(open) > 1);
        let counts = addresses.values().map(|open| Arc::strong_count(open) - 1);
        let all: usize = counts.sum();
        let open = addresses.entry(network(peer.ip())).or_default();
        if all >= MOST_CONNECTIONS || Arc::strong_count(open) > MOST_OF_ADDRESS {
            // As much as fits at once: a refused client must not hold up others.
            let _ = client.into_std().and_then(|mut client| client.write(FULL));
            continue;
        }
        let place = Arc::clone(open);
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

/// What one client can have: an IPv4 address, or all addresses of a /64 network.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let prefix = address.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(prefix).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    async fn connect(from: &str, to: SocketAddr) -> TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        socket
            .bind((from.parse::<IpAddr>().unwrap(), 0).into())
            .unwrap();
        socket.connect(to).await.unwrap()
    }

    /// Whether the page answers one more connection from this address.
    async fn is_served(from: &str, page: SocketAddr) -> bool {
        let mut client = connect(from, page).await;
        // A refused client may find the connection closed before it has written or read anything.
        let _ = client
            .write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            .await;
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        let is_served = answer.starts_with(b"HTTP/1.1 200");
        assert!(
            is_served || answer.is_empty() || answer == FULL,
            "{answer:?}"
        );
        is_served
    }

    #[tokio::test]
    async fn one_address_leaves_connections_for_others_and_all_together_have_a_limit() {
        const FOR_EVER: Duration = Duration::from_secs(3600);
        let listener = listen(([127, 0, 0, 1], 0).into()).unwrap();
        let page = listener.local_addr().unwrap();
        let router = Router::new().route("/", get(|| async {}));
        let timeouts = Timeouts {
            head: FOR_EVER,
            request: FOR_EVER,
            stall: FOR_EVER,
        };
        tokio::spawn(serve(listener, router, timeouts));
        let mut greedy = Vec::new();
        for _ in 0..MOST_OF_ADDRESS {
            greedy.push(connect("127.0.0.2", page).await);
        }
        assert!(!is_served("127.0.0.2", page).await);
        assert!(is_served("127.0.0.3", page).await, "another address");
        let mut others = Vec::new();
        while is_served("127.0.0.4", page).await {
            others.push(connect("127.0.0.3", page).await);
        }
        let most = MOST_CONNECTIONS - MOST_OF_ADDRESS;
        assert!((1..=most).contains(&others.len()), "{}", others.len());
        drop(others);
        while !is_served("127.0.0.4", page).await {}
        assert!(!is_served("127.0.0.2", page).await);
        drop(greedy);
        while !is_served("127.0.0.2", page).await {}
    }

    #[test]
    fn addresses_that_one_client_can_have_count_as_one() {
        let network = |address: &str| network(address.parse().unwrap());
        assert_eq!(network("2001:db8:1:2::3"), network("2001:db8:1:2:a:b:c:d"));
        assert_ne!(network("2001:db8:1:2::3"), network("2001:db8:1:3::3"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }
}
