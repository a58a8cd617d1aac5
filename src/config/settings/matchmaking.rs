//! Games that the bot starts: challenges that it sends, arenas that it joins.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;
use crate::config::{ArenaId, Entry, Hours};

/// `[matchmaking]`: challenges that the bot sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Matchmaking {
    /// Challenge other bots at all.
    pub enabled: bool,
    /// Time without a game before the first attempt.
    #[serde(with = "units::seconds")]
    pub idle: Duration,
    /// Minimum time between two attempts.
    #[serde(with = "units::seconds")]
    pub spacing: Duration,
    /// Continue while games run.
    pub during_games: bool,
    /// Time before the bot withdraws an unanswered challenge.
    #[serde(with = "units::seconds")]
    pub timeout: Duration,
    /// Order among suitable opponents.
    pub prefer: Prefer,
    /// Two games with each opponent, one with each colour.
    pub color_pairs: bool,
    /// Cooldown of an opponent after a first decline; doubles with each further one.
    #[serde(with = "units::seconds")]
    pub cooldown: Duration,
    /// Maximum of that cooldown.
    #[serde(with = "units::seconds")]
    pub cooldown_max: Duration,
    /// Minimum number of atomic games of an opponent.
    pub min_games: u32,
    /// Accounts never challenged, besides those that are blocked.
    pub avoid: Vec<Entry>,
    /// Kinds of games to offer.
    pub profile: Vec<Profile>,
}

/// `[[matchmaking.profile]]`: one kind of game to offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// Its name in commands and in the log.
    pub name: String,
    /// Initial time.
    #[serde(with = "units::seconds")]
    pub base: Duration,
    /// Increment per move.
    #[serde(with = "units::seconds")]
    pub increment: Duration,
    pub rated: bool,
    /// Its frequency relative to the other profiles.
    pub weight: u32,
    /// Minimum rating of the opponent.
    pub min_rating: u32,
    /// Maximum rating of the opponent.
    pub max_rating: u32,
    /// Maximum difference to our rating.
    pub max_rating_difference: u32,
    /// Hours of the day, in UTC.
    pub hours: Hours,
}

/// Order among suitable opponents.
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

/// `[arena]`: tournaments that the bot joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Arena {
    /// Join every atomic arena that admits bots and fits the rules below.
    pub auto: bool,
    /// Join these, whatever the rules below.
    pub ids: Vec<ArenaId>,
    /// Minimum initial time.
    #[serde(with = "units::seconds")]
    pub min_base: Duration,
    /// Maximum initial time.
    #[serde(with = "units::seconds")]
    pub max_base: Duration,
    /// Minimum increment.
    #[serde(with = "units::seconds")]
    pub min_increment: Duration,
    /// Maximum increment.
    #[serde(with = "units::seconds")]
    pub max_increment: Duration,
    pub rated_only: bool,
    /// Concurrent arenas.
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
