//! The event bus: what the bot publishes to its log, the registry of games, alerts, metrics and a page.
//!
//! A subscriber can never block the bot: the channel is bounded, and a slow reader loses the oldest
//! events.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;

use super::alerts::AlertKind;
use super::challenge_policy::ChallengeRule;
use super::event_log::EventLog;
use super::game::{Anomaly, Ending, MovePlayed};
use super::game_registry::GameRegistry;
use crate::lichess::{ChallengeId, DeclineReason, GameId, Side};

/// Events kept for the slowest subscriber.
const CAPACITY: usize = 1024;

#[derive(Clone, Debug)]
pub enum BotEvent {
    /// The event stream is open: the bot can receive challenges.
    Online,
    /// The open event stream disconnected.
    Offline {
        reason: String,
    },
    /// A problem that needs the operator.
    Alarm {
        kind: AlertKind,
        /// What is wrong, and what to do.
        text: String,
    },
    /// The problem is resolved.
    AlarmOver {
        kind: AlertKind,
    },
    Accepted {
        challenge: ChallengeId,
    },
    Declined {
        challenge: ChallengeId,
        /// The reason sent to the challenger.
        reason: DeclineReason,
        /// The rule that decided; `None` when the server did.
        rule: Option<ChallengeRule>,
    },
    /// A game task joined a game, new or in progress.
    Joined {
        game: GameId,
        opponent: String,
        us: Option<Side>,
        /// Number of moves already made.
        ply: usize,
    },
    /// The server confirmed a move.
    Moved {
        game: GameId,
        moved: Arc<MovePlayed>,
    },
    /// What the bot's move cost on the clock beyond its thinking time.
    Overhead {
        cost: Duration,
    },
    /// An anomaly in a game; the game continues.
    AnomalySeen {
        game: GameId,
        anomaly: Anomaly,
    },
    /// A game's open stream disconnected.
    StreamLost {
        game: GameId,
        reason: String,
    },
    /// A game task panicked and restarts.
    GameTaskFailed {
        game: GameId,
        reason: String,
    },
    /// The event loop panicked and restarts; games continue.
    EventLoopFailed {
        reason: String,
    },
    /// The engine failed its self-test.
    EngineFailed {
        /// What the engine did instead.
        reason: String,
    },
    Finished {
        ending: Arc<Ending>,
    },
}

/// The event bus. Clones share it.
#[derive(Clone, Debug)]
pub struct EventBus {
    sender: broadcast::Sender<BotEvent>,
    event_log: EventLog,
    registry: GameRegistry,
}

impl EventBus {
    pub fn new() -> Self {
        Self {
            sender: broadcast::Sender::new(CAPACITY),
            event_log: EventLog::default(),
            registry: GameRegistry::default(),
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

    /// The running games.
    pub(super) fn registry(&self) -> &GameRegistry {
        &self.registry
    }

    /// Publishes an event to the log, the registry and all subscribers; never waits.
    pub(super) fn publish(&self, event: BotEvent) {
        self.event_log.handle(&event);
        self.registry.handle(&event);
        // No subscriber is no error.
        let _ = self.sender.send(event);
    }
}

impl Default for EventBus {
    fn default() -> Self {
        Self::new()
    }
}
