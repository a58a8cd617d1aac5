//! What the bot publishes on the event bus.
//!
//! Data only.

use std::sync::Arc;
use std::time::Duration;

use strum::{IntoStaticStr, VariantArray};

use super::challenge_policy::ChallengeRule;
use super::game::{Anomaly, Ending, MovePlayed};
use crate::lichess::{DeclineReason, GameId, Side};

/// What an alert concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum AlertKind {
    /// The server no longer accepts the token.
    Token,
    /// The token lacks the scope to play.
    Scopes,
    /// The account is closed, or no longer a bot account.
    Closed,
    /// The account is flagged for a terms of service violation.
    Marked,
    /// Token and account look good, yet the server forbids playing.
    Barred,
    /// Another program uses the account.
    Stolen,
    /// The token expires soon.
    TokenEnds,
    /// The rating guard paused rated games after too many losses.
    Guard,
    /// The bot state cannot be written.
    Store,
    /// Games, challenges and events cannot be archived.
    Archive,
    /// A secret that was read anew cannot be used; the old one stays in use.
    Secret,
}

impl AlertKind {
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The kind's stable name.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the bot refuses new games while the alert lasts.
    pub const fn stops(self) -> bool {
        matches!(
            self,
            Self::Token | Self::Scopes | Self::Closed | Self::Marked | Self::Barred
        )
    }

    /// Whether to announce a changed text. For other kinds it is the same problem reworded.
    pub(super) const fn repeats(self) -> bool {
        matches!(self, Self::TokenEnds | Self::Guard | Self::Secret)
    }
}

/// An event that the bot publishes.
#[derive(Clone, Debug)]
pub enum BotEvent {
    /// The event stream is open: the bot can receive challenges.
    Online,
    /// The open event stream disconnected.
    Offline {
        reason: String,
    },
    /// A problem that needs the operator.
    AlertRaised {
        kind: AlertKind,
        /// What is wrong, and what to do.
        text: String,
    },
    /// The problem is resolved.
    AlertCleared {
        kind: AlertKind,
    },
    /// The bot accepted a challenge.
    Accepted,
    Declined {
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
    /// What runs beside the bot panicked and restarts.
    ServiceFailed {
        service: &'static str,
        reason: String,
    },
    Finished {
        ending: Arc<Ending>,
    },
}
