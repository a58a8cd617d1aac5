//! From the opponent's move on the wire to our move on the wire, with the whole bot between: stream,
//! table, call, and one node of search where there is a choice.
//!
//! `cargo bench --bench latency [GAMES [MINUTES]]`. A server of blocking sockets announces games, one, eight and
//! thirty-two at a time, writes the opponent's moves and stops the watch when the head of our call is
//! in. Forced moves (one legal move, no search) are told apart, and so is the slowest game of all:
//! none may starve. Also told: requests a game and the memory of the process, this server included.
//! Then all of it again while someone has the page open, the figures are asked for every second and
//! every game goes to an archive; and again and again until so many minutes are over.
//! An idle machine is needed for figures worth keeping.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use megaton::archive::FILE_NAME;
use megaton::bot::{
    ArchiveRules, Archiver, BotOptions, BotState, BotTiming, ControlHandle, EventBus, ListSources,
    Settings, Shutdown, channel as command_channel, run_commanded,
};
use megaton::config::{self, Config, Panel};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{Client, ClientOptions, Timing, Token};
use megaton::panel::{
    Health, Http, HttpSources, MetricSources, Metrics, Reloader, SelfTest, StatusWatch,
};
use megaton::practice::resident_kilobytes;
use megaton::rules::{Game, RepetitionRule};

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Games of each kind at each width, unless the command line says another number.
const GAMES: usize = 64;
/// Games at the same time.
const WIDTHS: [usize; 3] = [1, 8, 32];
/// Moves of ours in a game, at most.
const MOVES: usize = 30;
/// The people who play them.
const OPPONENTS: usize = 500;
/// The opponent's thinking time.
const PAUSE: Duration = Duration::from_millis(3);
/// Longest wait for anything.
const GUARD: Duration = Duration::from_secs(10);
/// Threads of the runtime, as `megaton run` has them.
const WORKERS: usize = 2;

const STREAM_HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\nconnection: close\r\n\r\n";

fn main() -> Result<(), Failure> {
    let mut wanted = std::env::args().filter_map(|arg| arg.parse().ok());
    let games: usize = wanted.next().unwrap_or(GAMES);
    let minutes = wanted.next().unwrap_or(0) as u64;
    let server = Server::start()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()?;
    let shutdown = Shutdown::default();
    let (control, commands) = command_channel();
    let options = options(&server.url)?;
    let (event_log, pool) = (options.event_bus.event_log().clone(), options.pool.clone());
    let state = options.state.clone();
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join(FILE_NAME);
    let page = {
        let _entered = runtime.enter();
        open_page(&options, control, &server.url, &archive)?
    };
    let bot = runtime.spawn(run_commanded(options, shutdown.clone(), commands));
    let events = server.events.recv_timeout(GUARD)?;
    let desk = server.desk.clone();
    *lock(&desk.event_stream) = Some(events);
    let prefixes = Arc::new(forced(games.max(200)));
    measure(&desk, games, &prefixes)?;
    let looks = look(&page)?;
    let rules = ArchiveRules::from(&Config::default().archive);
    let archiver =
        runtime.block_on(Archiver::start(&archive, &event_log, &pool, &state, &rules))?;
    let looked_at = Instant::now();
    loop {
        writeln!(
            std::io::stdout().lock(),
            "\n{page} open for {:?}, the figures asked for every second, an archive",
            Duration::from_secs(looked_at.elapsed().as_secs())
        )?;
        measure(&desk, games, &prefixes)?;
        if looked_at.elapsed() >= Duration::from_secs(60 * minutes) {
            break;
        }
    }
    let (news, figures) = looks.map(|count| count.load(Ordering::Relaxed)).into();
    writeln!(
        std::io::stdout().lock(),
        "{news} bytes came to the page, the figures were told {figures} times"
    )?;
    shutdown.now.cancel();
    runtime.block_on(bot)??;
    runtime.block_on(archiver.finish());
    Ok(())
}

