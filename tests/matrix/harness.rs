//! A server with a fault, the bot on it, and what must hold afterwards whatever the fault.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::num::NonZeroU64;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use futures::future;
use megaton::bot::{
    self, AlertKind, BotEvent, BotOptions, BotState, BotTiming, Command, ControlHandle, EventBus,
    ListSources, Reply, Settings, Shutdown, StateRules, Status,
};
use megaton::config;
use megaton::engine::{EngineOptions, Evaluator, Pool};
use megaton::lichess::{self, Client, ClientOptions, GameId, Token};
use megaton::practice::{
    ArenaPlan, Endpoint, Fault, GamePhase, Injection, OpponentBehavior, Options, Partner, Schedule,
    ScheduleReport, Server, ServerFault, ServerHandle, TimeControl, Timing, Trigger,
};
use tokio::sync::Semaphore;
use tokio::sync::broadcast::{self, error::RecvError, error::TryRecvError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) const BOT: &str = "Megaton";
/// How many times as fast as Lichess everything runs.
pub(crate) const SPEED: u32 = 30;
/// Calls take so long at most before they count as lost: this machine has other things to do.
const CALL: Duration = Duration::from_millis(250);
/// Cells under way at once for each core, in all tests together: more would make the bots late. As
/// many again may wait meanwhile.
const CELLS_PER_CORE: usize = 8;
/// No cell takes longer; a hang ends there.
pub(crate) const GUARD: Duration = Duration::from_secs(60);
/// From the loss of a stream to its next opening: so many seconds of Lichess at most by the rules of
/// the bot, by what was lost how; the first row that fits counts. What the machine takes for it comes
/// on top (`STALL`, `OPENING`).
const RECOVERIES: [(&str, u32); 5] = [
    // Ten of silence, and the longest wait before a reopening, two.
    ("game: stream silent", 12),
    // Who had not opened it yet hears of the game from the event stream, which is away too: a minute
    // of small calls at the worst, a second as a rule.
    ("game: server restart", 60),
    // Noticed at once; waits of half a second, of one and, after many, of two.
    ("game: ", 2),
    // Fifteen of silence, and the first waits.
    ("events: stream silent", 20),
    // Noticed at once; waits of up to 1, 1.5 and 2.25, should it be lost again meanwhile.
    ("events: ", 5),
];
/// What each opening of a game's stream that is refused adds, in seconds of Lichess: a clock runs.
const REFUSED_GAME: u32 = 2;
/// The same of the event stream: a minute where the answer asks for it (401, 429), and twice as long
/// the second time that it names no wait.
const REFUSED_EVENTS: u32 = 90;
/// An opening that no one answers is given up after this.
const OPENING: Duration = Duration::from_millis(500);
/// What a machine adds on which eight cells share each core; it stands still for 400 ms at times.
const STALL: Duration = Duration::from_millis(1500);
/// Half-moves before a fault strikes in the middle of a game.
const MIDDLE: usize = 4;

/// One cell of the matrix.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a question of its own"
)]
pub(crate) struct Cell {
    pub(crate) name: String,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) calls: Vec<(Endpoint, Fault)>,
    pub(crate) behavior: Option<OpponentBehavior>,
    /// Scheduled games: a second one shows that the bot still hears.
    pub(crate) games: usize,
    /// Whether someone is to blame for how a game ends, though not the bot.
    pub(crate) unplayed: bool,
    /// Whether people challenge, and to games that change no rating.
    pub(crate) people: bool,
    pub(crate) casual: bool,
    /// Whether the games are those of an arena that the bot joins.
    pub(crate) arena: bool,
    /// Whether the event stream, which is lost, must be open again in the end.
    pub(crate) reopens: bool,
    /// Whether every fault of a call must have been met in the end.
    pub(crate) meets: bool,
    /// The status with which every game must end, where it matters.
    pub(crate) ends: Option<&'static str>,
}

