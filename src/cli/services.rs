//! What runs beside the bot: the control socket, the page, metrics, the watchdog, the webhook.
//!
//! The bot needs none of it: if something cannot be opened, the log says so and the games continue. Only
//! an invalid webhook ends the start, since its operator relies on it.

use std::path::PathBuf;
use std::time::Duration;

use megaton::archive::FILE_NAME;
use megaton::bot::{BotError, BotOptions, ControlHandle, EventBus, EventLog};
use megaton::config::Config;
use megaton::engine::Pool;
use megaton::lichess::Client;
use megaton::panel::{
    Alerter, Alerts, Attended, ControlSocket, Delivery, Health, Http, HttpSources, MetricSources,
    Metrics, Reload, Reloader, Secrets, SelfTest, StatusPoller, StatusWatch,
};
use tokio::signal::unix::Signal;
use tokio::sync::{broadcast, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::failure::Failure;
use super::setup::check_machine;

/// How long the program waits at its end for the webhook message that says why it ends.
const LAST_MESSAGE: Duration = Duration::from_secs(5);
/// How long it waits for other messages: a successor may have to resume games.
const OTHER_MESSAGES: Duration = Duration::from_millis(500);

/// The services of a bot.
pub(super) struct Services {
    config: Config,
    event_bus: EventBus,
    pool: Pool,
    reloader: Reloader,
    poller: StatusPoller,
    selftest: SelfTest,
    client: Client,
    alerter: Alerter,
    metrics: Metrics,
    sources: HttpSources,
}

/// Sends webhook messages.
pub(super) struct Notifier {
    alerter: Alerter,
    task: JoinHandle<()>,
}

impl Notifier {
    /// Sends the summary of each day.
    pub(super) fn report_days(&self, days: watch::Receiver<Option<String>>) {
        tokio::spawn(self.alerter.clone().report_days(days));
    }

    /// Says where each report of a panic is.
    pub(super) fn report_crashes(
        &self,
        reports: broadcast::Receiver<PathBuf>,
        event_log: EventLog,
    ) {
        tokio::spawn(self.alerter.clone().report_crashes(reports, event_log));
    }

    /// Ends with the program, after a message about the error that ended the bot, if any.
    pub(super) async fn finish(self, error: Option<&BotError>) {
        if let Some(error) = error {
            self.alerter
                .send("ended", format!("the bot has exited: {error}"));
        }
        self.alerter.end();
        let patience = if error.is_some() {
            LAST_MESSAGE
        } else {
            OTHER_MESSAGES
        };
        if tokio::time::timeout(patience, self.task).await.is_err() {
            tracing::warn!("webhook too slow: last message not sent");
        }
    }
}

impl Services {
    /// For a bot with these options that takes commands through `control`.
    pub(super) fn new(
        options: &BotOptions,
        control: ControlHandle,
        config: &Config,
        path: Option<PathBuf>,
    ) -> Result<(Self, Notifier), Failure> {
        let event_bus = &options.event_bus;
        let delivery = Delivery::read(&config.alerts).map_err(Failure::of_setup)?;
        let proxy = config.lichess.proxy.as_deref();
        let (alerter, alerts) = Alerts::new(delivery, proxy).map_err(Failure::failed)?;
        let (reloader, reload) = Reloader::new(path, config.clone(), control.clone());
        let (watch, poller) = StatusWatch::new(control.clone());
        let selftest = SelfTest::default();
        let home = config.data.home(&config.lichess);
        let health = Health::new(watch.clone(), selftest.clone(), home.clone());
        let metrics = Metrics::new(MetricSources {
            watch: watch.clone(),
            health: health.clone(),
            client: options.client.clone(),
            pool: options.pool.clone(),
        });
        let archive = home.filter(|_| config.archive.keep);
        let archive = archive.map(|home| home.join(FILE_NAME));
        let alerts = alerts.with_past(archive.clone(), options.state.clone());
        let task = tokio::spawn(alerts.run(event_bus.subscribe(), watch.clone()));
        let services = Self {
            config: config.clone(),
            event_bus: event_bus.clone(),
            pool: options.pool.clone(),
            reloader: reloader
                .noting(event_bus.event_log().clone())
                .checking(check_machine),
            poller,
            selftest,
            client: options.client.clone(),
            alerter: alerter.clone(),
            metrics: metrics.clone(),
            sources: HttpSources {
                control,
                reload,
                health,
                metrics: Some(metrics),
                event_log: event_bus.event_log().clone(),
                archive,
                watch,
                server: config.lichess.url.clone(),
            },
        };
        Ok((services, Notifier { alerter, task }))
    }

    /// What the service manager hears of, until the bot has ended.
    pub(super) fn attended(&self, ended: CancellationToken) -> Attended {
        Attended {
            health: self.sources.health.clone(),
            watch: self.sources.watch.clone(),
            ended,
        }
    }

    /// Runs for ever. Each service is a task of its own, so a failure ends neither another one nor the
    /// bot.
    pub(super) async fn run(self, hangups: Signal) {
        let (sources, config) = (self.sources, self.config);
        let watch = sources.watch.clone();
        let http = open_page(&config);
        let secrets = Secrets {
            client: self.client,
            alerter: self.alerter.clone(),
            password: http.as_ref().map(Http::password),
            control: sources.control.clone(),
        };
        let mut tasks = JoinSet::new();
        tasks.spawn(self.reloader.renewing(secrets).run());
        tasks.spawn(self.alerter.beat(sources.health.clone()));
        tasks.spawn(self.poller.run());
        tasks.spawn(self.metrics.run(self.event_bus.subscribe()));
        tasks.spawn(self.selftest.run(self.pool, watch.clone()));
        tasks.spawn(reload_at(hangups, sources.reload.clone()));
        tasks.spawn(serve_socket(config, sources.clone()));
        if let Some(http) = http {
            tasks.spawn(http.serve(sources));
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a service failed and stays off until the next start");
            }
        }
        std::future::pending::<()>().await;
    }
}

/// Rereads the config at each SIGHUP.
async fn reload_at(mut hangups: Signal, reload: Reload) {
    while hangups.recv().await.is_some() {
        if let Ok(said) = reload.now("SIGHUP").await {
            tracing::info!(said, "SIGHUP: reloading the config");
        }
    }
}

async fn serve_socket(config: Config, sources: HttpSources) {
    let path = config.data.socket_path(&config.lichess);
    match path.as_deref().map(ControlSocket::open) {
        Some(Ok(socket)) => {
            socket
                .serve(sources.control, sources.reload, sources.health)
                .await;
        }
        Some(Err(error)) => tracing::warn!("the bot cannot be controlled: {error}"),
        None => {}
    }
}

fn open_page(config: &Config) -> Option<Http> {
    match Http::open(&config.panel) {
        Ok(Some(http)) => {
            tracing::info!(url = http.url(), "operator's page open");
            Some(http)
        }
        Ok(None) => None,
        Err(error) => {
            tracing::warn!("the bot runs without its page: {error}");
            None
        }
    }
}
