//! From the opponent's move on the wire to our move on the wire, with the whole bot between: stream,
//! table, one node of search, and the call.
//!
//! `cargo bench --bench latency [GAMES]`. A server of blocking sockets announces a game, writes the
//! opponent's moves and stops the watch when the head of our call is in. The first move of each game
//! is in the figures and told apart too. An idle machine is needed for figures worth keeping.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use megaton::bot::{
    BotOptions, ListSources, Listeners, Memory, Pace, SearchLimits, Settings, Shutdown, run,
};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{Client, ClientOptions, Timing, Token};
use megaton::rules::{Game, RepetitionRule};

type Failure = Box<dyn std::error::Error>;

/// Games, unless the command line says another number.
const GAMES: usize = 40;
/// Moves of ours in a game, at most.
const MOVES: usize = 40;
/// The opponent's thinking time.
const PAUSE: Duration = Duration::from_millis(3);
/// Longest wait for anything.
const GUARD: Duration = Duration::from_secs(10);
/// Threads of the runtime, as `megaton run` has them.
const WORKERS: usize = 2;

const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n";

fn main() -> Result<(), Failure> {
    let wanted = std::env::args().find_map(|arg| arg.parse().ok());
    let games = wanted.unwrap_or(GAMES);
    let mut server = Server::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let shutdown = Shutdown::default();
    let bot = runtime.spawn(run(options(&server.url)?, shutdown.clone()));
    let (mut all, mut first) = (Vec::new(), Vec::new());
    let mut events = server.events.recv_timeout(GUARD)?;
    for number in 0..games {
        let times = server.play(&mut events, number)?;
        first.extend(times.first().copied());
        all.extend(times);
    }
    shutdown.now.cancel();
    runtime.block_on(bot)??;
    report("all moves", &mut all)?;
    report("first moves", &mut first)
}

fn report(what: &str, times: &mut [Duration]) -> Result<(), Failure> {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let (p50, p90, p99) = (at(0.5), at(0.9), at(0.99));
    let count = times.len();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{what:>11}: {count} times, p50 {p50:?}, p90 {p90:?}, p99 {p99:?}"
    )?;
    Ok(())
}

fn options(url: &str) -> Result<BotOptions, Failure> {
    let client = Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse("lip_bench", "the bench")?,
        contact: None,
        timing: Timing::default(),
    })?;
    let search = SearchLimits {
        nodes: Some(1),
        ..SearchLimits::default()
    };
    Ok(BotOptions {
        client,
        pool: Pool::in_background(&EngineOptions {
            hash_mb: 16,
            threads: 1,
        }),
        settings: Settings {
            search,
            ..Settings::default()
        },
        pace: Pace::default(),
        listeners: Listeners::default(),
        memory: Memory::nowhere(),
        lists: ListSources::default(),
    })
}

/// The server's ends of everything.
struct Server {
    url: String,
    events: Receiver<TcpStream>,
    games: Receiver<TcpStream>,
    posts: Receiver<(Instant, String)>,
}

/// What a connection hands over.
#[derive(Clone)]
struct Desk {
    events: Sender<TcpStream>,
    games: Sender<TcpStream>,
    posts: Sender<(Instant, String)>,
}

impl Server {
    fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let (events_in, events) = channel();
        let (games_in, games) = channel();
        let (posts_in, posts) = channel();
        let desk = Desk {
            events: events_in,
            games: games_in,
            posts: posts_in,
        };
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let desk = desk.clone();
                thread::spawn(move || serve(socket, &desk));
            }
        });
        Ok(Self {
            url,
            events,
            games,
            posts,
        })
    }

    /// One game with the bot as Black; the times of its moves.
    fn play(&mut self, events: &mut TcpStream, number: usize) -> Result<Vec<Duration>, Failure> {
        let id = format!("bench{number:03}");
        let mut game = Game::new();
        let mut times = Vec::new();
        write_line(events, &announcement(&id))?;
        let mut stream = self.games.recv_timeout(GUARD)?;
        let state = state(&game, "started");
        write_line(&mut stream, &full(&id, &state))?;
        while times.len() < MOVES && reply(&mut game, number) {
            thread::sleep(PAUSE);
            let line = self::state(&game, "started");
            let sent = Instant::now();
            write_line(&mut stream, &line)?;
            let (came, uci) = self.posts.recv_timeout(GUARD)?;
            times.push(came - sent);
            game.push_uci(&uci)?;
            write_line(&mut stream, &self::state(&game, "started"))?;
        }
        write_line(&mut stream, &self::state(&game, "resign"))?;
        Ok(times)
    }
}

