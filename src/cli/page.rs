//! The operator's page beside a running bot: opened if it can be, and served.

use std::net::SocketAddr;

use megaton::bot::{ControlHandle, EventLog};
use megaton::config::{self, Config};
use megaton::panel::{Health, Http, HttpSources, Reloader, SelfTest, StatusWatch};

/// Serves the page for ever, if there is to be one and its port is free.
pub(super) async fn serve(config: Config, sources: HttpSources) {
    match Http::open(&config.panel) {
        Ok(Some(http)) => {
            tracing::info!(url = http.url(), "operator's page open");
            http.serve(sources).await;
        }
        Ok(None) => {}
        Err(error) => tracing::warn!("the bot runs without its page: {error}"),
    }
    std::future::pending::<()>().await;
}

/// Opens the page of a practice: where the config has it, or at any port if that is taken.
pub(super) fn open_for_practice(config: &config::Panel) -> Option<Http> {
    let anywhere = config::Panel {
        listen: config
            .listen
            .map(|address| SocketAddr::new(address.ip(), 0)),
        ..config.clone()
    };
    for wanted in [config, &anywhere] {
        match Http::open(wanted) {
            Ok(http) => return http,
            Err(error) => tracing::debug!("cannot open the page: {error}"),
        }
    }
    None
}

/// What the page of a practice needs of its bot; the state of the bot is watched from now on.
pub(super) fn sources(control: &ControlHandle, event_log: EventLog, server: &str) -> HttpSources {
    let (watch, watcher) = StatusWatch::new(control.clone());
    tokio::spawn(watcher.run());
    let (_, reload) = Reloader::new(None, Config::default(), control.clone());
    HttpSources {
        reload,
        control: control.clone(),
        event_log,
        archive: None,
        health: Health::new(watch.clone(), SelfTest::default(), None),
        metrics: None,
        watch,
        server: server.to_owned(),
    }
}
