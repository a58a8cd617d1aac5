//! Events and effects of matchmaking. Data only.

use std::time::{Duration, Instant};

use super::challenge_request::ChallengeRequest;
use super::cooldown::Cooldown;
use crate::bot::quota::{ChallengeTarget, Permit};
use crate::lichess::{
    Account, Challenge, ChallengeId, ChallengeStatus, Event, GameId, Presence, UserId,
};
use crate::store::Timestamp;

/// Matchmaking's view of lists, rating guard and quota.
pub trait Directory {
    /// Whether a cooldown with this key is active.
    fn rests(&self, key: &str) -> bool;
    /// Whether this account must never be challenged.
    fn avoids(&self, user: &UserId) -> bool;
    /// Whether rated games with this account are allowed now.
    fn may_rate(&self, user: &UserId) -> bool;
    /// Whether the quota allows such a challenge now.
    fn may_challenge(&self, target: ChallengeTarget) -> Permit;
    /// Games per day available to matchmaking.
    fn budget(&self) -> u32;
}

/// Conditions at the time of an event.
#[expect(
    missing_debug_implementations,
    reason = "it borrows what cannot be shown"
)]
#[derive(Clone, Copy)]
pub struct MatchContext<'a> {
    pub now: Instant,
    /// The current time by the wall clock.
    pub moment: Timestamp,
    /// Slots available to the bot's own challenge.
    pub spare: usize,
    pub games: usize,
    /// Whether the bot's own challenge holds a slot.
    pub held: bool,
    pub directory: &'a dyn Directory,
}

/// Why a challenge was not created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCreated {
    /// Unknown: no answer, or an unintelligible one.
    #[error("no reply, and the challenge does not exist")]
    Lost,
    /// No slot was free, or the quota spending could not be written.
    #[error("no free slot")]
    NoSeat,
    /// Such calls pause for this long.
    #[error("rate limited by Lichess for {} s", .0.as_secs())]
    Limited(Duration),
    /// The daily limit of games against bots is spent, the bot's or the opponent's.
    #[error("daily limit of bot games reached, by the bot or the opponent")]
    DaySpent,
    /// The server refuses a challenge to this user, in its words.
    #[error("{0}")]
    Refused(String),
    /// The token or account may not send challenges.
    #[error("the token or account may not send challenges")]
    Forbidden,
    /// The token is rejected: clearing that alert resumes matchmaking.
    #[error("the token is rejected")]
    Unauthorized,
}

#[derive(Clone, Debug)]
pub enum MatchmakingEvent {
    /// Time has passed, or slots have changed.
    Tick,
    /// The online bots, and perhaps the bot's own account.
    Listed(Vec<Account>),
    /// The list could not be fetched; such calls pause for this long.
    NotListed(Option<Duration>),
    /// The status of the requested users.
    Seen(Vec<Presence>),
    /// The status could not be fetched.
    NotSeen,
    /// The server created the challenge.
    Created(Box<Challenge>),
    NotCreated(NotCreated),
    /// Open challenges, after an answer was lost; `None` if they could not be fetched.
    Found(Option<Vec<Challenge>>),
    /// Outcome of the challenge, from its own stream.
    Done(ChallengeStatus),
    /// A line of the event stream.
    Event(Event),
    /// A game is over.
    GameOver,
}

/// An effect to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchmakingEffect {
    /// Fetch the online bots.
    List,
    /// Fetch the status of these users.
    Look(Vec<UserId>),
    /// Take a slot and create this challenge.
    Create(Box<ChallengeRequest>),
    /// Fetch the open challenges.
    Find,
    /// The bot's challenge has this id.
    Held(ChallengeId),
    Withdraw,
    /// The challenge is gone: free its slot.
    Release,
    Rest(Cooldown),
    /// Report that the operator's challenge to this user was not sent, and why.
    Unasked(UserId, String),
    /// Clear this user's cooldowns: they accepted, and this is the game if it has begun.
    Forgive(UserId, Option<GameId>),
}
