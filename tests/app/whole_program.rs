//! Whole games of the bot on the practice server: as a new user starts them, many at a time, under
//! every fault, and through a kill.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use megaton::bot::{
    self, BotOptions, BotState, BotTiming, EventBus, ListSources, Settings, Shutdown,
};
use megaton::config::{self, Config};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{self, Client, ClientOptions, Token};
use megaton::practice::{
    Attribution, Endpoint, Event, Fault, Options, Partner, Schedule, Server, ServerHandle, Status,
    TimeControl, Timing,
};
use rustix::process::{Pid, Signal, kill_process};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::program::{command, finish, megaton};

/// A test that waits longer waits for something that will not come.
const GUARD: Duration = Duration::from_secs(240);

const BOT: &str = "Megaton";
/// How much faster than Lichess and its clients everything runs here.
const FACTOR: u32 = 20;

async fn server() -> ServerHandle {
    let options = Options {
        timing: Timing::scaled(FACTOR),
        ..Options::default()
    };
    Server::start(options).await.expect("a port")
}

/// The bot in this process, with one node for each move.
fn put_on(server: &ServerHandle) -> JoinHandle<()> {
    put_on_with(server, Config::default())
}

fn put_on_with(server: &ServerHandle, mut config: Config) -> JoinHandle<()> {
    let token = server.open_bot(BOT).expect("a good name");
    let client = Client::new(ClientOptions {
        base_url: server.url().to_owned(),
        token: Token::parse(&token, "the test").expect("a good token"),
        contact: None,
        timing: lichess::Timing::default().faster(FACTOR),
    });
    config.challenge.concurrency = 8;
    let search = config::Engine {
        nodes: NonZeroU64::new(1),
        ..config::Engine::default()
    };
    let options = BotOptions {
        exclusive: false,
        client: client.expect("a good address"),
        pool: Pool::new(&EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        }),
        settings: Settings {
            engine: search,
            ..config.clone()
        },
        timing: BotTiming::default().faster(FACTOR),
        event_bus: EventBus::default(),
        state: BotState::nowhere(),
        lists: ListSources::default(),
    };
    tokio::spawn(async move {
        bot::run(options, Shutdown::default())
            .await
            .expect("the bot can play");
    })
}

fn schedule(games: usize, concurrency: usize) -> Schedule {
    Schedule {
        games,
        concurrency,
        partners: vec![
            Partner::Random,
            Partner::Greedy,
            Partner::Engine { nodes: 100 },
        ],
        time: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        ..Schedule::default()
    }
}