impl Cell {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            triggers: Vec::new(),
            calls: Vec::new(),
            behavior: None,
            games: 1,
            unplayed: false,
            people: false,
            casual: false,
            arena: false,
            reopens: false,
            meets: false,
            ends: None,
        }
    }

    /// A blow at a phase, in the middle of the game where the phase is there.
    pub(crate) fn at(phase: GamePhase, injection: Injection) -> Self {
        Self::new(format!("{} at {}", injection.name(), phase.name())).with(phase, injection, 1)
    }

    pub(crate) fn with(mut self, phase: GamePhase, injection: Injection, times: u32) -> Self {
        let ply = match phase {
            GamePhase::Begin | GamePhase::Ending => 0,
            _ => MIDDLE,
        };
        self.triggers
            .push(Trigger::at(phase, injection).from_ply(ply).times(times));
        self
    }

    pub(crate) fn call(mut self, place: Endpoint, fault: Fault) -> Self {
        self.calls.push((place, fault));
        self
    }

    pub(crate) fn in_arena(mut self) -> Self {
        self.name.push_str(", in an arena");
        self.arena = true;
        self
    }

    pub(crate) fn games(mut self, games: usize) -> Self {
        self.games = games;
        self
    }

    pub(crate) fn reopens(mut self) -> Self {
        self.reopens = true;
        self
    }

    /// How long a stream that was lost so may be away.
    fn recovery(&self, how: &str) -> Duration {
        let row = RECOVERIES.iter().find(|(lost, _)| how.starts_with(*lost));
        let (place, each) = if how.starts_with("events") {
            (Endpoint::Events, REFUSED_EVENTS)
        } else {
            (Endpoint::GameStream, REFUSED_GAME)
        };
        let refused = self.refusals(place);
        let seconds = row.map_or(0, |(_, seconds)| *seconds) + refused * each;
        let machine = STALL + OPENING * (1 + refused);
        Duration::from_secs(u64::from(seconds)) / SPEED + machine
    }

    /// How many faults the cell has for the calls at a place.
    fn refusals(&self, place: Endpoint) -> u32 {
        let here = self.call_faults().filter(|(at, ..)| *at == place);
        here.map(|(.., times)| times).sum()
    }

    /// Its faults of calls: where, what, and how often.
    fn call_faults(&self) -> impl Iterator<Item = (Endpoint, &Fault, u32)> {
        let injected = self.triggers.iter();
        let injected = injected.filter_map(|trigger| match &trigger.injection {
            Injection::Call(at, fault) => Some((*at, fault, trigger.times)),
            _ => None,
        });
        let first = self.calls.iter().map(|(at, fault)| (*at, fault, 1));
        injected.chain(first)
    }

    /// Whether it hardly computes: it waits for a limit to pass, or for someone who does not move.
    fn waits(&self) -> bool {
        let is_limited = |fault: &Fault| match fault {
            Fault::Answer(reply) | Fault::DoneThen(reply) => reply.status == 429,
            _ => false,
        };
        let no_shows = |trigger: &Trigger| {
            let injection = &trigger.injection;
            matches!(injection, Injection::World(ServerFault::NoShows { .. }))
        };
        let idle = [OpponentBehavior::NeverMoves, OpponentBehavior::Leaves];
        self.behavior
            .is_some_and(|behavior| idle.contains(&behavior))
            || self.call_faults().any(|(_, fault, _)| is_limited(fault))
            || self.triggers.iter().any(no_shows)
    }
}

/// A server of its own.
pub(crate) async fn server() -> ServerHandle {
    server_in(Timing::fast(SPEED)).await
}

/// The same with other times.
pub(crate) async fn server_in(timing: Timing) -> ServerHandle {
    let options = Options {
        timing,
        ..Options::default()
    };
    Server::start(options).await.unwrap()
}

/// A bot on a server, and what it tells.
pub(crate) struct Running {
    pub(crate) task: JoinHandle<()>,
    pub(crate) shutdown: Shutdown,
    pub(crate) control: ControlHandle,
    pub(crate) news: broadcast::Receiver<BotEvent>,
    /// The same events for [`Running::alerts`], which misses none that someone else reads.
    alert_news: broadcast::Receiver<BotEvent>,
}

impl Running {
    /// The alerts raised since the last call.
    pub(crate) fn alerts(&mut self) -> Vec<AlertKind> {
        let told = std::iter::from_fn(|| match self.alert_news.try_recv() {
            Ok(event) => Some(event),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
            Err(TryRecvError::Lagged(lost)) => panic!("{lost} events were lost"),
        });
        let raised = told.filter_map(|event| match event {
            BotEvent::AlertRaised { kind, .. } => Some(kind),
            _ => None,
        });
        raised.collect()
    }

    /// What it says of itself.
    pub(crate) async fn status(&self) -> Status {
        match self.control.ask(Command::Status, GUARD).await {
            Ok(Reply::Status(status)) => *status,
            other => panic!("{other:?}"),
        }
    }

    /// Tells it to do something, which must be possible.
    pub(crate) async fn told(&self, command: Command) {
        let reply = self.control.ask(command, GUARD).await;
        assert!(matches!(reply, Ok(Reply::Done(_))), "{reply:?}");
    }

