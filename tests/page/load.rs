//! The operator's page under load: clients that are slow, that read nothing, that send far too
//! much. Each is bounded, and the games continue.

use std::io::ErrorKind;
use std::time::Duration;

use futures::future::join_all;
use megaton::panel::Timeouts;
use megaton::practice::Event;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::access::{address, exchange, first_line};
use super::bounded;
use super::fixture::{World, local};

/// A partner's time over a move.
const PACE: Duration = Duration::from_millis(30);
/// Longer than any test.
const FOR_EVER: Duration = Duration::from_secs(3600);
/// What a client that reads nothing has room for, in bytes.
const ROOM: u32 = 4096;
/// Moves of the bot that show that it plays on.
const MOVES: usize = 20;

/// A page that follows the news, with little room for what it has not read.
async fn page(there: &str) -> TcpStream {
    let request = format!("GET /api/live HTTP/1.1\r\nhost: {there}\r\n\r\n");
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(ROOM).unwrap();
    let mut page = socket.connect(there.parse().unwrap()).await.unwrap();
    // Who is turned away may be hung up on.
    let _ = page.write_all(request.as_bytes()).await;
    page
}

/// One that was let in, however often that takes.
async fn page_let_in(there: &str) -> TcpStream {
    loop {
        let mut page = page(there).await;
        if first_line(&mut page).await == "HTTP/1.1 200 OK" {
            return page;
        }
    }
}

/// Whether someone more is let in.
async fn lets_in(there: &str) -> bool {
    let request = format!("GET /api/me HTTP/1.1\r\nhost: {there}\r\nconnection: close\r\n\r\n");
    let status = exchange(there, request.as_bytes()).await.status;
    // Turned away in words, or hung up on.
    assert!([200, 503, 0].contains(&status), "{status}");
    status == 200
}

/// Whether no one has hung up on this client, nor told it anything.
fn stalled(client: &TcpStream) -> bool {
    let heard = client.try_read(&mut [0]);
    heard.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

/// Until the bot has made so many moves more.
async fn moves_made(mut news: Receiver<Event>, count: usize) {
    let mut made = 0;
    while made < count {
        match news.recv().await {
            Ok(Event::Moved { name, .. }) => made += usize::from(name == "Megaton"),
            Ok(_) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => panic!("the server has ended"),
        }
    }
}

/// Until the other end has hung up, which a client that reads nothing learns when it speaks.
async fn hung_up_on(mut client: TcpStream) {
    while client.write_all(b" ").await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_and_stalled_clients_delay_no_move() {
    bounded(async {
        let patience = Timeouts {
            head: FOR_EVER,
            request: FOR_EVER,
            stall: FOR_EVER,
        };
        let house = World::open_patient(&local(), None, patience).await;
        let there = address(&house);
        let crowd = async {
            let giant = format!(
                "POST /api/login HTTP/1.1\r\nhost: {there}\r\ncontent-type: application/json\r\n\
                 connection: close\r\ncontent-length: 1000000000000\r\n\r\n{}",
                "x".repeat(1 << 18)
            );
            for _ in 0..20 {
                let answer = exchange(there, giant.as_bytes()).await;
                assert!([413, 0].contains(&answer.status), "{answer:?}");
            }
            let mut deaf = Vec::new();
            loop {
                let mut page = page(there).await;
                if first_line(&mut page).await != "HTTP/1.1 200 OK" {
                    break;
                }
                deaf.push(page);
            }
            assert_eq!(deaf.len(), 100);
            let mut slow = Vec::new();
            while lets_in(there).await {
                // From another address: one alone cannot take all connections.
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
                let mut client = socket.connect(there.parse().unwrap()).await.unwrap();
                let _ = client.write_all(b"GET / HTTP/1.1\r\nx: ").await;
                slow.push(client);
            }
            assert!((150..=250).contains(&slow.len()), "{}", slow.len());
            moves_made(house.news(), MOVES).await;
            let stand = slow.iter().filter(|client| stalled(client)).count();
            assert!(stand >= 150, "{stand} stood there all the time");
            drop((deaf, slow));
            while !lets_in(there).await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let report = house.spar_to_the_end(4, PACE, crowd).await;
        assert!(!report.games.is_empty());
        for game in &report.games {
            assert!(game.is_clean(), "{}: {:?}", game.attribution, game.trace);
        }
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_readers_are_disconnected_and_others_continue() {
    bounded(async {
        let patience = Timeouts {
            head: Duration::from_millis(300),
            request: Duration::from_millis(600),
            stall: Duration::from_millis(300),
        };
        let house = World::open_patient(&local(), None, patience).await;
        let there = address(&house);
        let crowd = async {
            let half_a_body = format!(
                "POST /api/login HTTP/1.1\r\nhost: {there}\r\ncontent-type: application/json\r\n\
                 connection: close\r\ncontent-length: 99\r\n\r\n{{"
            );
            let half = exchange(there, half_a_body.as_bytes()).await;
            assert_eq!(half.status, 408, "{half:?}");

            let mut clients = Vec::new();
            let mut dripping = TcpStream::connect(there).await.unwrap();
            dripping.write_all(b"GET / HTTP/1.1\r\nx: ").await.unwrap();
            clients.push(dripping);
            for _ in 0..4 {
                clients.push(page_let_in(there).await);
            }
            let mut open = page_let_in(there).await;
            let mut bytes = vec![0; 1 << 16];
            let reading = async { while open.read(&mut bytes).await.unwrap() > 0 {} };
            tokio::select! {
                _ = join_all(clients.into_iter().map(hung_up_on)) => {}
                () = reading => panic!("the page that reads is hung up on"),
            }
            let mut heard = String::new();
            while !heard.contains("event: game\n") {
                let read = open.read(&mut bytes).await.unwrap();
                assert!(read > 0, "the stream goes on: {heard}");
                heard.push_str(&String::from_utf8_lossy(&bytes[..read]));
            }
        };
        let report = house.spar_to_the_end(6, PACE, crowd).await;
        for game in &report.games {
            assert!(game.is_clean(), "{}: {:?}", game.attribution, game.trace);
        }
        house.close().await;
    })
    .await;
}
