//! Metrics in the `OpenMetrics` text format.
//!
//! A task counts events from the event bus; gauges are read at the scrape from what is known already. A
//! scrape asks the bot nothing.
//!
//! * `counters`: events; `gauges`: current values; `process`: the process as the system sees it

mod counters;
mod gauges;
mod process;

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tokio::sync::{Mutex, broadcast};

use self::counters::Counters;
use self::gauges::Gauges;
pub use self::gauges::MetricSources;
use self::process::Process;
use crate::bot::{BotEvent, ControlHandle};

/// The content type of the text.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Pause before the counting restarts after a panic.
const RESTART_PAUSE: Duration = Duration::from_secs(1);

/// The metrics of a running bot. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    counted: Counters,
    control: ControlHandle,
}

impl Metrics {
    pub fn new(sources: MetricSources) -> Self {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Process));
        let ours = registry.sub_registry_with_prefix("megaton");
        let counted = Counters::register(ours);
        let control = sources.watch.control().clone();
        ours.register_collector(Box::new(Gauges(sources)));
        Self {
            registry: Arc::new(registry),
            counted,
            control,
        }
    }

    /// Counts events until the event bus closes.
    pub async fn run(self, events: broadcast::Receiver<BotEvent>) {
        let events = Mutex::new(events);
        let count = || self.count(&events);
        self.control
            .keep_running("the metrics", RESTART_PAUSE, count)
            .await;
    }

    async fn count(&self, events: &Mutex<broadcast::Receiver<BotEvent>>) {
        let mut events = events.lock().await;
        loop {
            match events.recv().await {
                Ok(event) => {
                    #[cfg(test)]
                    crate::panel::fault::strike();
                    self.counted.count(&event);
                }
                Err(broadcast::error::RecvError::Lagged(missed)) => self.counted.missed(missed),
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    }

    /// All metrics as text.
    ///
    /// # Errors
    /// Never in practice: the text is built in memory.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::{AlertKind, Alerts, BotPhase, Command, EventBus, Reply, Status, channel};
    use crate::engine::{EngineOptions, Pool};
    use crate::lichess::{Client, ClientOptions, Timing, Token};
    use crate::panel::health::{Health, SelfTest};
    use crate::panel::status_poller::StatusWatch;

    fn metrics(watch: StatusWatch) -> Metrics {
        let client = Client::new(ClientOptions {
            base_url: "http://127.0.0.1:9".to_owned(),
            token: Token::parse("lip_verysecret", "here").unwrap(),
            contact: None,
            timing: Timing::default(),
        });
        let options = EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        };
        Metrics::new(MetricSources {
            health: Health::new(watch.clone(), SelfTest::default(), None),
            watch,
            client: client.unwrap(),
            pool: Pool::new(&options),
        })
    }

    #[tokio::test]
    async fn a_scrape_before_the_first_status_is_complete() {
        let (control, _commands) = channel();
        let (watch, _watcher) = StatusWatch::new(control);
        let text = metrics(watch).text().unwrap();
        assert!(text.ends_with("# EOF\n"), "{text}");
        assert!(text.contains("megaton_ready 0"), "{text}");
        assert!(!text.contains("verysecret"));
    }

    #[tokio::test]
    async fn a_panic_of_the_metrics_is_reported_and_they_count_on() {
        let (control, mut commands) = channel();
        let mut failures = commands.take_failures();
        let (watch, _watcher) = StatusWatch::new(control);
        let metrics = metrics(watch);
        let event_bus = EventBus::default();
        let counting = metrics.clone().run(event_bus.subscribe());
        let counting = tokio::spawn(crate::panel::fault::once(counting));
        let alerts = Alerts::new(event_bus);
        alerts.raise(AlertKind::Token, "lost with the panic");
        let failure = failures.recv().await;
        assert!(
            matches!(&failure, Some(BotEvent::ServiceFailed { service: "the metrics", reason }) if reason == "an injected fault"),
            "{failure:?}"
        );
        alerts.raise(AlertKind::Scopes, "counted");
        drop(alerts);
        counting.await.unwrap();
        let text = metrics.text().unwrap();
        let line = "megaton_alerts_total{kind=\"scopes\"} 1";
        assert!(text.lines().any(|it| it == line), "{text}");
    }

    #[tokio::test]
    async fn every_gauge_appears_once() {
        let (control, mut commands) = channel();
        let (watch, watcher) = StatusWatch::new(control);
        tokio::spawn(watcher.run());
        let mut changes = watch.changes();
        let order = commands.next().await;
        assert!(matches!(order.command, Command::Status));
        let status = Status {
            state: BotPhase::Playing,
            rating: Some(2100),
            ..Status::default()
        };
        order.answer(Reply::Status(Box::new(status)));
        changes.changed().await.unwrap();
        let metrics = metrics(watch);
        let event_bus = EventBus::default();
        let counting = tokio::spawn(metrics.clone().run(event_bus.subscribe()));
        let text = metrics.text().unwrap();
        for line in [
            "megaton_state{state=\"playing\"} 1.0",
            "megaton_state{state=\"paused\"} 0.0",
            "megaton_rating 2100.0",
            "megaton_requests_total{kind=\"move\",status=\"429\"} 0",
            "megaton_overhead_seconds_count 0",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in {text}");
        }
        let mut kinds: Vec<&str> = text.lines().filter(|it| it.starts_with("# TYPE")).collect();
        let all = kinds.len();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(kinds.len(), all, "{text}");
        drop(event_bus);
        tokio::time::timeout(Duration::from_secs(60), counting)
            .await
            .unwrap()
            .unwrap();
    }
}
