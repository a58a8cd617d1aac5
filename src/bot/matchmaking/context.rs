//! What the matchmaker sees of the account, and what it wants done. Data only.

use std::time::Instant;

use super::challenge_request::ChallengeRequest;
use super::cooldown::Cooldown;
use crate::bot::quota::{ChallengeTarget, Permit};
use crate::lichess::{ChallengeId, GameId, UserId};
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

/// What the account state is to do for the matchmaker.
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
