//! A server with a fault, the bot on it, and what must be true afterwards whatever the fault was.

use std::fmt::Write as _;
use std::time::Duration;

use futures::stream::{self, StreamExt};
use megaton::bot::{
    self, BotOptions, ListSources, Listeners, Memory, MemoryRules, Pace, SearchLimits, Settings,
    Shutdown,
};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{self, Client, ClientOptions, Token};
use megaton::practice::{
    Blow, Fault, Handle, Mood, Options, Partner, Phase, Place, Report, Schedule, Server, Strike,
    TimeControl, Timing,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const BOT: &str = "Megaton";
/// How many times as fast as Lichess everything runs.
pub(crate) const SPEED: u32 = 30;
/// Calls take so long at most before they count as lost: this machine has other things to do.
const CALL: Duration = Duration::from_millis(250);
/// Cells under way at once.
const AT_ONCE: usize = 8;
/// No cell takes longer; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);
/// From the loss of a stream to its next opening, a hang guard: twenty times the idle limit.
const RECOVERY: Duration = Duration::from_secs(10);
/// Half-moves before a fault strikes in the middle of a game.
const MIDDLE: usize = 4;

/// One cell of the matrix.
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) strikes: Vec<Strike>,
    pub(crate) calls: Vec<(Place, Fault)>,
    pub(crate) mood: Option<Mood>,
    /// Scheduled games: a second one shows that the bot still hears.
    pub(crate) games: usize,
    /// Whether somebody is to blame for how a game ends, though not the bot.
    pub(crate) unplayed: bool,
}

impl Cell {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            strikes: Vec::new(),
            calls: Vec::new(),
            mood: None,
            games: 1,
            unplayed: false,
        }
    }

    /// A blow at a phase, in the middle of the game where the phase is there.
    pub(crate) fn at(phase: Phase, blow: Blow) -> Self {
        Self::new(format!("{} at {}", blow.name(), phase.name())).with(phase, blow, 1)
    }

    pub(crate) fn with(mut self, phase: Phase, blow: Blow, times: u32) -> Self {
        let ply = match phase {
            Phase::Begin | Phase::Ending => 0,
            _ => MIDDLE,
        };
        self.strikes
            .push(Strike::at(phase, blow).from_ply(ply).times(times));
        self
    }

    pub(crate) fn call(mut self, place: Place, fault: Fault) -> Self {
        self.calls.push((place, fault));
        self
    }

    pub(crate) fn games(mut self, games: usize) -> Self {
        self.games = games;
        self
    }
}

/// A server of its own.
pub(crate) async fn server() -> Handle {
    let options = Options {
        timing: Timing::in_a_hurry(SPEED),
        ..Options::default()
    };
    Server::start(options).await.unwrap()
}

/// Puts the bot on a server; it thinks for some milliseconds, so that there is a phase of that.
pub(crate) fn put_on(server: &Handle, token: &str) -> (JoinHandle<()>, Shutdown) {
    put_on_with(server, token, |_| {})
}

pub(crate) fn put_on_with(
    server: &Handle,
    token: &str,
    change: impl FnOnce(&mut Settings),
) -> (JoinHandle<()>, Shutdown) {
    let usual = lichess::Timing::default().faster(SPEED);
    let client = Client::new(ClientOptions {
        base_url: server.url().to_owned(),
        token: Token::parse(token, "the test").unwrap(),
        contact: None,
        timing: lichess::Timing {
            connect: CALL,
            call: CALL * 2,
            move_call: CALL,
            ..usual
        },
    });
    let mut settings = Settings {
        search: SearchLimits {
            movetime: Some(Duration::from_millis(10)),
            ..SearchLimits::default()
        },
        ..Settings::default().faster(SPEED)
    };
    settings.challenge.concurrency = 64;
    settings.limits.bot_games = 10_000;
    change(&mut settings);
    let memory = Memory::nowhere();
    memory.set_rules(MemoryRules::from(&settings));
    let options = BotOptions {
        client: client.unwrap(),
        pool: Pool::in_background(&EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        }),
        settings,
        memory,
        lists: ListSources::default(),
        pace: Pace {
            post_limit: CALL,
            ..Pace::default().faster(SPEED)
        },
        listeners: Listeners::default(),
    };
    let shutdown = Shutdown::default();
    let running = bot::run(options, shutdown.clone());
    let task = tokio::spawn(async move { running.await.unwrap() });
    (task, shutdown)
}

