//! When the bot stops: rated play after a run of losses, everything at the end.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[guard]`: when it stops rated play.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guard {
    /// Rated losses in a row against one opponent.
    pub opponent_losses: u32,
    /// Rated losses in a row against all.
    pub losses: u32,
    /// Rating points lost in 24 hours, but for games that took more than 60.
    pub points: u32,
    /// How long rated play stops.
    #[serde(with = "units::seconds")]
    pub rest: Duration,
}

/// `[shutdown]`: how it ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShutdownRules {
    /// How long games under way are played on when it is told to stop.
    #[serde(with = "units::seconds")]
    pub drain: Duration,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            opponent_losses: 8,
            losses: 15,
            points: 150,
            rest: Duration::from_secs(86_400),
        }
    }
}

impl Default for ShutdownRules {
    fn default() -> Self {
        Self {
            drain: Duration::from_secs(300),
        }
    }
}
