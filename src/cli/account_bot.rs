//! A bot for one account: its client, its state, its archive, and the services beside it.

use std::path::PathBuf;

use megaton::archive::FILE_NAME;
use megaton::bot::{
    self, ArchiveRules, Archiver, BotError, BotOptions, BotState, BotTiming, CommandReceiver,
    EventBus, EventLog, ListSources, Shutdown, StateRules,
};
use megaton::config::Config;
use megaton::engine::Pool;
use megaton::lichess::Client;
use megaton::panel::Attended;
use megaton::store::Store;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::failure::Failure;
use super::services::{Notifier, Services};
use super::setup::config_name;
use super::{account, runtime, summary};

/// The bot of one config, before it starts.
#[derive(Debug)]
pub(super) struct AccountBot {
    config: Config,
    path: Option<PathBuf>,
    client: Client,
    pool: Pool,
    state: BotState,
}

impl AccountBot {
    /// The bot of the config in the file `path`. Opens and locks its data folder; sends nothing yet.
    pub(super) fn new(config: Config, path: Option<PathBuf>, pool: &Pool) -> Result<Self, Failure> {
        for warning in config.exposed_secrets() {
            tracing::warn!("{warning}");
        }
        let client = account::client(&config)?;
        let state = open_state(&config)?;
        let proxy = client.proxy();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            config = %config_name(path.as_deref()),
            server = config.lichess.url,
            proxy = proxy.as_deref().unwrap_or("none"),
            engine = summary::engine(&config.engine, pool.evaluator()),
            accepts = summary::accepts(&config.challenge).join("; "),
            "megaton starts"
        );
        Ok(Self {
            config,
            path,
            client,
            pool: pool.clone(),
            state,
        })
    }

    /// Prepares the services; `crashes` brings the path of each report of a panic.
    pub(super) fn prepare(
        self,
        shutdown: Shutdown,
        crashes: Option<broadcast::Receiver<PathBuf>>,
    ) -> Result<PreparedBot, Failure> {
        let options = BotOptions {
            exclusive: true,
            client: self.client,
            pool: self.pool,
            settings: self.config.clone(),
            timing: BotTiming::default(),
            event_bus: EventBus::default(),
            state: self.state,
            lists: ListSources {
                data: self.config.data.home(&self.config.lichess),
            },
        };
        let (control, commands) = bot::channel();
        let (services, notifier) =
            Services::new(&options, control, &self.config, self.path.clone())?;
        if let Some(crashes) = crashes {
            notifier.report_crashes(crashes, options.event_bus.event_log().clone());
        }
        Ok(PreparedBot {
            options,
            path: self.path,
            shutdown,
            commands,
            services,
            notifier,
            ended: CancellationToken::new(),
        })
    }
}

/// A bot with everything beside it, about to play.
pub(super) struct PreparedBot {
    options: BotOptions,
    path: Option<PathBuf>,
    shutdown: Shutdown,
    commands: CommandReceiver,
    services: Services,
    notifier: Notifier,
    ended: CancellationToken,
}

impl PreparedBot {
    /// What the service manager hears of.
    pub(super) fn attended(&self) -> Attended {
        self.services.attended(self.ended.clone())
    }

    /// Names the account in the log of a process that plays for several.
    pub(super) fn span(&self) -> Span {
        tracing::info_span!("account", config = %config_name(self.path.as_deref()))
    }

    /// Plays to the end, and keeps what is to be kept.
    pub(super) async fn play(self) -> Result<(), Failure> {
        let BotOptions {
            client,
            pool,
            settings: config,
            state,
            event_bus,
            ..
        } = self.options.clone();
        let hangups = runtime::hangups()?;
        let event_log = event_bus.event_log();
        let archiver = start_archiver(&config, event_log, &pool, &state).await;
        if let Some(archiver) = &archiver {
            self.notifier.report_days(archiver.days());
            if config.archive.wire {
                let event_log = event_log.clone();
                client.listen_to_wire(move |line| event_log.note_wire(line));
            }
        }
        let program = concat!("megaton ", env!("CARGO_PKG_VERSION"));
        event_log.note("start", program, None);
        let mut end = "it ends".to_owned();
        let outcome = tokio::select! {
            outcome = Box::pin(bot::run_commanded(self.options, self.shutdown, self.commands)) => outcome,
            () = self.services.run(hangups) => unreachable!("services run for ever"),
        };
        self.ended.cancel();
        if let Err(error) = &outcome {
            tracing::error!(%error, "the bot has ended");
            end = format!("it ends: {error}");
        }
        self.notifier.finish(outcome.as_ref().err()).await;
        state.settle().await;
        event_log.note("stop", end, None);
        if let Some(archiver) = archiver {
            archiver.finish().await;
        }
        outcome.map_err(|error| cannot_play(&error, &config.lichess.url))
    }
}

/// Opens the state of earlier runs and locks the data folder.
fn open_state(config: &Config) -> Result<BotState, Failure> {
    let (store, kept) = match config.data.home(&config.lichess) {
        Some(home) => Store::open(&home).map_err(Failure::of_setup)?,
        None => Store::nowhere(),
    };
    let rules = StateRules::from(config);
    Ok(BotState::new(store, kept, rules))
}

/// Starts the archiver, if the config wants an archive.
async fn start_archiver(
    config: &Config,
    event_log: &EventLog,
    pool: &Pool,
    state: &BotState,
) -> Option<Archiver> {
    let home = config.data.home(&config.lichess);
    let home = home.filter(|_| config.archive.keep)?;
    let rules = ArchiveRules::from(&config.archive);
    let archiver = Archiver::start(&home.join(FILE_NAME), event_log, pool, state, &rules).await;
    if let Err(error) = &archiver {
        tracing::error!(%error, "nothing is archived: cannot start the thread");
    }
    archiver.ok()
}

/// Status 2, which a supervisor takes for final, only where somebody must act first.
fn cannot_play(error: &BotError, url: &str) -> Failure {
    let remedy = match error {
        BotError::Unauthorized(_) | BotError::Forbidden(_) => {
            format!("; create a new token at {url}/account/oauth/token")
        }
        BotError::NotABot(_) => "; use `megaton upgrade-account`".to_owned(),
        BotError::Closed(_) | BotError::Taken { .. } | BotError::ForeignFolder { .. } => {
            String::new()
        }
        // It may end by itself.
        BotError::Barred(_) => return Failure::failed(error),
    };
    Failure::setup(format!("{error}{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_end_by_itself_lets_a_supervisor_try_again() {
        let said = || "refused with status 403".to_owned();
        let may_end = |error| matches!(cannot_play(&error, "https://x"), Failure::Failed(_));
        assert!(may_end(BotError::Barred(said())));
        for lasting in [
            BotError::Unauthorized(said()),
            BotError::Forbidden(said()),
            BotError::NotABot(said()),
            BotError::Closed(said()),
        ] {
            assert!(!may_end(lasting));
        }
    }
}
