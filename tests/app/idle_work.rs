//! Archive work between games: daily summaries, pruning, reviews of games that were not won. The
//! whole bot on the practice server, with a simulated date.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use megaton::archive::{
    ArchiveEntry, ArchiveReader, Database, EndingRecord, EventRecord, FILE_NAME, GameRecord,
    Mistake, MoveRecord, ReviewRecord, dates,
};
use megaton::bot::{
    self, AnalysisRules, ArchiveRules, Archiver, BotOptions, BotState, BotTiming, ControlHandle,
    EventBus, EventLog, ListSources, MaintenanceRules, Settings, Shutdown,
};
use megaton::config::{self, AlertFormat, Alerts as AlertSettings, Archive};
use megaton::engine::{EngineOptions, Pool, Score};
use megaton::lichess::{Client, ClientOptions, Side, Status, Timing, Token};
use megaton::panel::{Address, Alerts, Delivery, StatusWatch};
use megaton::practice::ServerHandle;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::captured_log::CapturedLog;
use super::control::{BOT, Opponent, server, until};

const DAY: u64 = 24 * 3600 * 1000;

/// The bot, and those who work for the archive beside it.
struct Bot {
    event_bus: EventBus,
    control: ControlHandle,
    pool: Pool,
    state: BotState,
    archiver: Archiver,
    shutdown: Shutdown,
    task: JoinHandle<()>,
}

impl Bot {
    async fn start(
        server: &ServerHandle,
        token: &str,
        archive: &Path,
        rules: &ArchiveRules,
    ) -> Self {
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(token, "the test").expect("a good token"),
            contact: None,
            timing: Timing::default(),
        });
        let pool = Pool::new(&EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        });
        let event_bus = EventBus::default();
        let state = BotState::nowhere();
        let archiver = Archiver::start(archive, event_bus.event_log(), &pool, &state, rules).await;
        let search = config::Engine {
            nodes: NonZeroU64::new(1),
            ..config::Engine::default()
        };
        let options = BotOptions {
            exclusive: false,
            client: client.expect("a good address"),
            pool: pool.clone(),
            settings: Settings {
                engine: search,
                ..Settings::default()
            },
            timing: BotTiming::default(),
            event_bus: event_bus.clone(),
            state: state.clone(),
            lists: ListSources::default(),
        };
        let shutdown = Shutdown::default();
        let (control, commands) = bot::channel();
        let running = bot::run_commanded(options, shutdown.clone(), commands);
        let task = tokio::spawn(async move { running.await.expect("it can play") });
        until("it is online", async || server.is_online(BOT)).await;
        Self {
            event_bus,
            control,
            pool,
            state,
            archiver: archiver.expect("a thread"),
            shutdown,
            task,
        }
    }

    fn event_log(&self) -> &EventLog {
        self.event_bus.event_log()
    }

    async fn stop(self) {
        self.shutdown.now.cancel();
        self.task.await.expect("no panic");
        self.archiver.finish().await;
    }
}

/// A game that we lost as White, begun and ended then.
fn lost(id: &str, began: u64) -> GameRecord {
    let moves = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1 f8d6 f3d4 d6h2";
    let thought = |uci: &str| MoveRecord {
        score: Some(Score::Cp(20)),
        depth: Some(9),
        clock: Some(170_000),
        ..MoveRecord::bare(uci)
    };
    GameRecord {
        id: id.to_owned(),
        us: Some(Side::White),
        joined: began,
        moves: moves.split(' ').map(thought).collect(),
        ending: Some(EndingRecord {
            status: Status::VariantEnd,
            winner: Some(Side::Black),
            at: began + 60_000,
        }),
        ..GameRecord::default()
    }
}

fn keep(archive: &Path, games: impl IntoIterator<Item = GameRecord>) {
    let games = games
        .into_iter()
        .map(|game| ArchiveEntry::Game(Arc::new(game)));
    let games: Vec<ArchiveEntry> = games.collect();
    keep_all(archive, &games);
}

fn keep_all(archive: &Path, entries: &[ArchiveEntry]) {
    let mut disk = Database::open(archive, 1).expect("an archive");
    disk.commit(entries).expect("it is written");
}

fn look(archive: &Path) -> ArchiveReader {
    ArchiveReader::open(archive).expect("an archive")
}

fn game(archive: &Path, id: &str) -> Option<GameRecord> {
    look(archive).game(id).expect("it can be read")
}

/// How far the bot's calendar is ahead, in milliseconds, and how often it was looked at.
static AHEAD: AtomicU64 = AtomicU64::new(0);
static LOOKS: AtomicUsize = AtomicUsize::new(0);

fn calendar() -> SystemTime {
    LOOKS.fetch_add(1, Ordering::SeqCst);
    SystemTime::now() + Duration::from_millis(AHEAD.load(Ordering::SeqCst))
}

