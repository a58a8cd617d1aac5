//! The event bus: what happens to the bot, for terminal, page, metrics and archive.
//!
//! A subscriber can never block the bot: the channel is bounded, and a slow subscriber loses the oldest
//! events.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast;

use super::alerts::AlertKind;
use super::challenge_policy::ChallengeRule;
use super::event_log::EventLog;
use super::game::{Anomaly, Ending, MovePlayed};
use crate::lichess::{ChallengeId, DeclineReason, GameId, Side};

/// News kept for the slowest listener.
const CAPACITY: usize = 1024;

/// Something that happened to the bot.
#[derive(Clone, Debug)]
pub enum BotEvent {
    /// The event stream is open: the bot can be challenged.
    Online,
    /// The event stream, which was open, is lost.
    Offline { reason: String },
    /// Something is wrong that an operator should look at.
    Alarm {
        /// What it is about.
        kind: AlertKind,
        /// What is wrong, and what to do.
        text: String,
    },
    /// It is well again.
    AlarmOver {
        /// What it was about.
        kind: AlertKind,
    },
    /// A challenge was taken.
    Accepted { challenge: ChallengeId },
    /// A challenge was declined.
    Declined {
        challenge: ChallengeId,
        /// What the challenger was told.
        reason: DeclineReason,
        /// Which rule decided; none when the server did.
        rule: Option<ChallengeRule>,
    },
    /// A game was taken up, new or under way.
    Joined {
        game: GameId,
        opponent: String,
        us: Option<Side>,
        /// How many moves had been made.
        ply: usize,
    },
    /// A move stands on the server's list.
    Moved {
        game: GameId,
        moved: Arc<MovePlayed>,
    },
    /// What an own move cost on the clock beside our thinking.
    Overhead { cost: Duration },
    /// Something in a game is not as it should be; the game continues.
    AnomalySeen { game: GameId, anomaly: Anomaly },
    /// The stream of a game, which was open, is lost.
    StreamLost { game: GameId, reason: String },
    /// The game task of a game failed, and sits down again.
    GameTaskFailed { game: GameId, reason: String },
    /// The task that answers the door failed, and restarts; games continue.
    EventLoopFailed { reason: String },
    /// The engine fails its test.
    EngineFailed {
        /// What it did instead.
        reason: String,
    },
    /// A game is over.
    Finished { ending: Arc<Ending> },
}

/// Those who listen. Clones tell the same ones.
#[derive(Clone, Debug)]
pub struct EventBus {
    news: broadcast::Sender<BotEvent>,
    event_log: EventLog,
}

impl EventBus {
    pub fn new() -> Self {
        Self {
            news: broadcast::Sender::new(CAPACITY),
            event_log: EventLog::default(),
        }
    }

    /// Everything that happens from now on. A receiver that lags is told how much it lost.
    pub fn subscribe(&self) -> broadcast::Receiver<BotEvent> {
        self.news.subscribe()
    }

    /// The full record of what happens, which no reader can miss anything of.
    pub fn event_log(&self) -> &EventLog {
        &self.event_log
    }

    /// Tells anyone who is there; never waits.
    pub(super) fn publish(&self, event: BotEvent) {
        self.event_log.handle(&event);
        // No one listening is no error.
        let _ = self.news.send(event);
    }
}

impl Default for EventBus {
    fn default() -> Self {
        Self::new()
    }
}
