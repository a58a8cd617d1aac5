//! Limits on the practice server that outlast the program: the daily games between bots, and pauses
//! of the rating guard.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use megaton::bot::{
    self, AlertKind, BotEvent, BotOptions, BotState, BotTiming, EventBus, ListSources, Settings,
    Shutdown, StateRules,
};
use megaton::config;
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{self, Client, ClientOptions, DeclineReason, Token};
use megaton::practice::{
    Options, Partner, Schedule, Server, ServerHandle, ServerRules, TimeControl, Timing,
};
use megaton::store::{State, Store, StoreError};
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const BOT: &str = "Megaton";
const FACTOR: u32 = 20;
/// Longer than anything here.
const GUARD: Duration = Duration::from_secs(120);

/// A bot on the server, with a data folder.
struct Bot {
    memory: BotState,
    news: Receiver<BotEvent>,
    shutdown: Shutdown,
    task: JoinHandle<Result<(), bot::BotError>>,
}

impl Bot {
    async fn start(server: &ServerHandle, token: &str, data: &Path, guard_losses: u32) -> Self {
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(1),
                ..config::Engine::default()
            },
            ..Settings::default()
        };
        settings.guard.opponent_losses = guard_losses;
        let (store, kept) = open(data).await;
        let memory = BotState::new(store, kept, StateRules::from(&settings));
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(token, "the test").expect("a good token"),
            contact: None,
            timing: lichess::Timing::default().faster(FACTOR),
        });
        let event_bus = EventBus::default();
        let options = BotOptions {
            exclusive: false,
            client: client.expect("a good address"),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                ..EngineOptions::default()
            }),
            settings,
            timing: BotTiming::default().faster(FACTOR),
            event_bus: event_bus.clone(),
            state: memory.clone(),
            lists: ListSources::default(),
        };
        let (news, shutdown) = (event_bus.subscribe(), Shutdown::default());
        let task = tokio::spawn(bot::run(options, shutdown.clone()));
        Self {
            memory,
            news,
            shutdown,
            task,
        }
    }

    /// Why the next challenge is declined.
    async fn declines(&mut self) -> DeclineReason {
        self.sees(|event| match event {
            BotEvent::Declined { reason, .. } => Some(*reason),
            _ => None,
        })
        .await
    }

    async fn sees<T>(&mut self, wanted: impl Fn(&BotEvent) -> Option<T>) -> T {
        let seeing = async {
            loop {
                let event = self.news.recv().await.expect("the bot runs");
                if let Some(seen) = wanted(&event) {
                    return seen;
                }
            }
        };
        tokio::time::timeout(GUARD, seeing).await.expect("in time")
    }

    /// Out now, as the second signal has it.
    async fn stop(self) {
        self.shutdown.now.cancel();
        self.task.await.expect("no panic").expect("it can play");
        self.memory.settle().await;
    }
}

/// The data folder, once the last player of the bot before has let go of it.
async fn open(data: &Path) -> (Store, State) {
    let opening = async {
        loop {
            match Store::open(data) {
                Err(StoreError::Locked { .. }) => tokio::task::yield_now().await,
                outcome => return outcome.expect("a data folder"),
            }
        }
    };
    tokio::time::timeout(GUARD, opening).await.expect("in time")
}

async fn server(rules: ServerRules) -> ServerHandle {
    let options = Options {
        timing: Timing::scaled(FACTOR),
        rules,
        ..Options::default()
    };
    Server::start(options).await.expect("a port")
}

fn games(games: usize) -> Schedule {
    Schedule {
        games,
        partners: vec![Partner::Engine { nodes: 2000 }],
        time: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        ..Schedule::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_limit_is_learned_and_known_after_a_restart() {
    let mut tries = 0;
    let (server, token, data, bot) = loop {
        let server = server(ServerRules {
            bot_games_a_day: Some(1),
            ..ServerRules::default()
        })
        .await;
        let token = server.open_bot(BOT).expect("a good name");
        let data = tempfile::tempdir().expect("a folder");
        let mut bot = Bot::start(&server, &token, data.path(), 1000).await;
        assert!(bot.memory.may_accept_bot().is_granted());
        // Two ask at the same time, so both may; the second acceptance is one too many.
        let two = Schedule {
            concurrency: 2,
            ..games(2)
        };
        let report = tokio::select! {
            report = server.play(BOT, two, CancellationToken::new()) => report,
            reason = bot.declines() => {
                assert_eq!(reason, DeclineReason::Later);
                break (server, token, data, bot);
            }
        };
        // Unless the second asked after the first was accepted: then the server refuses its challenge.
        assert_eq!(report.games.len(), 1, "both: {report}");
        tries += 1;
        assert!(tries < 20, "never at the same time");
        bot.stop().await;
        server.shutdown().await;
    };
    let budget = bot.memory.budget();
    assert_eq!((budget.games, budget.incoming), (1, 1));
    assert!(!bot.memory.may_accept_bot().is_granted());
    bot.stop().await;
    let again = Bot::start(&server, &token, data.path(), 1000).await;
    assert_eq!(again.memory.budget(), budget, "nothing is asked to know it");
    again.stop().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_run_of_losses_no_rated_game_is_played_and_a_restart_says_so_again() {
    let server = server(ServerRules::default()).await;
    let token = server.open_bot(BOT).expect("a good name");
    let data = tempfile::tempdir().expect("a folder");
    let never = CancellationToken::new();
    let mut bot = Bot::start(&server, &token, data.path(), 1).await;
    // Until the first loss: then the next challenge, rated too, is declined.
    tokio::select! {
        report = server.play(BOT, games(30), never.clone()) => panic!("no loss: {report}"),
        reason = bot.declines() => assert_eq!(reason, DeclineReason::Casual),
    }
    let rests = bot.memory.rated_rests();
    assert_eq!(rests.len(), 1, "{rests:?}");
    bot.stop().await;
    let mut again = Bot::start(&server, &token, data.path(), 1).await;
    let text = again
        .sees(|event| match event {
            BotEvent::AlertRaised { kind, text } if *kind == AlertKind::Guard => Some(text.clone()),
            _ => None,
        })
        .await;
    assert!(
        text.contains("1 rated games in a row lost to enginepartner"),
        "{text}"
    );
    tokio::select! {
        report = server.play(BOT, games(1), never.clone()) => panic!("a rated game: {report}"),
        reason = again.declines() => assert_eq!(reason, DeclineReason::Casual),
    }
    let casual = Schedule {
        rated: false,
        ..games(1)
    };
    let report = tokio::time::timeout(GUARD, server.play(BOT, casual, never)).await;
    assert!(report.expect("a game").is_clean());
    again.stop().await;
    server.shutdown().await;
}
