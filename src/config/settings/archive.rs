//! What is kept of games, and what is made of it when nothing is played.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[archive]`: games, challenges and events for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Archive {
    /// Whether there is one, beside the bot's own memory in the data folder.
    pub keep: bool,
    /// How many days games are kept.
    pub games: u32,
    /// How many days it is kept what the engine thought of their moves.
    pub details: u32,
    /// How many days challenges and events are kept.
    pub events: u32,
    /// Search lost and drawn games again while nothing is played.
    pub review: bool,
    /// How long each of their positions is searched.
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
