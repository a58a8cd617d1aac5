//! Conditions that need the operator: announced once when they begin and once when they end.
//!
//! A handle shared freely; raising an alert takes a short lock and never waits. The event loop
//! reacts to alerts: some kinds make the bot refuse new games.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::bot_event::{AlertKind, BotEvent};
use super::event_bus::EventBus;
use super::status::AlertStatus;

/// The active alerts. Clones share them.
#[derive(Clone, Debug)]
pub struct Alerts {
    on: Arc<Mutex<BTreeMap<AlertKind, Alert>>>,
    changed: Arc<Notify>,
    event_bus: EventBus,
}

#[derive(Clone, Debug)]
struct Alert {
    text: String,
    since: Instant,
}

impl Alerts {
    /// Starts without alerts; announces them on `event_bus`.
    pub fn new(event_bus: EventBus) -> Self {
        Self {
            on: Arc::default(),
            changed: Arc::default(),
            event_bus,
        }
    }

    /// Raises an alert; announces it only once however often it is raised, but keeps its latest text.
    /// Returns whether it announced it.
    pub fn raise(&self, kind: AlertKind, text: impl Into<String>) -> bool {
        let text = text.into();
        let mut on = self.on.lock();
        let is_known = on.contains_key(&kind);
        let alert = on.entry(kind).or_insert_with(|| Alert {
            text: String::new(),
            since: Instant::now(),
        });
        let before = std::mem::replace(&mut alert.text, text.clone());
        if is_known && (!kind.repeats() || before == text) {
            return false;
        }
        drop(on);
        tracing::error!(alert = kind.as_str(), "{text}");
        self.event_bus.publish(BotEvent::AlertRaised { kind, text });
        self.changed.notify_one();
        true
    }

    /// Clears an alert; returns whether it was active.
    pub fn clear(&self, kind: AlertKind) -> bool {
        if self.on.lock().remove(&kind).is_none() {
            return false;
        }
        tracing::info!(alert = kind.as_str(), "alert resolved");
        self.event_bus.publish(BotEvent::AlertCleared { kind });
        self.changed.notify_one();
        true
    }

    /// Raises an alert with this text, or clears it if there is none.
    pub(super) fn set(&self, kind: AlertKind, text: Option<String>) {
        match text {
            Some(text) => self.raise(kind, text),
            None => self.clear(kind),
        };
    }

    /// Whether an alert of this kind is active.
    pub fn is_on(&self, kind: AlertKind) -> bool {
        self.on.lock().contains_key(&kind)
    }

    /// Whether an active alert forbids new games.
    pub fn forbids_games(&self) -> bool {
        self.on.lock().keys().any(|kind| kind.stops())
    }

    /// Waits until any alert began or ended since the last call.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// All active alerts, for display.
    pub fn lines(&self) -> Vec<AlertStatus> {
        let line = |(kind, alert): (&AlertKind, &Alert)| AlertStatus {
            kind: kind.as_str().to_owned(),
            text: alert.text.clone(),
            since: alert.since.elapsed().as_secs(),
        };
        self.on.lock().iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_is_announced_once_when_raised_and_once_when_cleared() {
        let event_bus = EventBus::new();
        let mut news = event_bus.subscribe();
        let alerts = Alerts::new(event_bus);
        assert!(alerts.raise(AlertKind::Token, "revoked"));
        assert!(!alerts.raise(AlertKind::Token, "revoked, in other words"));
        assert!(alerts.forbids_games());
        let shown = alerts.lines().remove(0).text;
        assert_eq!(shown, "revoked, in other words", "what is true now");
        assert!(alerts.clear(AlertKind::Token));
        assert!(!alerts.clear(AlertKind::Token));
        assert!(!alerts.forbids_games() && alerts.lines().is_empty());
        let mut received = Vec::new();
        while let Ok(event) = news.try_recv() {
            received.push(matches!(event, BotEvent::AlertRaised { .. }));
        }
        assert_eq!(received, [true, false]);
    }

    #[test]
    fn a_warning_whose_text_changes_is_announced_again() {
        let alerts = Alerts::new(EventBus::default());
        assert!(alerts.raise(AlertKind::TokenEnds, "in 30 days"));
        assert!(!alerts.raise(AlertKind::TokenEnds, "in 30 days"));
        assert!(alerts.raise(AlertKind::TokenEnds, "in 7 days"));
        assert!(!alerts.forbids_games(), "a warning stops nothing");
    }
}
