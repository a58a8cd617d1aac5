//! Games that end while the bot is down: counted at the next start, and only once.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use megaton::bot::{
    BotError, BotEvent, BotOptions, BotState, BotTiming, EventBus, EventLog, ListSources, Settings,
    Shutdown, StateRules, run,
};
use megaton::config::{self, CasualLevel};
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{
    ChallengeOptions, Client, ClientOptions, ColorChoice, EndpointClass, GameId, OfferDraw, Side,
    Timing, Token, UserId,
};
use megaton::practice::{self, Endpoint, Event, Fault, ServerHandle};
use megaton::store::{FinishedGame, GameResult, Store, Timestamp};
use tempfile::TempDir;
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinHandle;

const BOT: &str = "Megaton";
const FOE: &str = "Foe";
/// Speed-up against Lichess, except for the chess clocks.
const FASTER: u32 = 30;
/// A hang guard, not a measurement.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, an opponent on it, and the bot's data folder.
struct Ground {
    server: ServerHandle,
    token: String,
    foe: Client,
    news: broadcast::Receiver<Event>,
    folder: TempDir,
}

/// A running bot, and access to its state.
struct Bot {
    client: Client,
    state: BotState,
    event_log: EventLog,
    told: broadcast::Receiver<BotEvent>,
    shutdown: Shutdown,
    task: JoinHandle<Result<(), BotError>>,
}

fn client(server: &ServerHandle, token: &str) -> Client {
    let options = ClientOptions {
        base_url: server.url().to_owned(),
        token: Token::parse(token, "the test").unwrap(),
        contact: None,
        timing: Timing::default().faster(FASTER),
    };
    Client::new(options).unwrap()
}

