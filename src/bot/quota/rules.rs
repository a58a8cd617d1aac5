//! The words of the quota: rules, permissions, prices and the budget in numbers.
//!
//! Data only.

use super::forecast::Forecast;
use crate::store::Timestamp;

/// What is assumed of the server until it says otherwise, and how it is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaRules {
    /// Games between bots a day.
    pub bot_games: u32,
    /// Challenge credits a day.
    pub challenge_credits: u32,
    /// Percent of the bot games that are kept for incoming challenges.
    pub incoming_share: u32,
}

impl Default for QuotaRules {
    fn default() -> Self {
        Self {
            bot_games: 100,
            challenge_credits: 200,
            incoming_share: 50,
        }
    }
}

/// Whether something may be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Granted,
    /// Not before this moment.
    Later {
        /// The earliest moment to ask again.
        at: Timestamp,
        /// What stands in the way.
        denied: Denied,
    },
}

impl Permit {
    /// Whether it may be done now.
    pub fn is_granted(self) -> bool {
        self == Self::Granted
    }
}

/// What stands in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denied {
    /// The server says that it is enough for now.
    Closed,
    /// The day's bot games are begun or set aside.
    BotGames,
    /// What is left of them is kept for incoming challenges.
    KeptForIncoming,
    /// The day's share would not last.
    Pace,
    /// The day's challenge credits are spent.
    Credits,
    CreditsAMinute,
}

impl Denied {
    /// In words, for the operator.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "the server's limit is reached",
            Self::BotGames => "daily limit of bot games reached",
            Self::KeptForIncoming => "the remaining bot games are reserved for incoming challenges",
            Self::Pace => "outgoing games are spread over the day",
            Self::Credits => "daily challenge credits are spent",
            Self::CreditsAMinute => "this minute's challenge credits are spent",
        }
    }
}

/// Whom a challenge goes to; it costs accordingly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChallengeTarget {
    /// A bot: 1 credit.
    Bot,
    Human,
    /// Someone who follows us: nothing.
    Follower,
}

impl ChallengeTarget {
    /// The price in credits.
    pub fn credits(self) -> u32 {
        match self {
            Self::Bot => 1,
            Self::Human => 5,
            Self::Follower => 0,
        }
    }
}

/// Where the budget stands, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bot games a day, as far as is known.
    pub games: u32,
    /// Of these, incoming ones begun or set aside in the last 24 hours.
    pub incoming: u32,
    pub outgoing: u32,
    /// The most that may be outgoing.
    pub outgoing_share: u32,
    /// Challenge credits a day.
    pub credits: u32,
    /// Of these, spent in the last 24 hours.
    pub credits_spent: u32,
    /// No bot games before this, by the server's word.
    pub closed_until: Option<Timestamp>,
    /// How long it lasts.
    pub forecast: Forecast,
}