/// Games against a partner that lasts for some moves.
pub(crate) fn schedule(games: usize, concurrency: usize) -> Schedule {
    Schedule {
        games,
        concurrency,
        partners: vec![Partner::Engine { nodes: 60 }],
        time: TimeControl::Clock {
            limit: 180,
            increment: 2,
        },
        pace: Duration::from_millis(5),
        ..Schedule::default()
    }
}

/// Plays every cell and says of all of them what went wrong.
pub(crate) async fn play(cells: Vec<Cell>) {
    let count = cells.len();
    let wrong: Vec<String> = stream::iter(cells)
        .map(cell)
        .buffer_unordered(AT_ONCE)
        .filter_map(|wrong| async { wrong })
        .collect()
        .await;
    assert!(
        wrong.is_empty(),
        "{} of {count} cells:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// One cell; what went wrong in it.
async fn cell(cell: Cell) -> Option<String> {
    let server = server().await;
    for strike in &cell.strikes {
        server.faults().strike(strike.clone());
    }
    for (place, fault) in &cell.calls {
        server.faults().add(*place, fault.clone());
    }
    if let Some(mood) = cell.mood {
        server.faults().moods(mood);
    }
    let token = server.open_bot(BOT).unwrap();
    let (task, shutdown) = put_on(&server, &token);
    let games = server.play(BOT, schedule(cell.games, 1), CancellationToken::new());
    let Ok(report) = tokio::time::timeout(GUARD, games).await else {
        return Some(format!("{}: it hangs; {:?}", cell.name, server.traffic()));
    };
    let mut wrong = complaints(&server, &cell, &report);
    shutdown.drain.cancel();
    if tokio::time::timeout(GUARD, task).await.is_err() {
        wrong.push_str("the bot did not come to its end; ");
    }
    server.shutdown().await;
    (!wrong.is_empty()).then(|| format!("{}: {wrong}", cell.name))
}

fn complaints(server: &Handle, cell: &Cell, report: &Report) -> String {
    let mut wrong = String::new();
    if report.games.len() != cell.games {
        let _ = write!(wrong, "{} games began; ", report.games.len());
    }
    let others = server.take_reports();
    for game in report.games.iter().chain(&others) {
        if game.blame.is_ours() || (!cell.unplayed && !game.is_clean()) {
            let story = game.story.join("\n    ");
            let _ = write!(
                wrong,
                "{} after {} plies, to blame: {}\n    {story}\n  ",
                game.status.name(),
                game.plies,
                game.blame
            );
        }
        // A call a move, and what a fault may cost beside.
        let most = game.plies.div_ceil(2) + 40;
        if game.calls as usize > most {
            let _ = write!(wrong, "{} calls for {} plies; ", game.calls, game.plies);
        }
    }
    let planned: u32 = cell.strikes.iter().map(|strike| strike.times).sum();
    let struck = planned - server.faults().strikes_left();
    if (struck as usize) < cell.strikes.len() {
        wrong.push_str("it never struck; ");
    }
    let traffic = server.traffic();
    if !traffic.too_soon.is_empty() {
        let _ = write!(wrong, "{:?}; ", traffic.too_soon);
    }
    if traffic.most_openings > 20 {
        let _ = write!(wrong, "{} event streams; ", traffic.most_openings);
    }
    for (how, times) in &traffic.recoveries {
        if times.iter().any(|time| *time > RECOVERY) {
            let _ = write!(wrong, "{how} took {times:?}; ");
        }
    }
    wrong
}