    /// Until it tells something of this kind.
    pub(crate) async fn tells<T>(&mut self, wanted: impl Fn(&BotEvent) -> Option<T>) -> T {
        let telling = async {
            loop {
                match self.news.recv().await {
                    Ok(event) => {
                        if let Some(told) = wanted(&event) {
                            return told;
                        }
                    }
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => panic!("the bot has exited"),
                }
            }
        };
        tokio::time::timeout(GUARD, telling).await.unwrap()
    }

    /// Until no slot is taken any more: nothing has leaked.
    pub(crate) async fn is_at_rest(&self) {
        self.is_at_rest_after("all of it").await;
    }

    /// The same, after what a test calls so.
    pub(crate) async fn is_at_rest_after(&self, what: &str) {
        until(&format!("no slot is taken after {what}"), async || {
            let status = self.status().await;
            status.slots.taken == 0 && status.waiting == 0 && status.games.is_empty()
        })
        .await;
    }

    /// Ends it in good order.
    pub(crate) async fn end(self) {
        self.shutdown.drain.cancel();
        let ended = tokio::time::timeout(GUARD, self.task).await;
        ended.unwrap().unwrap();
    }
}

/// Until something has become so.
pub(crate) async fn until(what: &str, so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(GUARD, waiting).await;
    assert!(waited.is_ok(), "waiting in vain: {what}");
}

/// Puts the bot on a server; it thinks for some milliseconds, so that there is a phase of that.
pub(crate) fn put_on(server: &ServerHandle, token: &str) -> (JoinHandle<()>, Shutdown) {
    put_on_with(server, token, |_| {})
}

pub(crate) fn put_on_with(
    server: &ServerHandle,
    token: &str,
    change: impl FnOnce(&mut Settings),
) -> (JoinHandle<()>, Shutdown) {
    let running = start(server, token, change);
    (running.task, running.shutdown)
}

/// A client as fast as the server, for all but the bot: it does not give up a call on a machine
/// that stands still.
pub(crate) fn client(server: &ServerHandle, token: &str) -> Client {
    client_with(server, token, CALL * 16)
}

fn client_with(server: &ServerHandle, token: &str, call: Duration) -> Client {
    client_for(server.url(), token, call)
}

/// The bot's client, which finds the server there.
pub(crate) fn client_at(url: &str, token: &str) -> Client {
    client_for(url, token, CALL * 2)
}

fn client_for(url: &str, token: &str, call: Duration) -> Client {
    let usual = lichess::Timing::default().faster(SPEED);
    let client = Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse(token, "the test").unwrap(),
        contact: None,
        timing: lichess::Timing {
            game_opening: CALL,
            connect: CALL,
            call,
            move_call: CALL,
            ..usual
        },
    });
    client.unwrap()
}

pub(crate) fn start(
    server: &ServerHandle,
    token: &str,
    change: impl FnOnce(&mut Settings),
) -> Running {
    start_with(client_with(server, token, CALL * 2), change)
}

/// The same with a client that finds the server by itself.
pub(crate) fn start_with(client: Client, change: impl FnOnce(&mut Settings)) -> Running {
    remembering(client, BotState::nowhere(), change)
}

/// The same with the state of an earlier bot, or a clock of its own.
pub(crate) fn remembering(
    client: Client,
    memory: BotState,
    change: impl FnOnce(&mut Settings),
) -> Running {
    let mut settings = Settings {
        engine: config::Engine {
            movetime: Some(Duration::from_millis(10)),
            nodes: NonZeroU64::new(800),
            ..config::Engine::default()
        },
        ..Settings::default().faster(SPEED)
    };
    settings.challenge.concurrency = 64;
    settings.limits.bot_games = 10_000;
    change(&mut settings);
    begin(client, memory, settings)
}

fn begin(client: Client, memory: BotState, settings: Settings) -> Running {
    memory.set_rules(StateRules::from(&settings));
    let event_bus = EventBus::default();
    let options = BotOptions {
        exclusive: false,
        client,
        pool: Pool::in_background(&EngineOptions {
            hash_mb: 1,
            // The partner has the net: the games last, however good it becomes.
            evaluator: Evaluator::classical(),
            ..EngineOptions::default()
        }),
        settings,
        state: memory,
        lists: ListSources::default(),
        timing: BotTiming {
            post_limit: CALL,
            ..BotTiming::default().faster(SPEED)
        },
        event_bus: event_bus.clone(),
    };
    let (shutdown, news) = (Shutdown::default(), event_bus.subscribe());
    let alert_news = event_bus.subscribe();
    let (control, commands) = bot::channel();
    let running = bot::run_commanded(options, shutdown.clone(), commands);
    let task = tokio::spawn(async move { running.await.unwrap() });
    Running {
        task,
        shutdown,
        control,
        news,
        alert_news,
    }
}

