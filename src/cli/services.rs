//! What runs beside the bot: the control socket, the page, the figures, the watchdog, the webhook.
//!
//! None of it is needed to play: what cannot be opened is said, and the games continue without it. Only
//! a webhook that is none ends the start, for anyone who names one relies on it.

use std::path::PathBuf;
use std::time::Duration;

use megaton::archive::FILE_NAME;
use megaton::bot::{BotError, BotOptions, ControlHandle, EventBus};
use megaton::config::Config;
use megaton::engine::Pool;
use megaton::panel::{
    Address, Alerter, Alerts, Health, HttpSources, MetricSources, Metrics, Panel, Reload, Reloader,
    SelfTest, StatusPoller, StatusWatch, attend,
};

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use super::failure::Failure;
use super::page;
use super::runtime::Hangups;

/// How long the end of the program waits for the message to the webhook that says why it ends.
const LAST_MESSAGE: Duration = Duration::from_secs(5);
/// How long it waits for others: games may stand that the next program is to take up.
const OTHER_MESSAGES: Duration = Duration::from_millis(500);

/// What runs beside the bot.
pub(super) struct Services {
    config: Config,
    listeners: EventBus,
    pool: Pool,
    control: ControlHandle,
    reload: Reload,
    reloader: Reloader,
    watch: StatusWatch,
    watcher: StatusPoller,
    selftest: SelfTest,
    health: Health,
    metrics: Metrics,
}

/// Who brings messages to the webhook.
pub(super) struct Notifier {
    alerter: Alerter,
    ringing: JoinHandle<()>,
}

impl Notifier {
    /// Tells the summary of each day.
    pub(super) fn tell_days(&self, days: watch::Receiver<Option<String>>) {
        tokio::spawn(self.alerter.clone().tell_days(days));
    }

    /// The program ends because of this error, if it is one: the webhook gets it, and a moment for it.
    pub(super) async fn finish(self, error: Option<&BotError>) {
        if let Some(error) = error {
            self.alerter
                .say("ended", format!("the bot has exited: {error}"));
        }
        self.alerter.end();
        let patience = match error {
            Some(_) => LAST_MESSAGE,
            None => OTHER_MESSAGES,
        };
        if tokio::time::timeout(patience, self.ringing).await.is_err() {
            tracing::warn!("webhook too slow: last message not sent");
        }
    }
}

impl Services {
    /// Beside a bot that is made of these and commanded through `control`.
    pub(super) fn new(
        options: &BotOptions,
        control: ControlHandle,
        config: &Config,
        path: Option<PathBuf>,
    ) -> Result<(Self, Notifier), Failure> {
        let address = Address::from_env_or_file(config.alerts.webhook_file.as_deref());
        let address = address.map_err(|error| Failure::Setup(error.into()))?;
        let (alerter, alerts) = Alerts::new(&config.alerts, address).map_err(Failure::failed)?;
        let (reloader, reload) = Reloader::new(path, config.clone(), control.clone());
        let reloader = reloader.noting(options.listeners.event_log().clone());
        let (watch, watcher) = StatusWatch::new(control.clone());
        let selftest = SelfTest::default();
        let home = config.data.home(&config.lichess);
        let health = Health::new(watch.clone(), selftest.clone(), home);
        let metrics = Metrics::new(MetricSources {
            watch: watch.clone(),
            health: health.clone(),
            client: options.client.clone(),
            pool: options.pool.clone(),
        });
        let ringing = tokio::spawn(alerts.run(options.listeners.subscribe(), watch.clone()));
        let beside = Self {
            config: config.clone(),
            listeners: options.listeners.clone(),
            pool: options.pool.clone(),
            control,
            reload,
            reloader,
            watch,
            watcher,
            selftest,
            health,
            metrics,
        };
        Ok((beside, Notifier { alerter, ringing }))
    }

    /// Runs for ever. Each part is a task of its own: one that fails takes no other with it, and
    /// never the bot.
    pub(super) async fn run(self, hangups: Hangups) {
        let home = self.config.data.home(&self.config.lichess);
        let sources = HttpSources {
            control: self.control,
            reload: self.reload,
            health: self.health,
            metrics: Some(self.metrics.clone()),
            event_log: self.listeners.event_log().clone(),
            archive: home.map(|home| home.join(FILE_NAME)),
            watch: self.watch.clone(),
            server: self.config.lichess.url.clone(),
        };
        let mut parts = JoinSet::new();
        parts.spawn(self.reloader.run());
        parts.spawn(self.watcher.run());
        parts.spawn(self.metrics.run(self.listeners.subscribe()));
        parts.spawn(self.selftest.run(self.pool, self.watch.clone()));
        parts.spawn(reload_at(hangups, sources.reload.clone()));
        parts.spawn(attend(sources.health.clone(), self.watch));
        parts.spawn(socket(self.config.clone(), sources.clone()));
        parts.spawn(page::serve(self.config, sources));
        while let Some(ended) = parts.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a service failed and stays off until the next start");
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Reads the config again at each hangup.
async fn reload_at(mut hangups: Hangups, reload: Reload) {
    loop {
        hangups.next().await;
        if let Ok(said) = reload.now("SIGHUP").await {
            tracing::info!(said, "SIGHUP: reloading the config");
        }
    }
}

/// Serves the control socket, if there is to be one and it can be opened.
async fn socket(config: Config, sources: HttpSources) {
    let path = config.data.socket_path(&config.lichess);
    let opened = path.as_deref().map(Panel::open);
    match opened {
        Some(Ok(panel)) => {
            let HttpSources {
                control,
                reload,
                health,
                ..
            } = sources;
            panel.serve(control, reload, health).await;
        }
        Some(Err(error)) => tracing::warn!("the bot cannot be controlled: {error}"),
        None => {}
    }
}