/// Until whatever there is to do by the calendar has been begun.
async fn calendar_looked_at() {
    let before = LOOKS.load(Ordering::SeqCst);
    until("the calendar is looked at", async || {
        LOOKS.load(Ordering::SeqCst) >= before + 2
    })
    .await;
}

/// What the log says.
/// A webhook that takes what comes, and has the days told to it.
async fn webhook(bot: &Bot) -> TcpListener {
    let hook = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = hook.local_addr().expect("an address");
    let address = Address::parse(&format!("http://{address}/hook"), "the test");
    let settings = AlertSettings {
        format: AlertFormat::Text,
        ..AlertSettings::default()
    };
    let delivery = Delivery {
        settings,
        webhook: Some(address.expect("an address")),
        heartbeat: None,
    };
    let alerts = Alerts::new(delivery, None);
    let (alerter, alerts) = alerts.expect("it can be told");
    let (watch, watcher) = StatusWatch::new(bot.control.clone());
    tokio::spawn(watcher.run());
    tokio::spawn(alerter.report_days(bot.archiver.days()));
    tokio::spawn(alerts.run(bot.event_bus.subscribe(), watch));
    hook
}

/// The message that comes next, once it holds this.
async fn message(hook: &TcpListener, text: &str) {
    let (mut taken, _) = hook.accept().await.expect("a message");
    let mut message = String::new();
    while !message.contains(text) {
        let mut piece = [0; 1024];
        let read = taken.read(&mut piece).await.expect("a message");
        assert!(read > 0, "{message}");
        message.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
}

fn archive_in(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join(FILE_NAME)
}

// One thread: its log is that of everyone here.
#[tokio::test]
async fn at_midnight_the_day_is_summarized_and_old_games_are_pruned_while_idle() {
    let log = CapturedLog::default();
    let _log = log.of_this_thread();
    let folder = tempfile::tempdir().expect("a folder");
    let archive = archive_in(&folder);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.expect("later than that").as_millis() as u64;
    let mut open = lost("oldopen1", now - 400 * DAY);
    open.ending = None;
    keep(
        &archive,
        [
            open,
            lost("veryold1", now - 400 * DAY),
            lost("old00001", now - 40 * DAY),
            lost("recent01", now - 20 * DAY),
        ],
    );
    // The last day with games was summed up when it was over.
    let summary = EventRecord {
        at: now - 19 * DAY,
        kind: "summary".to_owned(),
        text: format!("{}: one", dates::date(now - 20 * DAY + 60_000)),
        game: None,
    };
    keep_all(&archive, &[ArchiveEntry::Event(Arc::new(summary))]);
    let rules = ArchiveRules {
        upkeep: MaintenanceRules {
            settle: Duration::from_secs(3600),
            look: Duration::from_millis(20),
            after_leap: Duration::from_millis(1),
        },
        clock: calendar,
        ..ArchiveRules::from(&Archive {
            games: 365,
            details: 30,
            review: false,
            ..Archive::default()
        })
    };
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let bot = Bot::start(&server, &token, &archive, &rules).await;
    let hook = webhook(&bot).await;
    let other = Opponent::new(&server);
    let won = other.begin().await;
    other.move_and_wait(&won, "e2e4").await;
    other.0.resign(&won).await.expect("it may resign");
    until("it is kept", async || {
        game(&archive, won.as_str()).is_some_and(|game| game.ending.is_some())
    })
    .await;
    let running = other.begin().await;
    other.move_and_wait(&running, "e2e4").await;
    until("it is kept too", async || {
        game(&archive, running.as_str()).is_some()
    })
    .await;

    AHEAD.fetch_add(DAY, Ordering::SeqCst);
    let days = bot.archiver.days();
    until("the day is summed up", async || days.borrow().is_some()).await;
    let summary = days.borrow().clone().expect("as it just was");
    assert!(summary.contains(" +1 =0 -0"), "{summary}");
    let line = log.lines(|line| line.contains("the day is over"));
    let line = line.first().expect("a line");
    assert!(line.contains(&summary), "{line}");
    let noted = bot.event_log().events(99);
    let noted = noted.iter().filter(|event| event.kind == "summary");
    let noted: Vec<&str> = noted.map(|event| event.text.as_str()).collect();
    assert_eq!(noted, [summary.as_str()], "and none of an earlier day");
    message(&hook, &format!("[day] {summary}")).await;

    calendar_looked_at().await;
    assert!(
        game(&archive, "veryold1").is_some(),
        "a game is being played"
    );
    other.0.resign(&running).await.expect("it may resign");
    until("it is gone", async || game(&archive, "veryold1").is_none()).await;
    let detail = |id| {
        let kept = game(&archive, id).expect("it stays");
        (kept.moves[0].depth, kept.moves[0].clock)
    };
    until("details are gone", async || detail("old00001").0.is_none()).await;
    assert_eq!(detail("old00001"), (None, Some(170_000)));
    assert_eq!(detail("recent01"), (Some(9), Some(170_000)));
    assert_eq!(detail("oldopen1").1, Some(170_000), "it may go on");
    for played in [&won, &running] {
        assert!(game(&archive, played.as_str()).is_some());
    }
    until("it is said", async || {
        !log.lines(|line| line.contains("old data deleted from the archive"))
            .is_empty()
    })
    .await;
    bot.stop().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_review_pauses_while_a_game_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = archive_in(&folder);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.expect("later than that").as_millis() as u64;
    keep(&archive, [lost("lostgame", now)]);
    let patient = ArchiveRules {
        review: AnalysisRules {
            // No position is done with before the test is.
            time: Duration::from_secs(3600),
            patience: u32::MAX,
            idle: Duration::from_millis(1),
            again: Duration::from_millis(20),
            busy: Duration::MAX,
        },
        ..ArchiveRules::from(&Archive::default())
    };
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let bot = Bot::start(&server, &token, &archive, &patient).await;
    let searching = || bot.pool.searching();
    until("it is looked at", async || searching() == 1).await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    until("nobody searches", async || searching() == 0).await;
    other.move_and_wait(&game, "e2e4").await;
    until("nobody searches on our time", async || searching() == 0).await;
    other.0.resign(&game).await.expect("it may resign");
    until("it is looked at again", async || searching() == 1).await;
    assert_eq!(look(&archive).review("lostgame"), Ok(None), "not done yet");

    // What was not done with by then is done by those who come after.
    let pool = bot.pool.clone();
    bot.stop().await;
    until("the search is dropped", async || pool.searching() == 0).await;
    let hasty = ArchiveRules {
        review: AnalysisRules {
            time: Duration::from_millis(5),
            ..patient.review.clone()
        },
        ..patient
    };
    let bot = Bot::start(&server, &token, &archive, &hasty).await;
    until("it is done", async || {
        matches!(look(&archive).review("lostgame"), Ok(Some(_)))
    })
    .await;
    bot.stop().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_is_never_idle_reviews_beside_its_games_and_learns_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = archive_in(&folder);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.expect("later than that").as_millis() as u64;
    let rules = ArchiveRules {
        review: AnalysisRules {
            time: Duration::from_millis(20),
            patience: u32::MAX,
            // There is no idle time in this test.
            idle: Duration::from_secs(3600),
            again: Duration::from_millis(20),
            busy: Duration::from_millis(20),
        },
        ..ArchiveRules::from(&Archive::default())
    };
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let bot = Bot::start(&server, &token, &archive, &rules).await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "e2e4").await;
    keep(&archive, [lost("lostgame", now)]);
    until("it is reviewed", async || {
        matches!(look(&archive).review("lostgame"), Ok(Some(_)))
    })
    .await;
    let review = look(&archive).review("lostgame").expect("a review");
    assert!(!review.expect("a review").given_up);
    until("it is learned", async || {
        bot.state.experience().line("lostgame").is_some()
    })
    .await;
    assert!(other.plays(&game).await, "the game goes on");
    bot.stop().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_learns_from_its_archive_and_from_a_review_by_another_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let archive = archive_in(&folder);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.expect("later than that").as_millis() as u64;
    let mut won = lost("won00001", now);
    won.ending.as_mut().expect("an end").winner = Some(Side::White);
    keep(&archive, [lost("lostgame", now), won]);
    let rules = ArchiveRules {
        review: AnalysisRules {
            again: Duration::from_millis(20),
            ..AnalysisRules::default()
        },
        ..ArchiveRules::from(&Archive {
            review: false,
            ..Archive::default()
        })
    };
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let bot = Bot::start(&server, &token, &archive, &rules).await;
    let mistake = |id: &str| {
        let experience = bot.state.experience();
        let line = experience.line(id)?;
        Some(line.mistake.as_ref().map(|it| (it.ply, it.reviewed)))
    };
    until("both are learned", async || {
        mistake("lostgame") == Some(Some((8, false))) && mistake("won00001") == Some(None)
    })
    .await;
    let found = Mistake {
        ply: 6,
        played: "O-O".to_owned(),
        before: Score::Cp(10),
        after: Score::Cp(-700),
        better: "Nd4".to_owned(),
        better_uci: "f3d4".to_owned(),
        depth: 14,
        line: Vec::new(),
        refutation: Vec::new(),
    };
    let review = ReviewRecord {
        game: "lostgame".to_owned(),
        at: now + 5000,
        program: "another process".to_owned(),
        positions: 5,
        mistake: Some(found),
        given_up: false,
    };
    let mut other = Database::open(&archive, now).expect("the archive");
    other.keep_review(&review).expect("it is stored");
    until("the review is learned", async || {
        mistake("lostgame") == Some(Some((6, true)))
    })
    .await;
    bot.stop().await;
    server.shutdown().await;
}