/// Waits for a condition; a hang fails the test.
async fn until(what: &str, so: impl Fn() -> bool) {
    let waiting = async {
        while !so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(PATIENCE, waiting).await;
    assert!(waited.is_ok(), "never: {what}");
}

/// The bot's stored state; a killed bot releases it as soon as its tasks are gone.
async fn remembered(folder: &Path) -> BotState {
    let opening = async {
        loop {
            match Store::open(folder) {
                Ok((store, kept)) => return BotState::new(store, kept, StateRules::default()),
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    tokio::time::timeout(PATIENCE, opening).await.unwrap()
}

impl Ground {
    async fn open() -> Self {
        let options = practice::Options {
            timing: practice::Timing::scaled(FASTER),
            bot: Some(BOT.to_owned()),
            seed: 7,
            ..practice::Options::default()
        };
        let server = practice::Server::start(options).await.unwrap();
        let token = server.open_bot(BOT).unwrap();
        let foe = client(&server, &server.open_bot(FOE).unwrap());
        Self {
            news: server.events(),
            server,
            token,
            foe,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// Starts the bot on the server with its stored state.
    async fn bot(&self) -> Bot {
        self.bot_at(CasualLevel::Full).await
    }

    async fn bot_at(&self, casual_level: CasualLevel) -> Bot {
        let state = remembered(self.folder.path()).await;
        let client = client(&self.server, &self.token);
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(200),
                casual_level,
                ..config::Engine::default()
            },
            ..Settings::default()
        };
        settings.limits.bot_games = 10_000;
        let event_bus = EventBus::new();
        let event_log = event_bus.event_log().clone();
        let (told, shutdown) = (event_bus.subscribe(), Shutdown::default());
        let options = BotOptions {
            exclusive: false,
            client: client.clone(),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                threads: 1,
                ..EngineOptions::default()
            }),
            settings,
            timing: BotTiming::default().faster(FASTER),
            event_bus,
            state: state.clone(),
            lists: ListSources::default(),
        };
        let task = tokio::spawn(run(options, shutdown.clone()));
        Bot {
            client,
            state,
            event_log,
            told,
            shutdown,
            task,
        }
    }

    /// Waits for a server event of this kind.
    async fn next<T>(&mut self, wanted: impl Fn(&Event) -> Option<T>) -> T {
        let telling = async {
            loop {
                if let Some(found) = wanted(&self.news.recv().await.unwrap()) {
                    return found;
                }
            }
        };
        tokio::time::timeout(PATIENCE, telling).await.unwrap()
    }

    /// A rated game of the opponent, with White, against the bot.
    async fn game(&mut self) -> GameId {
        until("the bot is there", || self.server.is_online(BOT)).await;
        let options = ChallengeOptions {
            rated: true,
            color: ColorChoice::White,
            ..ChallengeOptions::default()
        };
        let bot = UserId::new(BOT);
        let asked = self.foe.create_challenge(&bot, &options);
        asked.await.unwrap();
        self.started().await
    }

    async fn started(&mut self) -> GameId {
        let started = |event: &Event| match event {
            Event::Started { game, .. } => Some(GameId::new(game.clone())),
            _ => None,
        };
        self.next(started).await
    }

    /// A game of one move each, which the opponent resigns once the bot is gone.
    async fn resigned_unseen(&mut self, bot: Bot) -> GameId {
        let game = self.game().await;
        let _there = self
            .foe
            .game(&game, self.foe.timing().game_idle)
            .await
            .unwrap();
        let first = self.foe.make_move(&game, "g1f3", OfferDraw::No);
        first.await.unwrap();
        let answered = |event: &Event| matches!(event, Event::Moved { ply: 2, .. }).then_some(());
        self.next(answered).await;
        until("the game is known", || bot.state.is_open(&game)).await;
        bot.kill().await;
        self.foe.resign(&game).await.unwrap();
        game
    }

    /// The same as a casual game against a human, a visitor of the server's page.
    async fn resigned_unseen_by_a_visitor(&mut self, bot: Bot) -> GameId {
        until("the bot is there", || self.server.is_online(BOT)).await;
        let wishes = r#"{"color": "white", "limit": 180, "increment": 2}"#;
        let admitted = self.visit("new", wishes).await;
        let admitted: serde_json::Value = serde_json::from_str(&admitted).unwrap();
        let ticket = admitted["ticket"].as_str().unwrap();
        let game = self.started().await;
        self.visit(&format!("{ticket}/move/g1f3"), "").await;
        let answered = |event: &Event| matches!(event, Event::Moved { ply: 2, .. }).then_some(());
        self.next(answered).await;
        until("the game is known", || bot.state.is_open(&game)).await;
        bot.kill().await;
        self.visit(&format!("{ticket}/resign"), "").await;
        game
    }

    async fn visit(&self, path: &str, body: &'static str) -> String {
        let url = format!("{}/play/{path}", self.server.url());
        // A second installation changes nothing.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let answer = client.post(url).body(body).send().await.unwrap();
        answer.error_for_status().unwrap().text().await.unwrap()
    }
}

impl Bot {
    /// Like a kill: no orderly end. Returns once nothing of the bot runs any more: the task of a
    /// game outlives the bot's own by a moment, in which it may still see the game's end.
    async fn kill(mut self) {
        self.task.abort();
        let _ = self.task.await;
        let gone = async { while !matches!(self.told.recv().await, Err(RecvError::Closed)) {} };
        let gone = tokio::time::timeout(PATIENCE, gone).await;
        assert!(gone.is_ok(), "a part of the killed bot still runs");
    }

    /// Ends the bot in good order.
    async fn stop(self) {
        self.shutdown.drain.cancel();
        let ended = tokio::time::timeout(PATIENCE, self.task).await;
        ended.unwrap().unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_that_ended_while_the_bot_was_down_is_counted_once() {
    let mut ground = Ground::open().await;
    let bot = ground.bot().await;
    let game = ground.resigned_unseen(bot).await;
    // The first answers are errors.
    let faults = ground.server.faults();
    for status in [502, 404] {
        faults.add_at(game.as_str(), Endpoint::Lookup, Fault::Refuse { status });
    }

    let mut bot = ground.bot().await;
    let foe = UserId::new(FOE);
    until("it is counted", || !bot.state.is_open(&game)).await;
    let record = bot.state.opponent(&foe);
    assert_eq!((record.wins, record.draws, record.losses), (1, 0, 0));
    assert_eq!(record.games_today, 1);
    assert_eq!(bot.state.budget().incoming, 1);
    let [last] = &record.last[..] else {
        panic!("{record:?}")
    };
    assert_eq!((last.color, last.result), (Side::Black, GameResult::Win));
    let opening: Vec<_> = last.opening.split(' ').collect();
    assert_eq!((opening.len(), opening[0]), (2, "g1f3"));
    let told = async {
        loop {
            if let BotEvent::Finished { ending } = bot.told.recv().await.unwrap() {
                return ending;
            }
        }
    };
    let ending = tokio::time::timeout(PATIENCE, told).await.unwrap();
    assert_eq!((&ending.game, ending.result()), (&game, "0-1"));
    bot.kill().await;

    let bot = ground.bot().await;
    assert_eq!(bot.state.open_games(), []);
    until("it has looked", || {
        bot.client.calls(EndpointClass::Playing) > 0
    })
    .await;
    let state = bot.state.clone();
    bot.stop().await;
    let record = state.opponent(&foe);
    assert_eq!((record.wins, record.losses, record.games_today), (1, 0, 1));
    ground.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_below_full_strength_that_ended_while_the_bot_was_down_teaches_nothing() {
    for (level, teaches) in [(CasualLevel::Hard, false), (CasualLevel::Full, true)] {
        let mut ground = Ground::open().await;
        let bot = ground.bot_at(level).await;
        let game = ground.resigned_unseen_by_a_visitor(bot).await;
        let bot = ground.bot_at(level).await;
        until("it is counted", || !bot.state.is_open(&game)).await;
        let experience = bot.state.experience();
        let line = experience.line(game.as_str());
        assert_eq!(line.is_some(), teaches, "{level:?}: {line:?}");
        bot.stop().await;
        ground.server.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_aborted_while_the_bot_was_down_has_no_result_and_is_closed() {
    let mut ground = Ground::open().await;
    let bot = ground.bot().await;
    let game = ground.game().await;
    until("the game is known", || bot.state.is_open(&game)).await;
    bot.kill().await;
    ground.foe.abort(&game).await.unwrap();

    let bot = ground.bot().await;
    until("it is done with", || !bot.state.is_open(&game)).await;
    let foe = UserId::new(FOE);
    let record = bot.state.opponent(&foe);
    assert_eq!((record.wins, record.draws, record.losses), (0, 0, 0));
    assert_eq!((record.last.len(), record.games_today), (0, 1));
    assert_eq!(record.no_shows_today, 1, "it owed the first move");
    assert_eq!(bot.state.resting("no-show foe"), None, "once is no habit");
    bot.stop().await;

    // Another one, which the bot itself called off before it was gone, and two more.
    for (ours, no_shows) in [(true, 1), (false, 2), (false, 3)] {
        let bot = ground.bot().await;
        let game = ground.game().await;
        until("the game is known", || bot.state.is_open(&game)).await;
        if ours {
            bot.state.call_off(&game);
        }
        bot.kill().await;
        ground.foe.abort(&game).await.unwrap();
        let bot = ground.bot().await;
        until("it is done with", || !bot.state.is_open(&game)).await;
        assert_eq!(bot.state.opponent(&foe).no_shows_today, no_shows);
        let rests = bot.state.resting("no-show foe").is_some();
        assert_eq!(rests, no_shows == 3);
        bot.stop().await;
    }
    ground.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreported_rating_change_is_looked_up() {
    let mut ground = Ground::open().await;
    let bot = ground.bot().await;
    let game = ground.resigned_unseen(bot).await;
    // As if its end had been seen a minute ago, on a stream without the rating.
    let state = remembered(ground.folder.path()).await;
    let minute = Timestamp::from_millis(state.now().as_millis() - 60_000);
    state.finished(FinishedGame {
        game: game.clone(),
        opponent: Some(UserId::new(FOE)),
        is_bot: true,
        rated: true,
        color: Some(Side::Black),
        winner: Some(Side::Black),
        status: "resign".to_owned(),
        plies: 2,
        opening: "g1f3".to_owned(),
        rating_diff: None,
        at: minute,
    });
    assert!(state.lacks_rating(&game));
    state.settle().await;
    drop(state);

    let bot = ground.bot().await;
    until("it is looked up", || !bot.state.lacks_rating(&game)).await;
    // From where the archive takes it.
    let logged = || bot.event_log.game(game.as_str());
    until("it is logged", || logged().is_some()).await;
    let diffs = logged().map(|record| [record.white.rating_diff, record.black.rating_diff]);
    assert!(matches!(diffs, Some([Some(..0), Some(1..)])), "{diffs:?}");
    bot.stop().await;
    let (_store, kept) = Store::open(ground.folder.path()).unwrap();
    let [result] = &kept.results[..] else {
        panic!("{:?}", kept.results)
    };
    assert!(result.rating_diff > Some(0), "{result:?}");
    ground.server.shutdown().await;
}
