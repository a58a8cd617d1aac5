//! The rating guard, which pauses rated games, and the shutdown.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[guard]`: when rated games pause.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Guard {
    /// Consecutive rated losses against one opponent.
    pub opponent_losses: u32,
    /// Consecutive rated losses against anyone.
    pub losses: u32,
    /// Rating points lost in 24 hours, single losses of more than 60 excluded.
    pub points: u32,
    /// Length of the pause.
    #[serde(with = "units::seconds")]
    pub rest: Duration,
}

/// `[shutdown]`: how the bot stops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShutdownRules {
    /// Time to finish games in progress.
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
