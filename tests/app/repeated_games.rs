//! Rated games against the same opponent on the practice server, which does not count a game that
//! repeats another: with opening variety all count.

use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use megaton::bot::{
    self, BotOptions, BotState, BotTiming, EventBus, ListSources, Settings, Shutdown, StateRules,
};
use megaton::config;
use megaton::engine::{EngineOptions, Pool};
use megaton::lichess::{self, Client, ClientOptions, Token};
use megaton::practice::{Options, Partner, Schedule, Server, ServerRules, TimeControl, Timing};
use megaton::store::Store;
use tokio_util::sync::CancellationToken;

const BOT: &str = "Megaton";
const FACTOR: u32 = 20;
const GAMES: usize = 6;
/// Longer than all of these games.
const GUARD: Duration = Duration::from_secs(120);

/// Plays the games one by one, each with the bot started anew on the same data; how many of them
/// changed its rating.
async fn counted(variety: bool, data: &Path) -> usize {
    let server = Server::start(Options {
        timing: Timing::scaled(FACTOR),
        rules: ServerRules {
            repeats_do_not_count: true,
            ..ServerRules::default()
        },
        ..Options::default()
    });
    let server = server.await.expect("a port");
    let token = server.open_bot(BOT).expect("a good name");
    let mut before = None;
    let mut counted = 0;
    for _ in 0..GAMES {
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(600),
                ..config::Engine::default()
            },
            ..Settings::default()
        };
        settings.variety.enabled = variety;
        // A book varies by itself, and must not keep a game from varying. So does experience after a loss.
        settings.book.enabled = variety;
        settings.experience.enabled = variety;
        settings.guard.opponent_losses = 1000;
        settings.guard.points = 100_000;
        let (store, kept) = Store::open(data).expect("a data folder");
        let memory = BotState::new(store, kept, StateRules::from(&settings));
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(&token, "the test").expect("a good token"),
            contact: None,
            timing: lichess::Timing::default().faster(FACTOR),
        });
        let client = client.expect("a good address");
        let options = BotOptions {
            exclusive: false,
            client: client.clone(),
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                ..EngineOptions::default()
            }),
            settings,
            timing: BotTiming::default().faster(FACTOR),
            event_bus: EventBus::default(),
            state: memory.clone(),
            lists: ListSources::default(),
        };
        let shutdown = Shutdown::default();
        let running = tokio::spawn(bot::run(options, shutdown.clone()));
        if before.is_none() {
            before = rating_of(&client).await;
        }
        // One game a schedule: the bot has the same colour in all of them.
        let schedule = Schedule {
            games: 1,
            // As good as the bot: a game that is won at once leaves no choice.
            partners: vec![Partner::Engine { nodes: 600 }],
            time: TimeControl::Clock {
                limit: 60,
                increment: 0,
            },
            ..Schedule::default()
        };
        let playing = server.play(BOT, schedule, CancellationToken::new());
        let report = tokio::time::timeout(GUARD, playing).await.expect("a game");
        assert!(report.is_clean(), "{report}");
        let rating = rating_of(&client).await;
        counted += usize::from(rating != before);
        before = rating;
        shutdown.drain.cancel();
        running.await.expect("no panic").expect("it can play");
        memory.settle().await;
    }
    server.shutdown().await;
    let (_, kept) = Store::open(data).expect("a data folder");
    assert_eq!(kept.results.len(), GAMES);
    counted
}

/// Our rating as the server has it.
async fn rating_of(client: &Client) -> Option<i32> {
    let account = client.account().await.expect("our account");
    account.atomic().and_then(|perf| perf.rating)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_game_in_a_row_counts_with_variety_and_repeats_do_not_without() {
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_eq!(
        counted(false, without.path()).await,
        1,
        "the others repeat the first"
    );
    assert_eq!(counted(true, with.path()).await, GAMES);
}
