//! The event bus: carries what the bot publishes to its log and all subscribers.
//!
//! A subscriber can never block the bot: the channel is bounded, and a slow reader loses the oldest
//! events.

use tokio::sync::broadcast;

use super::bot_event::BotEvent;
use super::event_log::EventLog;

/// Events kept for the slowest subscriber.
const CAPACITY: usize = 1024;

/// The event bus. Clones share it.
#[derive(Clone, Debug)]
pub struct EventBus {
    sender: broadcast::Sender<BotEvent>,
    event_log: EventLog,
}

impl EventBus {
    pub fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(CAPACITY),
            event_log: EventLog::default(),
        }
    }

    /// Subscribes to all later events. A receiver that lags learns how many it lost.
    pub fn subscribe(&self) -> broadcast::Receiver<BotEvent> {
        self.sender.subscribe()
    }

    /// The complete log of events, which no reader can miss any part of.
    pub fn event_log(&self) -> &EventLog {
        &self.event_log
    }

    /// Publishes an event to the log and all subscribers; never waits.
    pub(super) fn publish(&self, event: BotEvent) {
        self.event_log.handle(&event);
        // No subscriber is no error.
        let _ = self.sender.send(event);
    }
}

impl Default for EventBus {
    fn default() -> Self {
        Self::new()
    }
}
