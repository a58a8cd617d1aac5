//! The practice server and the bot in this process, and the operator's page of that bot.

use std::future::Future;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use megaton::archive::{ArchiveEntry, Database};
use megaton::bot::{
    self, BotOptions, BotState, BotTiming, EventBus, EventLog, ListSources, Settings, Shutdown,
    channel,
};
use megaton::config::{self, Config, Panel};
use megaton::engine::{Dtz, EngineOptions, Pool, TablebaseProbe, TablebaseState, Tablebases, Wdl};
use megaton::lichess::{ChallengeOptions, Client, ClientOptions, Timing, Token, UserId, Variant};
use megaton::panel::{Health, Http, HttpSources, Reloader, SelfTest, StatusWatch, Timeouts};
use megaton::practice::{
    Event, Options, Partner, Schedule, ScheduleReport, Server, ServerHandle, TimeControl,
};
use megaton::rules::Position;
use tempfile::TempDir;
use tokio::sync::broadcast::Receiver;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Enough to see an explosion coming, little enough to answer at once.
const NODES: u64 = 2_000;
/// A partner's time over a move: games last long enough to be looked at.
const PACE: Duration = Duration::from_millis(150);
/// The password of the page, where it has one.
pub(crate) const PASSWORD: &str = "open-sesame-open-sesame";

/// A server, and the bot that plays on it.
#[derive(Debug)]
pub(crate) struct World {
    server: ServerHandle,
    bot: JoinHandle<()>,
    shutdown: Shutdown,
    /// What the bot writes down as it goes.
    pub(crate) event_log: EventLog,
    /// The address of the operator's page.
    panel: String,
}

impl World {
    pub(crate) async fn open() -> Self {
        Self::open_with(&local()).await
    }

    /// With the operator's page as this config has it.
    pub(crate) async fn open_with(panel: &Panel) -> Self {
        Self::open_on(panel, None).await
    }

    /// With these in its archive, in a file of this folder.
    pub(crate) async fn keeping(folder: &TempDir, kept: &[ArchiveEntry]) -> Self {
        let file = folder.path().join("games.db");
        Database::open(&file, 1).unwrap().commit(kept).unwrap();
        Self::open_on(&local(), Some(file)).await
    }

    /// With games that were kept before.
    pub(crate) async fn open_on(panel: &Panel, archive: Option<PathBuf>) -> Self {
        Self::open_patient(panel, archive, Timeouts::default()).await
    }

