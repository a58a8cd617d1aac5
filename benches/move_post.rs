//! From the opponent's move on the wire to our move on the wire, client alone: no engine thinks.
//!
//! `cargo bench --bench move_post`. A server of blocking sockets writes a state, the client reads it
//! and posts a move at once, and the server stops the watch when the head of the post is in.
//! Also told: how long it takes to make a client that speaks TLS, and what the process then holds.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use megaton::lichess::{
    Client, ClientOptions, GameEvent, GameId, GameStream, OfferDraw, Timing, Token,
};

const ROUNDS: usize = 2_000;
const WARM_UP: usize = 100;

const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n";
const OK: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{\"ok\":true}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let (made, held) = tls_client()?;
    writeln!(
        out,
        "a client that speaks TLS: {made:?}, then {held} kB resident"
    )?;
    for plies in [10, 100, 300] {
        let mut times = measure(plies)?;
        times.drain(..WARM_UP);
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let (p50, p90, p99) = (at(0.5), at(0.9), at(0.99));
        writeln!(
            out,
            "{plies:>3} plies: p50 {p50:?}, p90 {p90:?}, p99 {p99:?}"
        )?;
    }
    Ok(())
}

fn client(url: &str) -> Result<Client, Box<dyn std::error::Error>> {
    Ok(Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse("lip_bench", "the bench")?,
        contact: None,
        timing: Timing::default(),
    })?)
}

/// How long it takes to make one, and the memory of the process with it, in kilobytes.
fn tls_client() -> Result<(Duration, usize), Box<dyn std::error::Error>> {
    let begun = Instant::now();
    let client = client("https://lichess.org")?;
    let made = begun.elapsed();
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|text| text.parse::<usize>().ok());
    drop(client);
    Ok((made, pages.unwrap_or(0) * 4))
}

fn measure(plies: usize) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    let (result, times) = channel();
    std::thread::spawn(move || serve(&listener, plies, &result));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let client = client(&url)?;
    runtime.block_on(async {
        client.warm().await;
        let game = GameId::new("q7ZxVt2B");
        let stream = client.game(&game, client.timing().game_opening).await?;
        tokio::spawn(answer(client.clone(), game, stream)).await?;
        Ok::<_, Box<dyn std::error::Error>>(())
    })?;
    Ok(times.recv()?)
}

/// Answers every state with a move, as a game's task does.
async fn answer(client: Client, game: GameId, mut stream: GameStream) {
    while let Ok(arrival) = stream.next().await {
        if matches!(arrival.event, GameEvent::State(_)) {
            let _ = client.make_move(&game, "e2e4", OfferDraw::No).await;
        }
    }
}

fn serve(listener: &TcpListener, plies: usize, result: &Sender<Vec<Duration>>) {
    let (post_seen, posts) = channel();
    for connection in listener.incoming() {
        let Ok(mut connection) = connection else {
            return;
        };
        let _ = connection.set_nodelay(true);
        let head = read_head(&mut connection);
        if head.starts_with("GET /api/bot/game/stream") {
            play(&mut connection, plies, &posts, result);
            return;
        }
        // The connection of the moves: the warming call first, the moves after it.
        let post_seen = post_seen.clone();
        let _ = connection.write_all(OK.as_bytes());
        std::thread::spawn(move || {
            while !read_head(&mut connection).is_empty() {
                let _ = post_seen.send(Instant::now());
                let _ = connection.write_all(OK.as_bytes());
            }
        });
    }
}

fn play(
    stream: &mut TcpStream,
    plies: usize,
    posts: &Receiver<Instant>,
    result: &Sender<Vec<Duration>>,
) {
    let moves = vec!["g1f3"; plies].join(" ");
    let line = format!(
        "{{\"type\":\"gameState\",\"moves\":\"{moves}\",\"wtime\":60000,\"btime\":60000,\
         \"winc\":0,\"binc\":0,\"status\":\"started\"}}\n"
    );
    let _ = stream.write_all(STREAM_HEAD.as_bytes());
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let _ = stream.write_all(line.as_bytes());
        let Ok(seen) = posts.recv_timeout(Duration::from_secs(5)) else {
            break;
        };
        times.push(seen - begun);
        // Let the answer to the post reach the client before the next state.
        std::thread::sleep(Duration::from_micros(300));
    }
    let _ = result.send(times);
}

/// The head of the next request; empty at the end of the connection.
fn read_head(connection: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.ends_with(b"\r\n\r\n") {
        match connection.read(&mut buffer) {
            Ok(read) if read > 0 => head.extend_from_slice(&buffer[..read]),
            _ => return String::new(),
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}
