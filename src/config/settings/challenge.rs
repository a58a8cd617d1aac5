//! Which games are accepted, from whom, how many at a time and how many a day.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;
use crate::config::{Entry, TimeRule};

/// `[challenge]`: which games are accepted, and how many at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Challenge {
    /// Concurrent games.
    pub concurrency: usize,
    /// Slots among them that only humans get.
    pub reserved_for_humans: usize,
    /// Time that a challenge waits for a slot before the bot declines it.
    #[serde(with = "units::seconds")]
    pub queue: Duration,
    /// Challenges that may wait at the same time.
    pub queue_places: usize,
    /// Accounts whose challenges are declined.
    pub block: Vec<Entry>,
    /// If not empty, only these accounts may challenge.
    pub allow: Vec<Entry>,
    /// Accounts that bypass the rules of mode, time, rating and repetition, and the allow list; never
    /// the block list.
    pub welcome: Vec<Entry>,
    /// The rules for humans.
    pub humans: Visitors,
    /// The rules for bots.
    pub bots: Visitors,
}

/// `[challenge.humans]` and `[challenge.bots]`: the rules for one kind of challenger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate config key"
)]
pub struct Visitors {
    /// Accept them at all.
    pub accept: bool,
    pub rated: bool,
    pub casual: bool,
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
    /// If not empty, only these.
    pub times: Vec<TimeRule>,
    /// Longest game as Lichess estimates it: base and forty increments.
    #[serde(with = "units::minutes")]
    pub max_duration: Duration,
    /// Accept bullet only with an increment.
    pub bullet_needs_increment: bool,
    /// Minimum rating of the challenger.
    pub min_rating: u32,
    /// Maximum rating of the challenger.
    pub max_rating: u32,
    /// Maximum difference to our rating.
    pub max_rating_difference: u32,
    /// Accept challengers with a provisional rating.
    pub provisional: bool,
    /// Our colour.
    pub color: ColorWish,
    /// Accept correspondence games.
    pub correspondence: bool,
    /// Accept games without a time limit.
    pub unlimited: bool,
    /// Minimum days per move.
    pub min_days: u32,
    /// Maximum days per move.
    pub max_days: u32,
    /// Concurrent games with one opponent.
    pub at_once: u32,
    /// Challenges accepted from one opponent within [`Visitors::repeat_window`].
    pub repeats: u32,
    #[serde(with = "units::seconds")]
    pub repeat_window: Duration,
    /// Consecutive rematches with one opponent.
    pub rematches: u32,
    /// Games a day with one opponent.
    pub per_day: u32,
    /// Games a day with all of them.
    pub total_per_day: u32,
}

/// The colour that we want in a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ColorWish {
    Any,
    White,
    Black,
}

/// `[limits]`: daily limits of Lichess, until its replies say otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    pub bot_games: u32,
    /// Challenges sent: a bot costs one, a human five.
    pub challenge_credits: u32,
    /// Percent of the bot games reserved for incoming challenges.
    pub incoming_share: u32,
}

impl Default for Challenge {
    fn default() -> Self {
        Self {
            concurrency: 8,
            reserved_for_humans: 0,
            queue: Duration::from_secs(15),
            queue_places: 16,
            block: Vec::new(),
            allow: Vec::new(),
            welcome: Vec::new(),
            humans: Visitors::default(),
            bots: Visitors::default(),
        }
    }
}

impl Default for Visitors {
    fn default() -> Self {
        Self {
            accept: true,
            rated: true,
            casual: true,
            min_base: Duration::ZERO,
            max_base: Duration::from_secs(1800),
            min_increment: Duration::ZERO,
            max_increment: Duration::from_secs(60),
            times: Vec::new(),
            max_duration: Duration::from_secs(180 * 60),
            bullet_needs_increment: false,
            min_rating: 0,
            max_rating: 4000,
            max_rating_difference: 4000,
            provisional: true,
            color: ColorWish::Any,
            correspondence: false,
            unlimited: false,
            min_days: 1,
            max_days: 14,
            at_once: 100,
            repeats: 1000,
            repeat_window: Duration::from_secs(3600),
            rematches: 1000,
            per_day: 1000,
            total_per_day: 10_000,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bot_games: 100,
            challenge_credits: 200,
            incoming_share: 50,
        }
    }
}

impl Challenge {
    /// Whether an account is blocked by name in the config itself; files and URLs aside.
    pub fn blocks(&self, account: &str) -> bool {
        self.block.iter().any(|entry| entry.is_name(account))
    }

    /// The rules for bots, or those for humans.
    pub fn rules_for(&self, is_bot: bool) -> &Visitors {
        if is_bot { &self.bots } else { &self.humans }
    }
}