/// Games against a partner that lasts for some moves.
pub(crate) fn schedule(games: usize, concurrency: usize) -> Schedule {
    Schedule {
        games,
        concurrency,
        partners: vec![Partner::Engine { nodes: 400 }],
        time: TimeControl::Clock {
            limit: 180,
            increment: 2,
        },
        pace: Duration::from_millis(5),
        ..Schedule::default()
    }
}

/// Room for the cases that compute, and for those that mostly wait.
static BUSY: LazyLock<Semaphore> = LazyLock::new(room);
static WAITING: LazyLock<Semaphore> = LazyLock::new(room);

fn room() -> Semaphore {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    Semaphore::new(CELLS_PER_CORE * cores)
}

/// Runs every case, as many at once as the machine has room for beside those of the other tests.
pub(crate) async fn run_all<C, R>(
    cases: impl IntoIterator<Item = C>,
    run: impl AsyncFn(C) -> R,
) -> Vec<R> {
    run_in(&BUSY, cases, &run).await
}

/// The same for cases that mostly wait.
pub(crate) async fn run_waiting<C, R>(
    cases: impl IntoIterator<Item = C>,
    run: impl AsyncFn(C) -> R,
) -> Vec<R> {
    run_in(&WAITING, cases, &run).await
}

async fn run_in<C, R>(
    room: &Semaphore,
    cases: impl IntoIterator<Item = C>,
    run: &impl AsyncFn(C) -> R,
) -> Vec<R> {
    let in_turn = cases.into_iter().map(|case| async move {
        let _room = room.acquire().await.unwrap();
        run(case).await
    });
    future::join_all(in_turn).await
}

/// Plays every cell and says of all of them what went wrong.
pub(crate) async fn play(cells: Vec<Cell>) {
    let count = cells.len();
    let (waiting, busy): (Vec<_>, Vec<_>) = cells.into_iter().partition(Cell::waits);
    let (waited, played) =
        future::join(run_in(&WAITING, waiting, &cell), run_in(&BUSY, busy, &cell)).await;
    let wrong: Vec<String> = waited.into_iter().chain(played).flatten().collect();
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
    for trigger in &cell.triggers {
        server.faults().trigger(trigger.clone());
    }
    for (place, fault) in &cell.calls {
        server.faults().add(*place, fault.clone());
    }
    if let Some(behavior) = cell.behavior {
        server.faults().set_behavior(behavior);
    }
    let token = server.open_bot(BOT).unwrap();
    // It is there before the bot looks for one.
    let arena = cell.arena.then(|| open_arena(&server));
    let bot = start(&server, &token, |settings| {
        settings.arena.auto = cell.arena;
        if cell.behavior == Some(OpponentBehavior::AsksTakebacks) {
            // The proposal comes after the opponent's move, and the bot is to hear it while it thinks.
            settings.engine.movetime = Some(Duration::from_millis(20));
            settings.engine.nodes = None;
        }
    });
    let over = CancellationToken::new();
    let doubled = tokio::spawn(doubled(bot.news, over.clone()));
    let schedule = Schedule {
        people: cell.people,
        rated: !cell.casual,
        ..schedule(cell.games, 1)
    };
    let games = async {
        match &arena {
            Some(id) => ScheduleReport {
                asked: cell.games,
                games: server.arena_games(id, cell.games).await,
            },
            None => server.play(BOT, schedule, CancellationToken::new()).await,
        }
    };
    let Ok(report) = tokio::time::timeout(GUARD, games).await else {
        return Some(format!("{}: it hangs; {:?}", cell.name, server.traffic()));
    };
    if cell.reopens {
        until(&format!("{}: it hears again", cell.name), async || {
            let found = server.traffic().recoveries;
            found.keys().any(|how| how.starts_with("events"))
        })
        .await;
    }
    bot.shutdown.drain.cancel();
    let ended = tokio::time::timeout(GUARD, bot.task).await;
    // Other games that run meanwhile have come to their end.
    let mut wrong = complaints(&server, &cell, &report);
    if ended.is_err() {
        wrong.push_str("the bot did not come to its end; ");
    }
    over.cancel();
    for game in doubled.await.unwrap() {
        let _ = write!(wrong, "two players in {game}; ");
    }
    let waits = |(place, _): &(Endpoint, Fault)| server.faults().waiting(*place) > 0;
    if cell.meets && cell.calls.iter().any(waits) {
        wrong.push_str("no call met the fault; ");
    }
    server.shutdown().await;
    (!wrong.is_empty()).then(|| format!("{}: {wrong}", cell.name))
}