/// Plays at every width and says how long the answers took.
fn measure(desk: &Desk, games: usize, prefixes: &Arc<Vec<Game>>) -> Result<(), Failure> {
    for width in WIDTHS {
        let before = desk.requests.load(Ordering::Relaxed);
        let one_node = side_by_side(width, games, desk, &Arc::new(Vec::new()))?;
        let asked = desk.requests.load(Ordering::Relaxed) - before;
        report(&format!("{width:>2} games, one node"), &one_node)?;
        let forced = side_by_side(width, prefixes.len(), desk, prefixes)?;
        report(&format!("{width:>2} games, forced"), &forced)?;
        let moves: usize = one_node.iter().map(Vec::len).sum();
        let mut out = std::io::stdout().lock();
        writeln!(
            out,
            "          {:.1} requests a game of {:.1} moves; {} kB resident",
            asked as f64 / one_node.len() as f64,
            moves as f64 / one_node.len() as f64,
            resident_kilobytes()
        )?;
    }
    Ok(())
}

/// Serves the operator's page beside the bot, as `megaton run` does; says where.
fn open_page(
    options: &BotOptions,
    control: ControlHandle,
    server: &str,
    archive: &Path,
) -> Result<String, Failure> {
    let panel = Panel {
        listen: Some("127.0.0.1:0".parse()?),
        ..Panel::default()
    };
    let http = Http::open(&panel)?.ok_or("no page")?;
    let url = http.url();
    let (watch, watcher) = StatusWatch::new(control.clone());
    tokio::spawn(watcher.run());
    let (reloader, reload) = Reloader::new(None, Config::default(), control.clone());
    tokio::spawn(reloader.run());
    let health = Health::new(watch.clone(), SelfTest::default(), None);
    let metrics = Metrics::new(MetricSources {
        watch: watch.clone(),
        health: health.clone(),
        client: options.client.clone(),
        pool: options.pool.clone(),
    });
    tokio::spawn(metrics.clone().run(options.event_bus.subscribe()));
    tokio::spawn(http.serve(HttpSources {
        control,
        reload,
        event_log: options.event_bus.event_log().clone(),
        archive: Some(archive.to_owned()),
        health,
        metrics: Some(metrics),
        watch,
        server: server.to_owned(),
    }));
    Ok(url)
}

/// Has someone look at the page, and the figures asked for, from now on. Counts the bytes that come
/// to the page, and how often the figures were told.
fn look(page: &str) -> Result<[Arc<AtomicUsize>; 2], Failure> {
    let counts = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
    let [news, figures] = counts.clone();
    let host = page.trim_start_matches("http://").trim_end_matches('/');
    let host = host.to_owned();
    let mut live = ask(&host, "/api/live")?;
    thread::spawn(move || {
        let mut piece = vec![0; 1 << 16];
        while let Ok(read @ 1..) = live.read(&mut piece) {
            news.fetch_add(read, Ordering::Relaxed);
        }
    });
    thread::spawn(move || {
        while let Ok(mut answer) = ask(&host, "/metrics") {
            let mut text = String::new();
            let read = answer.read_to_string(&mut text);
            let is_told = read.is_ok() && text.contains("megaton_games_total");
            figures.fetch_add(usize::from(is_told), Ordering::Relaxed);
            thread::sleep(Duration::from_secs(1));
        }
    });
    Ok(counts)
}

fn ask(host: &str, path: &str) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(host)?;
    let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// The times of each game.
fn report(what: &str, games: &[Vec<Duration>]) -> Result<(), Failure> {
    let mut times: Vec<Duration> = games.concat();
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let (p50, p99, worst) = (at(0.5), at(0.99), at(1.0));
    let mean = |game: &Vec<Duration>| game.iter().sum::<Duration>() / game.len() as u32;
    let full = games.iter().filter(|game| !game.is_empty());
    let slowest = full.map(mean).max().unwrap_or_default();
    let count = times.len();
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{what:>18}: {count} moves, p50 {p50:?}, p99 {p99:?}, worst {worst:?}; \
         the slowest game's mean {slowest:?}"
    )?;
    Ok(())
}

