//! Time in a game: overhead and reserve, correspondence, and the wait for a first move.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[clock]`: move overhead and reserve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// Minimum overhead per move, whatever is measured.
    #[serde(with = "units::millis")]
    pub overhead_floor: Duration,
    /// Maximum overhead per move, whatever is measured.
    #[serde(with = "units::millis")]
    pub overhead_ceiling: Duration,
    /// Reserve in addition to the overhead.
    #[serde(with = "units::millis")]
    pub reserve: Duration,
    /// Minimum of that reserve on a short clock.
    #[serde(with = "units::millis")]
    pub reserve_least: Duration,
    /// Spend a human's time on moves against humans.
    pub human_pace: bool,
}

/// `[correspondence]`: games with days per move, or without a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Correspondence {
    /// Time between checks for games where the bot is to move.
    #[serde(with = "units::seconds")]
    pub poll: Duration,
    /// Thinking time per move.
    #[serde(with = "units::seconds")]
    pub think: Duration,
}

/// `[game]`: the wait for a first move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Game {
    /// Time for a bot's first move before the bot aborts the game.
    #[serde(with = "units::seconds")]
    pub abort_bots: Duration,
    /// The same for humans.
    #[serde(with = "units::seconds")]
    pub abort_humans: Duration,
    /// Aborted games in a day after which an opponent gets a cooldown.
    pub abort_repeats: u32,
    /// Length of that cooldown.
    #[serde(with = "units::seconds")]
    pub abort_rest: Duration,
}

impl Default for Clock {
    fn default() -> Self {
        Self {
            overhead_floor: Duration::from_millis(50),
            overhead_ceiling: Duration::from_secs(2),
            reserve: Duration::from_millis(500),
            reserve_least: Duration::from_millis(150),
            human_pace: false,
        }
    }
}

impl Default for Correspondence {
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(300),
            think: Duration::from_secs(10),
        }
    }
}

impl Default for Game {
    fn default() -> Self {
        Self {
            abort_bots: Duration::from_secs(30),
            abort_humans: Duration::from_secs(60),
            abort_repeats: 3,
            abort_rest: Duration::from_secs(3600),
        }
    }
}
