//! Games that the bot looks for itself: challenges that it sends, arenas that it joins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;
use crate::config::{ArenaId, Entry, Hours};

/// `[matchmaking]`: games that the bot looks for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matchmaking {
    /// Challenge others at all.
    pub enabled: bool,
    /// How long there must be no game before it begins.
    #[serde(with = "units::seconds")]
    pub idle: Duration,
    /// Least time between two attempts.
    #[serde(with = "units::seconds")]
    pub spacing: Duration,
    /// Look for more while games run.
    pub during_games: bool,
    /// How long an answer is waited for.
    #[serde(with = "units::seconds")]
    pub timeout: Duration,
    /// Who goes first among those who fit.
    pub prefer: Prefer,
    /// Two games with each opponent, one of each colour.
    pub color_pairs: bool,
    /// Rest of an opponent after a first decline; doubles with each further one.
    #[serde(with = "units::seconds")]
    pub cooldown: Duration,
    /// The longest that rest gets.
    #[serde(with = "units::seconds")]
    pub cooldown_max: Duration,
    /// Atomic games that an opponent must have played.
    pub min_games: u32,
    /// Accounts that are never challenged, besides those that are blocked.
    pub avoid: Vec<Entry>,
    /// What is asked for.
    pub profile: Vec<Profile>,
}

/// `[[matchmaking.profile]]`: one kind of game to ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// What it is called, in commands and in the log.
    pub name: String,
    /// Time on the clock at the start.
    #[serde(with = "units::seconds")]
    pub base: Duration,
    /// Time added a move.
    #[serde(with = "units::seconds")]
    pub increment: Duration,
    pub rated: bool,
    /// How often it is drawn, beside the others' weights.
    pub weight: u32,
    /// Least rating of the opponent.
    pub min_rating: u32,
    /// Highest rating of the opponent.
    pub max_rating: u32,
    /// Most points between their rating and ours.
    pub max_rating_difference: u32,
    /// Hours of the day, in UTC.
    pub hours: Hours,
}

/// Who goes first among the opponents that fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prefer {
    /// The one whose rating is nearest to ours.
    Nearest,
    /// The one rated highest.
    Strongest,
    /// The one rated lowest.
    Weakest,
    Random,
}

/// `[arena]`: tournaments that it joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Arena {
    /// Join every atomic arena that admits bots and fits the rules below.
    pub auto: bool,
    /// Join these, whatever the rules below.
    pub ids: Vec<ArenaId>,
    /// Least time on the clock at the start.
    #[serde(with = "units::seconds")]
    pub min_base: Duration,
    /// Most time on the clock at the start.
    #[serde(with = "units::seconds")]
    pub max_base: Duration,
    /// Least time added a move.
    #[serde(with = "units::seconds")]
    pub min_increment: Duration,
    /// Most time added a move.
    #[serde(with = "units::seconds")]
    pub max_increment: Duration,
    pub rated_only: bool,
    /// Arenas at the same time.
    pub most: u32,
    /// Hours of the day, in UTC.
    pub hours: Hours,
}

impl Default for Matchmaking {
    fn default() -> Self {
        Self {
            enabled: false,
            idle: Duration::from_secs(300),
            spacing: Duration::from_secs(60),
            during_games: false,
            timeout: Duration::from_secs(20),
            prefer: Prefer::Nearest,
            color_pairs: true,
            cooldown: Duration::from_secs(3600),
            cooldown_max: Duration::from_secs(604_800),
            min_games: 1,
            avoid: Vec::new(),
            profile: vec![Profile::default()],
        }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            name: "blitz".to_owned(),
            base: Duration::from_secs(180),
            increment: Duration::from_secs(2),
            rated: true,
            weight: 1,
            min_rating: 0,
            max_rating: 4000,
            max_rating_difference: 600,
            hours: Hours::always(),
        }
    }
}

impl Default for Arena {
    fn default() -> Self {
        Self {
            auto: false,
            ids: Vec::new(),
            min_base: Duration::from_secs(60),
            max_base: Duration::from_secs(600),
            min_increment: Duration::ZERO,
            max_increment: Duration::from_secs(5),
            rated_only: true,
            most: 1,
            hours: Hours::always(),
        }
    }
}
