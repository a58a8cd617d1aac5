//! What runs beside the bot: the control socket, the page, the figures, the watchdog, the webhook.
//!
//! None of it is needed to play: what cannot be opened is said, and the games go on without it. Only
//! a webhook that is none ends the start, for whoever names one relies on it.

use std::path::PathBuf;

use megaton::archive::FILE_NAME;
use megaton::bot::{BotOptions, Control, Listeners};
use megaton::config::Config;
use megaton::engine::Pool;
use megaton::panel::{
    Address, Alerter, Alerts, Health, MetricSources, Metrics, Panel, Reload, Reloader, SelfTest,
    Sources, Watch, Watcher, attend,
};

use tokio::sync::watch;

use super::failure::Failure;
use super::page;
use super::runtime::Hangups;

/// What runs beside the bot.
pub(super) struct Beside {
    config: Config,
    listeners: Listeners,
    pool: Pool,
    control: Control,
    reload: Reload,
    reloader: Reloader,
    watch: Watch,
    watcher: Watcher,
    selftest: SelfTest,
    health: Health,
    metrics: Metrics,
    alerter: Alerter,
    alerts: Alerts,
}

impl Beside {
    /// Beside a bot that is made of these and commanded through `control`.
    pub(super) fn new(
        options: &BotOptions,
        control: Control,
        config: &Config,
        path: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let address = Address::from_env_or_file(config.alerts.webhook_file.as_deref());
        let address = address.map_err(|error| Failure::Setup(error.into()))?;
        let (alerter, alerts) = Alerts::new(&config.alerts, address).map_err(Failure::failed)?;
        let (reloader, reload) = Reloader::new(path, config.clone(), control.clone());
        let (watch, watcher) = Watch::new(control.clone());
        let selftest = SelfTest::default();
        let home = config.data.home(&config.lichess);
        let health = Health::new(watch.clone(), selftest.clone(), home);
        let metrics = Metrics::new(MetricSources {
            watch: watch.clone(),
            health: health.clone(),
            client: options.client.clone(),
            pool: options.pool.clone(),
        });
        Ok(Self {
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
            alerter,
            alerts,
        })
    }

    /// Tells the webhook the summary of each day.
    pub(super) fn tell_days(&self, days: watch::Receiver<Option<String>>) {
        tokio::spawn(self.alerter.clone().tell_days(days));
    }

    /// Runs for ever.
    pub(super) async fn run(self, hangups: Hangups) {
        let news = || self.listeners.subscribe();
        tokio::spawn(self.reloader.run());
        tokio::spawn(self.watcher.run());
        tokio::spawn(self.metrics.clone().run(news()));
        tokio::spawn(self.alerts.run(news(), self.watch.clone()));
        tokio::spawn(self.selftest.run(self.pool, self.watch.clone()));
        let home = self.config.data.home(&self.config.lichess);
        let sources = Sources {
            control: self.control,
            reload: self.reload,
            health: self.health,
            metrics: Some(self.metrics),
            chronicle: self.listeners.chronicle().clone(),
            archive: home.map(|home| home.join(FILE_NAME)),
            watch: self.watch.clone(),
            server: self.config.lichess.url.clone(),
        };
        tokio::join!(
            reload_at(hangups, sources.reload.clone()),
            socket(&self.config, &sources),
            page::serve(&self.config, sources.clone()),
            attend(sources.health.clone(), self.watch),
        );
    }
}

/// Reads the config again at each hangup.
async fn reload_at(mut hangups: Hangups, reload: Reload) {
    loop {
        hangups.next().await;
        if let Ok(said) = reload.now().await {
            tracing::info!(said, "SIGHUP: the config is read again");
        }
    }
}

/// Serves the control socket, if there is to be one and it can be opened.
async fn socket(config: &Config, sources: &Sources) {
    let path = config.data.socket_path(&config.lichess);
    let opened = path.as_deref().map(Panel::open);
    match opened {
        Some(Ok(panel)) => {
            let Sources {
                control,
                reload,
                health,
                ..
            } = sources.clone();
            panel.serve(control, reload, health).await;
        }
        Some(Err(error)) => tracing::warn!("the bot cannot be told anything: {error}"),
        None => {}
    }
}