/// Plays `games` games, `width` at a time: from a prefix each, or whole ones where there is none.
fn side_by_side(
    width: usize,
    games: usize,
    desk: &Desk,
    prefixes: &Arc<Vec<Game>>,
) -> Result<Vec<Vec<Duration>>, Failure> {
    let lanes = (0..width).map(|lane| {
        let (desk, prefixes) = (desk.clone(), Arc::clone(prefixes));
        thread::spawn(move || -> Result<Vec<Vec<Duration>>, Failure> {
            let mine = (lane..games).step_by(width);
            mine.map(|number| {
                let table = desk.sit_down()?;
                match prefixes.get(number) {
                    Some(prefix) => table.one_move(prefix),
                    None => table.whole_game(number),
                }
            })
            .collect()
        })
    });
    let lanes: Vec<_> = lanes.collect();
    let mut played = Vec::new();
    for lane in lanes {
        played.extend(lane.join().map_err(|_| "a lane broke")??);
    }
    Ok(played)
}

/// Games that end with a move of White's after which Black has exactly one.
fn forced(count: usize) -> Vec<Game> {
    let mut random = fastrand::Rng::with_seed(7);
    let mut found = Vec::new();
    while found.len() < count {
        let mut game = Game::new();
        while game.ply() < 60 && game.outcome(RepetitionRule::Threefold).is_none() {
            let legal = game.position().legal_moves();
            if game.ply() % 2 == 1 && legal.len() == 1 {
                found.push(game.clone());
                break;
            }
            game.push(legal[random.usize(0..legal.len())]);
        }
    }
    found
}

fn options(url: &str) -> Result<BotOptions, Failure> {
    let client = Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse("lip_bench", "the bench")?,
        contact: None,
        // So many games a minute as are played here no server has: its limits are per second then.
        timing: Timing {
            minute: Duration::from_secs(1),
            ..Timing::default()
        },
    })?;
    let mut settings = Settings {
        engine: config::Engine {
            nodes: NonZeroU64::new(1),
            ..config::Engine::default()
        },
        ..Settings::default()
    };
    // Games end here faster than the bot notices: no challenge shall be declined because every slot
    // seems taken.
    settings.challenge.concurrency = 1000;
    settings.variety.enabled = false;
    settings.chat.humans = false;
    Ok(BotOptions {
        exclusive: false,
        client,
        pool: Pool::in_background(&EngineOptions {
            hash_mb: 16,
            ..EngineOptions::default()
        }),
        settings,
        timing: BotTiming::default(),
        event_bus: EventBus::default(),
        state: BotState::nowhere(),
        lists: ListSources::default(),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What comes to a game.
enum Arrival {
    Stream(TcpStream),
    Move(Instant, String),
}

/// The server's ends of everything.
struct Server {
    url: String,
    events: Receiver<TcpStream>,
    desk: Desk,
}

/// What all connections and games share.
#[derive(Clone, Default)]
struct Desk {
    event_stream: Arc<Mutex<Option<TcpStream>>>,
    tables: Arc<Mutex<HashMap<String, Sender<Arrival>>>>,
    begun: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
}

/// The opponent's seat in one game.
struct Table {
    desk: Desk,
    id: String,
    arrivals: Receiver<Arrival>,
}

impl Server {
    fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let (events_in, events) = channel();
        let desk = Desk::default();
        let shared = desk.clone();
        thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let (desk, events) = (shared.clone(), events_in.clone());
                thread::spawn(move || serve(socket, &desk, &events));
            }
        });
        Ok(Self { url, events, desk })
    }
}

impl Desk {
    fn sit_down(&self) -> Result<Table, Failure> {
        let number = self.begun.fetch_add(1, Ordering::Relaxed);
        let id = format!("g{number:07}");
        let (arrive, arrivals) = channel();
        lock(&self.tables).insert(id.clone(), arrive);
        let mut events = lock(&self.event_stream);
        let stream = events.as_mut().ok_or("no event stream")?;
        write_line(stream, &announcement(&id))?;
        Ok(Table {
            desk: self.clone(),
            id,
            arrivals,
        })
    }

    fn hand_over(&self, id: &str, arrival: Arrival) -> Option<()> {
        lock(&self.tables).get(id)?.send(arrival).ok()
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        lock(&self.desk.tables).remove(&self.id);
    }
}