/// The games at which another player of the bot sat down while one was there, of all that it tells
/// until it is `over`.
///
/// A player tells once that it has joined, however often its stream is opened; one that failed or
/// that has finished has left.
pub(crate) async fn doubled(
    mut news: broadcast::Receiver<BotEvent>,
    over: CancellationToken,
) -> Vec<GameId> {
    let mut seated = HashSet::new();
    let mut doubled = Vec::new();
    loop {
        let event = tokio::select! {
            event = news.recv() => event,
            // What it told before its end is still there.
            () = over.cancelled() => news.try_recv().map_err(|error| match error {
                TryRecvError::Lagged(lost) => RecvError::Lagged(lost),
                TryRecvError::Empty | TryRecvError::Closed => RecvError::Closed,
            }),
        };
        match event {
            Ok(BotEvent::Joined { game, .. }) => {
                let alone = seated.insert(game.clone());
                doubled.extend((!alone).then_some(game));
            }
            Ok(BotEvent::GameTaskFailed { game, .. }) => {
                seated.remove(&game);
            }
            Ok(BotEvent::Finished { ending }) => {
                seated.remove(&ending.game);
            }
            Ok(_) => {}
            // Who left meanwhile is not known: no one is complained of without proof.
            Err(RecvError::Lagged(_)) => seated.clear(),
            Err(RecvError::Closed) => return doubled,
        }
    }
}

/// Opens an arena with two partners, so that each game has another opponent.
fn open_arena(server: &ServerHandle) -> String {
    let id = server.open_arena(ArenaPlan::default()).unwrap();
    for name in ["OnePartner", "OtherPartner"] {
        let pace = Duration::from_millis(5);
        server.enter(&id, name, Partner::Engine { nodes: 400 }, pace);
    }
    id
}

fn complaints(server: &ServerHandle, cell: &Cell, report: &ScheduleReport) -> String {
    let mut wrong = String::new();
    // One more game of an arena may be over by the time that they are counted.
    let few = report.games.len() < cell.games;
    if few || (!cell.arena && report.games.len() > cell.games) {
        let _ = write!(wrong, "{} games began; ", report.games.len());
    }
    let others = server.take_reports();
    for game in report.games.iter().chain(&others) {
        if game.attribution.is_ours() || (!cell.unplayed && !game.is_clean()) {
            let story = game.trace.join("\n    ");
            let _ = write!(
                wrong,
                "{} after {} plies, to blame: {}\n    {story}\n  ",
                game.status.name(),
                game.plies,
                game.attribution
            );
        }
        if cell.ends.is_some_and(|status| status != game.status.name()) {
            let _ = write!(wrong, "a game ended by {}; ", game.status.name());
        }
        // A call a move, and what a fault may cost beside.
        let most = game.plies.div_ceil(2) + 40;
        if game.calls as usize > most {
            let _ = write!(wrong, "{} calls for {} plies; ", game.calls, game.plies);
        }
    }
    let planned: u32 = cell.triggers.iter().map(|trigger| trigger.times).sum();
    let injected = planned - server.faults().faults_left();
    if (injected as usize) < cell.triggers.len() {
        wrong.push_str("it never struck; ");
    }
    let traffic = server.traffic();
    // Anyone who runs into limits and then waits as told has still done too much.
    let triggers = cell.triggers.iter().map(|trigger| trigger.injection.name());
    let mut names = triggers.chain([cell.name.clone()]);
    if !names.any(|name| name.contains("429")) && traffic.limited > 0 {
        let _ = write!(wrong, "{} refused for the rate; ", traffic.limited);
    }
    if !traffic.too_soon.is_empty() {
        let _ = write!(wrong, "{:?}; ", traffic.too_soon);
    }
    if traffic.most_openings > 20 {
        let _ = write!(wrong, "{} event streams; ", traffic.most_openings);
    }
    for (how, times) in &traffic.recoveries {
        let most = cell.recovery(how);
        if times.iter().any(|time| *time > most) {
            let _ = write!(wrong, "{how} took {times:?}, more than {most:?}; ");
        }
    }
    wrong
}
