//! Alerts: what an operator should look at, reported once when raised and once when cleared.
//!
//! A shared handle; raising an alert takes one map lookup and never waits. The event loop reacts: some
//! kinds stop the bot from accepting games.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::events::{BotEvent, EventBus};
use super::status::AlertStatus;

/// What an alarm is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlertKind {
    /// The server no longer takes the token.
    Token,
    /// The token no longer allows to play.
    Scopes,
    /// The account is closed, or no bot's any more.
    Closed,
    /// The account is marked for breaking the terms of service.
    Marked,
    /// Token and account look good, and yet the server forbids us to play.
    Barred,
    /// Another program uses the account.
    Stolen,
    /// The token will end soon.
    TokenEnds,
    /// Rated play has stopped after too many losses.
    Guard,
    /// What should be kept cannot be written.
    Store,
    /// Games, challenges and events cannot be kept.
    Archive,
}

impl AlertKind {
    pub const ALL: [Self; 10] = [
        Self::Token,
        Self::Scopes,
        Self::Closed,
        Self::Marked,
        Self::Barred,
        Self::Stolen,
        Self::TokenEnds,
        Self::Guard,
        Self::Store,
        Self::Archive,
    ];

    /// One word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Scopes => "scopes",
            Self::Closed => "closed",
            Self::Marked => "marked",
            Self::Barred => "barred",
            Self::Stolen => "stolen",
            Self::TokenEnds => "token-ends",
            Self::Guard => "guard",
            Self::Store => "store",
            Self::Archive => "archive",
        }
    }

    /// Whether nothing new is taken while it lasts.
    pub const fn stops(self) -> bool {
        matches!(
            self,
            Self::Token | Self::Scopes | Self::Closed | Self::Marked | Self::Barred
        )
    }

    /// Whether another text is news. Elsewhere it is the same trouble in other words.
    const fn repeats(self) -> bool {
        matches!(self, Self::TokenEnds | Self::Guard)
    }
}

/// The alarms that are on. Clones share them.
#[derive(Clone, Debug)]
pub struct Alerts {
    on: Arc<Mutex<BTreeMap<AlertKind, Alert>>>,
    changed: Arc<Notify>,
    listeners: EventBus,
}

#[derive(Clone, Debug)]
struct Alert {
    text: String,
    since: Instant,
}

impl Alerts {
    /// None is on; these listeners hear of them.
    pub fn new(listeners: EventBus) -> Self {
        Self {
            on: Arc::default(),
            changed: Arc::default(),
            listeners,
        }
    }

    /// Something is wrong. Said once, however often it is raised; returns whether it was said.
    pub fn raise(&self, kind: AlertKind, text: impl Into<String>) -> bool {
        let text = text.into();
        let mut on = self.lock();
        let known = on.get(&kind);
        if known.is_some_and(|alarm| !kind.repeats() || alarm.text == text) {
            return false;
        }
        let since = known.map_or_else(Instant::now, |alarm| alarm.since);
        let alarm = Alert {
            text: text.clone(),
            since,
        };
        on.insert(kind, alarm);
        drop(on);
        tracing::error!(alarm = kind.as_str(), "{text}");
        self.listeners.publish(BotEvent::Alarm { kind, text });
        self.changed.notify_one();
        true
    }

    /// It is well again; returns whether it had been wrong.
    pub fn clear(&self, kind: AlertKind) -> bool {
        if self.lock().remove(&kind).is_none() {
            return false;
        }
        tracing::info!(alarm = kind.as_str(), "alert resolved");
        self.listeners.publish(BotEvent::AlarmOver { kind });
        self.changed.notify_one();
        true
    }

    /// Whether this one is on.
    pub fn is_on(&self, kind: AlertKind) -> bool {
        self.lock().contains_key(&kind)
    }

    /// Whether nothing new may be taken.
    pub fn stop(&self) -> bool {
        self.lock().keys().any(|kind| kind.stops())
    }

    /// Waits until any alarm began or ended since the last call.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// All that are on, for a person.
    pub fn lines(&self) -> Vec<AlertStatus> {
        let line = |(kind, alarm): (&AlertKind, &Alert)| AlertStatus {
            kind: kind.as_str().to_owned(),
            text: alarm.text.clone(),
            since: alarm.since.elapsed().as_secs(),
        };
        self.lock().iter().map(line).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AlertKind, Alert>> {
        self.on.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Alerts {
    fn default() -> Self {
        Self::new(EventBus::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alarm_is_said_once_and_once_when_it_is_over() {
        let listeners = EventBus::new();
        let mut news = listeners.subscribe();
        let alarms = Alerts::new(listeners);
        assert!(alarms.raise(AlertKind::Token, "revoked"));
        assert!(!alarms.raise(AlertKind::Token, "revoked, in other words"));
        assert!(alarms.stop());
        assert_eq!(alarms.lines()[0].text, "revoked");
        assert!(alarms.clear(AlertKind::Token));
        assert!(!alarms.clear(AlertKind::Token));
        assert!(!alarms.stop() && alarms.lines().is_empty());
        let mut received = Vec::new();
        while let Ok(event) = news.try_recv() {
            received.push(matches!(event, BotEvent::Alarm { .. }));
        }
        assert_eq!(received, [true, false]);
    }

    #[test]
    fn a_warning_that_grows_is_said_again() {
        let alarms = Alerts::default();
        assert!(alarms.raise(AlertKind::TokenEnds, "in 30 days"));
        assert!(!alarms.raise(AlertKind::TokenEnds, "in 30 days"));
        assert!(alarms.raise(AlertKind::TokenEnds, "in 7 days"));
        assert!(!alarms.stop(), "a warning stops nothing");
    }
}