impl Table {
    fn stream(&self) -> Result<TcpStream, Failure> {
        match self.arrivals.recv_timeout(GUARD)? {
            Arrival::Stream(stream) => Ok(stream),
            Arrival::Move(..) => Err("a move before the stream".into()),
        }
    }

    /// Sends a line and waits for the move that answers it. Where the machine stood still, the move
    /// before that, `last`, may come again: its answer was late.
    fn time(
        &self,
        stream: &mut TcpStream,
        line: &str,
        last: &str,
    ) -> Result<(Duration, String), Failure> {
        let sent = Instant::now();
        write_line(stream, line)?;
        loop {
            match self.arrivals.recv_timeout(GUARD)? {
                // No piece makes the same move twice in a row.
                Arrival::Move(_, uci) if uci == last => {}
                Arrival::Move(came, uci) => return Ok((came - sent, uci)),
                Arrival::Stream(_) => return Err("a second stream".into()),
            }
        }
    }

    /// A whole game with the bot as Black; the times of its moves.
    fn whole_game(&self, number: usize) -> Result<Vec<Duration>, Failure> {
        let mut game = Game::new();
        let mut times = Vec::new();
        let mut last = String::new();
        let mut stream = self.stream()?;
        write_line(&mut stream, &full(&self.id, &state(&game, "started")))?;
        while times.len() < MOVES && reply(&mut game, number) {
            thread::sleep(PAUSE);
            let (time, uci) = self.time(&mut stream, &state(&game, "started"), &last)?;
            times.push(time);
            game.push_uci(&uci)?;
            last = uci;
            write_line(&mut stream, &state(&game, "started"))?;
        }
        write_line(&mut stream, &state(&game, "resign"))?;
        Ok(times)
    }

    /// One move, the only one there is.
    fn one_move(&self, after: &Game) -> Result<Vec<Duration>, Failure> {
        let mut before = after.clone();
        before.takeback(1);
        let mut stream = self.stream()?;
        write_line(&mut stream, &full(&self.id, &state(&before, "started")))?;
        thread::sleep(PAUSE);
        let (time, _) = self.time(&mut stream, &state(after, "started"), "")?;
        write_line(&mut stream, &state(after, "resign"))?;
        Ok(vec![time])
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
    // Black must have an answer that continues.
    game.outcome(RepetitionRule::Threefold).is_none()
}

fn serve(mut socket: TcpStream, desk: &Desk, events: &Sender<TcpStream>) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let mut buffer = Vec::new();
    loop {
        let path = request(&mut socket, &mut buffer)?;
        let came = Instant::now();
        desk.requests.fetch_add(1, Ordering::Relaxed);
        if path.ends_with("/stream/event") {
            socket.write_all(STREAM_HEAD.as_bytes()).ok()?;
            return events.send(socket).ok();
        }
        let parts: Vec<&str> = path.split('/').collect();
        if let ["", "api", "bot", "game", "stream", id] = parts[..] {
            socket.write_all(STREAM_HEAD.as_bytes()).ok()?;
            return desk.hand_over(id, Arrival::Stream(socket));
        }
        if let ["", "api", "bot", "game", id, "move", uci] = parts[..] {
            desk.hand_over(id, Arrival::Move(came, uci.to_owned()))?;
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

/// Who plays a game, of so many people.
fn opponent(id: &str) -> String {
    let number: usize = id.trim_start_matches('g').parse().unwrap_or_default();
    format!("them{}", number % OPPONENTS)
}

fn announcement(id: &str) -> String {
    let who = opponent(id);
    let opponent = format!(r#"{{"id":"{who}","username":"{who}","rating":1800}}"#);
    let status = r#"{"id":20,"name":"started"}"#;
    format!(
        r#"{{"type":"gameStart","game":{{"gameId":"{id}","id":"{id}","color":"black","status":{status},"variant":{{"key":"atomic","name":"Atomic"}},"speed":"blitz","rated":false,"opponent":{opponent},"compat":{{"bot":true,"board":true}}}}}}"#
    )
}

fn full(id: &str, state: &str) -> String {
    let who = opponent(id);
    let white = format!(r#"{{"id":"{who}","name":"{who}","rating":1800}}"#);
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
