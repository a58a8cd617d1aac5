//! A whole bot on the small test server, and ways to watch it.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::time::Duration;

use megaton::bot::{BotError, BotOptions, BotState, BotTiming, ControlHandle, EventBus};
use megaton::bot::{ListSources, Settings, Shutdown, channel, run_commanded};
use megaton::config;
use megaton::engine::{EngineOptions, Evaluator, Pool};
use megaton::lichess::Client;
use tokio::task::JoinHandle;

use crate::test_server::Server;

/// Longer than any call takes.
pub(crate) const GUARD: Duration = Duration::from_secs(30);

/// Timing under which a slow machine is no reason to send or look again.
pub(crate) fn patient() -> BotTiming {
    BotTiming {
        confirm: GUARD,
        post_limit: GUARD,
        ..BotTiming::default().faster(25)
    }
}

/// A whole bot that plays on a test server.
pub(crate) struct Bot {
    pub(crate) shutdown: Shutdown,
    pub(crate) event_bus: EventBus,
    pub(crate) control: ControlHandle,
    pub(crate) task: JoinHandle<Result<(), BotError>>,
}

impl Bot {
    pub(crate) fn start(server: &Server) -> Self {
        Self::with(server, |_| {})
    }

    pub(crate) fn with(server: &Server, change: impl FnOnce(&mut Settings)) -> Self {
        Self::paced(server, &BotTiming::default().faster(25), change)
    }

    pub(crate) fn paced(
        server: &Server,
        timing: &BotTiming,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        Self::remembering(server, timing, BotState::nowhere(), change)
    }

    /// A bot with the state of an earlier one.
    pub(crate) fn remembering(
        server: &Server,
        timing: &BotTiming,
        state: BotState,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(300),
                ..config::Engine::default()
            },
            ..Settings::default()
        };
        change(&mut settings);
        Self::begin(server.client(), timing, state, settings, None)
    }

    /// A bot with a data folder, of which it uses what the explorer left there.
    pub(crate) fn exploring(
        server: &Server,
        folder: &Path,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let mut settings = Settings {
            engine: config::Engine {
                nodes: NonZeroU64::new(300),
                ..config::Engine::default()
            },
            ..Settings::default()
        };
        change(&mut settings);
        let timing = BotTiming::default().faster(25);
        let (state, folder) = (BotState::nowhere(), Some(folder.to_owned()));
        Self::begin(server.client(), &timing, state, settings, folder)
    }

    fn begin(
        client: Client,
        timing: &BotTiming,
        state: BotState,
        settings: Settings,
        data: Option<PathBuf>,
    ) -> Self {
        let shutdown = Shutdown::default();
        let event_bus = EventBus::new();
        let options = BotOptions {
            exclusive: false,
            client,
            pool: Pool::new(&EngineOptions {
                hash_mb: 1,
                evaluator: Evaluator::classical(),
                ..EngineOptions::default()
            }),
            settings,
            timing: *timing,
            event_bus: event_bus.clone(),
            state,
            lists: ListSources { data },
        };
        let (control, commands) = channel();
        let task = tokio::spawn(run_commanded(options, shutdown.clone(), commands));
        Self {
            shutdown,
            event_bus,
            control,
            task,
        }
    }

    /// Ends the bot in good order.
    pub(crate) async fn stop(self) {
        self.shutdown.drain.cancel();
        let ended = tokio::time::timeout(Duration::from_secs(20), self.task).await;
        ended
            .expect("drained")
            .expect("no panic")
            .expect("no error");
    }

    /// Like a kill: no orderly end.
    pub(crate) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

/// Waits until every game is over; fails on any violation.
pub(crate) async fn all_over(server: &Server) {
    server
        .until("all games over", |world| world.all_over())
        .await;
    let world = server.world();
    assert_eq!(world.violations, Vec::<String>::new());
    for (id, round) in &world.rounds {
        assert_ne!(round.status, "aborted", "{id}");
    }
}