#[test]
fn the_two_games_of_a_new_user_are_played_and_summarized() {
    let ran = megaton(&[
        "practice",
        "--games",
        "2",
        "--headless",
        "--log-level",
        "info",
    ]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("2 of 2 games: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("illegal moves: 0;"), "{}", ran.stdout);
    let moves = ran
        .stdout
        .lines()
        .filter(|line| line.contains("Megaton  "))
        .count();
    assert!(moves > 4, "one line a move: {}", ran.stdout);
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

#[test]
fn practising_serves_the_page_spars_and_ends_at_the_first_interrupt() {
    let mut child = command(&["practice", "--port", "0", "--guest", "OtherBot=lip_other"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines = BufReader::new(child.stdout.take().expect("its stdout")).lines();
    let mut said = Vec::new();
    for line in lines {
        said.push(line.expect("stdout is text"));
        if said.last().is_some_and(|line| line.contains("1. ")) {
            break;
        }
    }
    assert!(
        said[0].contains("OtherBot may connect to http://127.0.0.1:"),
        "{said:?}"
    );
    let url = said[1]
        .split(' ')
        .find(|word| word.starts_with("http"))
        .expect("an address");
    assert!(said[1].starts_with("Play Megaton at "), "{said:?}");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let mut socket = TcpStream::connect(address).expect("the page is served");
    write!(
        socket,
        "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .expect("a request");
    let mut page = String::new();
    socket.read_to_string(&mut page).expect("an answer");
    assert!(
        page.starts_with("HTTP/1.1 200 OK") && page.contains("<html"),
        "{page}"
    );
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    assert_eq!(finish(&mut child, Duration::from_secs(30)), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_games_eight_at_a_time_are_clean() {
    let server = server().await;
    let bot = put_on(&server);
    let report = server
        .play(BOT, schedule(20, 8), CancellationToken::new())
        .await;
    assert!(report.is_clean(), "{report}");
    assert!(
        report.games.iter().all(|game| game.out_of_turn == 0),
        "{report}"
    );
    bot.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_without_a_clock_are_played_if_enabled() {
    for time in [
        TimeControl::Correspondence { days: 2 },
        TimeControl::Unlimited,
    ] {
        let server = server().await;
        let mut config = Config::default();
        config.challenge.bots.correspondence = true;
        config.challenge.bots.unlimited = true;
        config.correspondence.poll = Duration::from_millis(50);
        let bot = put_on_with(&server, config);
        let slow = Schedule {
            time,
            rated: false,
            partners: vec![Partner::Engine { nodes: 100 }],
            ..schedule(4, 4)
        };
        let report = server.play(BOT, slow, CancellationToken::new()).await;
        assert!(report.is_clean(), "{time:?}: {report}");
        bot.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_replies_bad_gateways_and_limits_cost_no_game() {
    let server = server().await;
    for status in [500, 502, 503, 504, 429] {
        server.faults().add(Endpoint::Move, Fault::LoseReply);
        server
            .faults()
            .add(Endpoint::Move, Fault::Refuse { status });
        server.faults().add(Endpoint::Move, Fault::LoseRequest);
        server
            .faults()
            .add(Endpoint::Move, Fault::DoneBut { status });
        server
            .faults()
            .add(Endpoint::Move, Fault::Late(Duration::from_millis(30)));
    }
    server
        .faults()
        .add(Endpoint::Account, Fault::Refuse { status: 502 });
    server.faults().add(Endpoint::Accept, Fault::LoseReply);
    server
        .faults()
        .add(Endpoint::Accept, Fault::DoneBut { status: 502 });
    let bot = put_on(&server);
    let report = server
        .play(BOT, schedule(6, 1), CancellationToken::new())
        .await;
    assert!(report.is_clean(), "{report}");
    assert_eq!(
        server.faults().waiting(Endpoint::Move),
        0,
        "every fault struck: {report}"
    );
    bot.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_that_end_break_and_fall_silent_cost_no_game() {
    let server = server().await;
    let nonsense = [
        "{\"type\":\"gameState\",\"moves\":\"e2",
        "<html>502</html>",
        "{\"type\":\"news\",\"of\":[\"tomorrow\"]}",
    ];
    for lines in [0, 1, 2] {
        server
            .faults()
            .add(Endpoint::GameStream, Fault::EndAfter(lines));
        server
            .faults()
            .add(Endpoint::GameStream, Fault::BreakAfter(lines + 1));
        server
            .faults()
            .add(Endpoint::GameStream, Fault::SilentAfter(lines));
        server.faults().add(
            Endpoint::GameStream,
            Fault::SayAfter(1, nonsense[lines].to_owned()),
        );
        server
            .faults()
            .add(Endpoint::GameStream, Fault::Refuse { status: 502 });
    }
    server.faults().add(Endpoint::Events, Fault::EndAfter(1));
    server
        .faults()
        .add(Endpoint::Events, Fault::SayAfter(1, nonsense[1].to_owned()));
    server.faults().add(Endpoint::Events, Fault::BreakAfter(1));
    let bot = put_on(&server);
    let report = server
        .play(BOT, schedule(8, 2), CancellationToken::new())
        .await;
    assert_eq!(report.games.len(), 8, "{report}");
    assert!(report.is_clean(), "{report}");
    bot.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_of_the_server_costs_no_game() {
    let server = server().await;
    let bot = put_on(&server);
    let mut news = server.events();
    let slow = Schedule {
        pace: Duration::from_millis(20),
        ..schedule(4, 4)
    };
    let games = server.play(BOT, slow, CancellationToken::new());
    let restarts = async {
        let mut moves = 0;
        while moves < 60 {
            if !matches!(news.recv().await, Ok(Event::Moved { .. })) {
                continue;
            }
            moves += 1;
            if moves % 15 == 0 {
                for place in [Endpoint::GameStream, Endpoint::Move, Endpoint::Events] {
                    server.faults().add(place, Fault::Refuse { status: 503 });
                    server.faults().add(place, Fault::LoseRequest);
                }
                server.break_streams();
            }
        }
        std::future::pending::<()>().await;
    };
    let report = tokio::select! {
        report = games => report,
        () = restarts => unreachable!("it waits for ever"),
    };
    assert_eq!(report.games.len(), 4, "{report}");
    assert!(report.is_clean(), "{report}");
    bot.abort();
}

/// A started `megaton run`, killed when it is dropped.
struct Running(Child);

impl Running {
    fn start(config: &Path, token: &str) -> Self {
        let child = command(&["run", "--log-level", "off", "--config"])
            .arg(config)
            .env("LICHESS_BOT_TOKEN", token)
            .stderr(Stdio::null())
            .spawn();
        Self(child.expect("the program starts"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Until a move of the bot is under way: it has come in, and its answer has not gone out.
async fn posting(server: &ServerHandle) {
    let calls = || server.traffic().calls.get("move").copied().unwrap_or(0);
    let before = calls();
    while calls() == before {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_killed_with_moves_in_flight_resumes_all_games() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let text = format!(
        "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 500\n[variety]\nenabled = false\n",
        server.url()
    );
    fs::write(&config, text).expect("a config");
    let mut news = server.events();
    let kills = async {
        // Lost with the answer outstanding; lost before it was carried out; and just like that.
        let faults = [
            Some(Fault::DoneInSilence),
            Some(Fault::Late(Duration::from_secs(5))),
            None,
        ];
        let mut running = Running::start(&config, &token);
        for fault in faults {
            let mut moves = 0;
            while moves < 12 {
                let event = news.recv().await;
                moves += usize::from(matches!(event, Ok(Event::Moved { .. })));
            }
            if let Some(fault) = fault {
                server.faults().add(Endpoint::Move, fault);
                while server.faults().waiting(Endpoint::Move) > 0 {
                    posting(&server).await;
                }
            }
            drop(running);
            running = Running::start(&config, &token);
        }
        running
    };
    let slow = Schedule {
        // Sides that do not lose at once: the games outlast all the kills.
        partners: vec![Partner::Engine { nodes: 1000 }],
        pace: Duration::from_millis(100),
        ..schedule(4, 4)
    };
    let games = server.play(BOT, slow, CancellationToken::new());
    let both = async { tokio::join!(games, kills) };
    let (report, last) = tokio::time::timeout(GUARD, both)
        .await
        .expect("games that end");
    drop(last);
    assert_eq!(report.games.len(), 4, "{report}");
    // Anyone who is killed before a move has arrived knows nothing of it, and may choose another.
    let other_move = Attribution::Client("it sent another move for the same ply");
    for game in &report.games {
        let by_move = matches!(
            game.status,
            Status::Mate | Status::VariantEnd | Status::Stalemate | Status::Draw
        );
        let is_fine = game.is_clean() || (game.attribution == other_move && by_move);
        assert!(is_fine, "{}: {:?}", game.attribution, game.trace);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_bot_resumes_its_game() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let text = format!(
        "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 1\n",
        server.url()
    );
    fs::write(&config, text).expect("a config");
    let mut news = server.events();
    let first = Running::start(&config, &token);
    let restart = tokio::spawn(async move {
        while !matches!(news.recv().await, Ok(Event::Moved { ply: 4, .. })) {}
        drop(first);
        Running::start(&config, &token)
    });
    let slow = Schedule {
        partners: vec![Partner::Random],
        pace: Duration::from_millis(100),
        ..schedule(1, 1)
    };
    let report = server.play(BOT, slow, CancellationToken::new()).await;
    let second = restart.await.expect("the game came to its fourth move");
    drop(second);
    assert!(report.is_clean(), "{report}");
    assert!(report.games[0].plies > 4, "{report}");
}
