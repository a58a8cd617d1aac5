//! Data of the quota: rules, permissions, prices and the budget in numbers.

use super::forecast::Forecast;
use crate::store::Timestamp;

/// Limits assumed until the server states others, and how they are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaRules {
    /// Games between bots per day.
    pub bot_games: u32,
    /// Challenge credits per day.
    pub challenge_credits: u32,
    /// Percentage of the bot games reserved for incoming challenges.
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

/// Whether the quota allows a call now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Granted,
    Later {
        /// The earliest time to ask again.
        at: Timestamp,
        denied: Denied,
    },
}

impl Permit {
    pub fn is_granted(self) -> bool {
        self == Self::Granted
    }
}

/// Why the quota denies a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denied {
    /// The server has reported its limit.
    Closed,
    /// The daily bot games are started or reserved.
    BotGames,
    /// The rest is reserved for incoming challenges.
    KeptForIncoming,
    /// Games would be spent faster than the day allows.
    Pace,
    /// The daily challenge credits are spent.
    Credits,
    CreditsAMinute,
}

impl Denied {
    /// The reason, for the operator.
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

/// The recipient of a challenge, which decides its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChallengeTarget {
    /// A bot costs 1 credit.
    Bot,
    Human,
    /// A follower of the bot: free.
    Follower,
}

impl ChallengeTarget {
    pub fn credits(self) -> u32 {
        match self {
            Self::Bot => 1,
            Self::Human => 5,
            Self::Follower => 0,
        }
    }
}

/// The state of the budget, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bot games per day, as far as known.
    pub games: u32,
    /// Of these, incoming ones started or reserved in the last 24 hours.
    pub incoming: u32,
    pub outgoing: u32,
    /// The most that may be outgoing.
    pub outgoing_share: u32,
    /// Challenge credits per day.
    pub credits: u32,
    /// Of these, spent in the last 24 hours.
    pub credits_spent: u32,
    /// No bot games before this, according to the server.
    pub closed_until: Option<Timestamp>,
    pub forecast: Forecast,
}
