//! The time in a game: what is held back on the clock, what waits for days, what waits for no one.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[clock]`: what is held back for the way to the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Clock {
    /// Least overhead a move, whatever was measured.
    #[serde(with = "units::millis")]
    pub overhead_floor: Duration,
    /// Most overhead a move, whatever was measured.
    #[serde(with = "units::millis")]
    pub overhead_ceiling: Duration,
    /// Held back beside the overhead.
    #[serde(with = "units::millis")]
    pub reserve: Duration,
    /// What is left of that on a short clock.
    #[serde(with = "units::millis")]
    pub reserve_least: Duration,
    /// Take a person's time over moves against humans.
    pub human_pace: bool,
}

/// `[correspondence]`: games of days a move, or of none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Correspondence {
    /// How often it is looked whether a move is due.
    #[serde(with = "units::seconds")]
    pub poll: Duration,
    /// Thinking time a move.
    #[serde(with = "units::seconds")]
    pub think: Duration,
}

/// `[game]`: how long is waited for a first move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Game {
    /// How long a bot may take over its first move before the game is aborted.
    #[serde(with = "units::seconds")]
    pub abort_bots: Duration,
    /// The same for humans.
    #[serde(with = "units::seconds")]
    pub abort_humans: Duration,
    /// Games that one opponent may leave unplayed in a day before it rests.
    pub abort_repeats: u32,
    /// How long it rests.
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