    /// With so much patience for those who come to the page.
    pub(crate) async fn open_patient(
        panel: &Panel,
        archive: Option<PathBuf>,
        patience: Timeouts,
    ) -> Self {
        let options = Options {
            bot: Some("Megaton".to_owned()),
            seed: 5,
            ..Options::default()
        };
        let server = Server::start(options).await.unwrap();
        let token = server.open_bot("Megaton").unwrap();
        let shutdown = Shutdown::default();
        let (control, commands) = channel();
        let options = bot_options(server.url(), &token);
        let event_log = options.event_bus.event_log().clone();
        let (watch, watcher) = StatusWatch::new(control.clone());
        tokio::spawn(watcher.run());
        let (reloader, reload) = Reloader::new(None, Config::default(), control.clone());
        tokio::spawn(reloader.run());
        let http = Http::open(panel).unwrap().unwrap().with_timeouts(patience);
        let url = http.url();
        tokio::spawn(http.serve(HttpSources {
            control,
            reload,
            event_log: event_log.clone(),
            archive,
            health: Health::new(watch.clone(), SelfTest::default(), None),
            metrics: None,
            watch,
            server: server.url().to_owned(),
        }));
        let running = bot::run_commanded(options, shutdown.clone(), commands);
        let bot = tokio::spawn(async move { running.await.unwrap() });
        Self {
            server,
            bot,
            shutdown,
            event_log,
            panel: url,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.server.url()
    }

    /// Where the operator's page is, without a path.
    pub(crate) fn panel(&self) -> &str {
        self.panel.trim_end_matches('/')
    }

    /// Has games played, so many at a time, against partners that take their time over a move, until
    /// `watched` is done. Nothing waits for the games that run then.
    pub(crate) async fn spar_while(&self, concurrency: usize, watched: impl Future<Output = ()>) {
        self.spar_at(concurrency, PACE, watched).await;
    }

    /// The same with partners that take so long over a move.
    pub(crate) async fn spar_at(
        &self,
        concurrency: usize,
        pace: Duration,
        watched: impl Future<Output = ()>,
    ) {
        let games = self.games(concurrency, pace, CancellationToken::new());
        tokio::select! {
            _ = games => panic!("the games end before they were watched"),
            () = watched => {}
        }
    }

    /// The same until the last game is over as well; says what came of the games.
    pub(crate) async fn spar_to_the_end(
        &self,
        concurrency: usize,
        pace: Duration,
        watched: impl Future<Output = ()>,
    ) -> ScheduleReport {
        let stop = CancellationToken::new();
        let watched = async {
            watched.await;
            stop.cancel();
        };
        tokio::join!(self.games(concurrency, pace, stop.clone()), watched).0
    }

    /// Games, so many at a time, until they are stopped and the last one is over.
    async fn games(
        &self,
        concurrency: usize,
        pace: Duration,
        stop: CancellationToken,
    ) -> ScheduleReport {
        let schedule = Schedule {
            games: usize::MAX,
            concurrency,
            // They see what would blow them up next, so that games last.
            partners: vec![Partner::Engine { nodes: 60 }],
            people: false,
            time: TimeControl::Clock {
                limit: 60,
                increment: 1,
            },
            rated: true,
            pause: Duration::from_millis(100),
            pace,
        };
        self.server.play("Megaton", schedule, stop).await
    }

    /// Another bot asks ours for a game of this kind.
    pub(crate) async fn challenge(&self, name: &str, variant: Variant) {
        let token = self.server.open_bot(name).expect("a good name");
        let options = ChallengeOptions {
            variant,
            ..ChallengeOptions::default()
        };
        let other = client(self.server.url(), &token);
        let made = other
            .create_challenge(&UserId::new("Megaton"), &options)
            .await;
        made.expect("the server passes it on");
    }

    /// What happens on the server from now on.
    pub(crate) fn news(&self) -> Receiver<Event> {
        self.server.events()
    }

    pub(crate) async fn close(self) {
        self.shutdown.now.cancel();
        self.bot.await.unwrap();
        self.server.shutdown().await;
    }
}

/// A page on the loopback that steers nothing.
pub(crate) fn local() -> Panel {
    Panel {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        ..Panel::default()
    }
}

/// The same with a password, kept in this folder.
pub(crate) fn locked(folder: &Path) -> Panel {
    let file = folder.join("password");
    std::fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    Panel {
        token_file: Some(file),
        trust_local: true,
        ..local()
    }
}

/// Tables that know nothing, and say how they are.
#[derive(Debug)]
struct Shown;

impl TablebaseProbe for Shown {
    fn most_pieces(&self) -> usize {
        0
    }

    fn wdl(&self, _: &Position) -> Option<Wdl> {
        None
    }

    fn dtz(&self, _: &Position) -> Option<Dtz> {
        None
    }

    fn state(&self) -> TablebaseState {
        TablebaseState {
            outcomes: 35,
            distances: 34,
            most_pieces: 4,
            faulty: 0,
            faults: Vec::new(),
        }
    }
}

fn client(url: &str, token: &str) -> Client {
    let client = Client::new(ClientOptions {
        base_url: url.to_owned(),
        token: Token::parse(token, "this test").expect("a good token"),
        contact: None,
        timing: Timing::default(),
    });
    client.expect("a good address")
}

fn bot_options(url: &str, token: &str) -> BotOptions {
    let engine = EngineOptions {
        hash_mb: 4,
        tables: Some(Tablebases::new(Arc::new(Shown))),
        ..EngineOptions::default()
    };
    let mut settings = Settings::default();
    let challenge = &mut settings.challenge;
    challenge.block = vec!["Staller".parse().unwrap()];
    let unread = "file:/nowhere/at/all.txt".parse().unwrap();
    challenge.welcome = vec!["Friend".parse().unwrap(), unread];
    let search = config::Engine {
        nodes: NonZeroU64::new(NODES),
        ..config::Engine::default()
    };
    BotOptions {
        exclusive: false,
        client: client(url, token),
        pool: Pool::in_background(&engine),
        settings: Settings {
            engine: search,
            ..settings
        },
        timing: BotTiming::default(),
        event_bus: EventBus::new(),
        state: BotState::nowhere(),
        lists: ListSources::default(),
    }
}