/// The opponent's move: harmless, and never the same game twice. Nothing once the game is over.
fn reply(game: &mut Game, seed: usize) -> bool {
    if game.outcome(RepetitionRule::Threefold).is_some() {
        return false;
    }
    let position = *game.position();
    let legal = position.legal_moves();
    let harmless = legal.iter().copied().filter(|&mv| {
        let after = position.play(mv);
        !position.is_capture(mv) && !after.can_explode()
    });
    let harmless: Vec<_> = harmless.collect();
    let Some(&played) = harmless.get((seed * 7 + game.ply() * 5) % harmless.len().max(1)) else {
        return false;
    };
    game.push(played);
    // Black must have an answer that goes on.
    game.outcome(RepetitionRule::Threefold).is_none()
}

fn serve(mut socket: TcpStream, desk: &Desk) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let mut buffer = Vec::new();
    loop {
        let path = request(&mut socket, &mut buffer)?;
        let came = Instant::now();
        if path.ends_with("/stream/event") {
            socket.write_all(STREAM_HEAD.as_bytes()).ok()?;
            return desk.events.send(socket).ok();
        }
        if path.contains("/game/stream/") {
            socket.write_all(STREAM_HEAD.as_bytes()).ok()?;
            return desk.games.send(socket).ok();
        }
        if let Some((_, uci)) = path.split_once("/move/") {
            desk.posts.send((came, uci.to_owned())).ok()?;
        }
        let body = match path.as_str() {
            "/api/account" => r#"{"id":"bench","username":"Bench","title":"BOT","perfs":{}}"#,
            path if path.starts_with("/api/account/playing") => r#"{"nowPlaying":[]}"#,
            _ => r#"{"ok":true}"#,
        };
        let length = body.len();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length:";
        let answer = format!("{head} {length}\r\n\r\n{body}");
        socket.write_all(answer.as_bytes()).ok()?;
    }
}

/// The path of the next request; none of them has a body.
fn request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        if let Some(end) = buffer.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
            buffer.drain(..end + 4);
            return head.split(' ').nth(1).map(str::to_owned);
        }
        let mut chunk = [0; 4096];
        let read = socket.read(&mut chunk).ok().filter(|&read| read > 0)?;
        buffer.extend_from_slice(&chunk[..read]);
    }
}

fn write_line(stream: &mut TcpStream, line: &str) -> std::io::Result<()> {
    stream.write_all(format!("{line}\n").as_bytes())
}

fn announcement(id: &str) -> String {
    let opponent = r#"{"id":"them","username":"them","rating":1800}"#;
    let status = r#"{"id":20,"name":"started"}"#;
    format!(
        r#"{{"type":"gameStart","game":{{"gameId":"{id}","id":"{id}","color":"black","status":{status},"variant":{{"key":"atomic","name":"Atomic"}},"speed":"blitz","rated":false,"opponent":{opponent},"compat":{{"bot":true,"board":true}}}}}}"#
    )
}

fn full(id: &str, state: &str) -> String {
    let white = r#"{"id":"them","name":"them","rating":1800}"#;
    let black = r#"{"id":"bench","name":"Bench","title":"BOT","rating":1800}"#;
    format!(
        r#"{{"type":"gameFull","id":"{id}","variant":{{"key":"atomic","name":"Atomic"}},"speed":"blitz","rated":false,"white":{white},"black":{black},"initialFen":"startpos","clock":{{"initial":180000,"increment":2000}},"state":{state}}}"#
    )
}

fn state(game: &Game, status: &str) -> String {
    let moves: Vec<_> = game.moves().iter().map(ToString::to_string).collect();
    let moves = moves.join(" ");
    format!(
        r#"{{"type":"gameState","moves":"{moves}","wtime":180000,"btime":180000,"winc":2000,"binc":2000,"status":"{status}"}}"#
    )
}
