//! The archive: how long it stores what, and the review of games while idle.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[archive]`: stored games, challenges and events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Archive {
    /// Whether to archive at all; the bot's state does not depend on it.
    pub keep: bool,
    /// Days to keep games.
    pub games: u32,
    /// Days to keep the engine's analysis of their moves.
    pub details: u32,
    /// Days to keep challenges and events.
    pub events: u32,
    /// Analyse lost and drawn games while idle.
    pub review: bool,
    /// Search time for each of their positions.
    #[serde(with = "units::millis")]
    pub review_time: Duration,
}

impl Default for Archive {
    fn default() -> Self {
        Self {
            keep: true,
            games: 36_500,
            details: 36_500,
            events: 365,
            review: true,
            review_time: Duration::from_secs(1),
        }
    }
}
