//! The state of the bot that a decision depends on.
//!
//! Data only, gathered by the account state: the policy keeps no state of its own.

use crate::bot::player_lists::PlayerLists;
use crate::lichess::UserId;

/// The bot's state at the moment a challenge is judged.
#[derive(Clone, Debug)]
pub struct ChallengeContext<'a> {
    pub me: &'a UserId,
    /// The bot's atomic rating, if it has one.
    pub rating: Option<i32>,
    pub lists: &'a PlayerLists,
    /// Recent history with this challenger.
    pub past: OpponentHistory,
    /// Whether rated games against this challenger are paused.
    pub rated_rests: bool,
    /// Whether a game against this kind of challenger may start.
    pub open: Availability,
}

/// Recent history with one challenger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpponentHistory {
    /// Games with them in progress or about to start.
    pub at_once: u32,
    /// Their challenges accepted within the configured window.
    pub lately: u32,
    /// Consecutive rematches so far.
    pub rematches: u32,
    /// Games with them in the last 24 hours.
    pub today: u32,
    /// Games with all opponents of their kind in the last 24 hours.
    pub kind_today: u32,
    /// Whether they are on cooldown for repeatedly not making the first move.
    pub rests: bool,
}

/// Whether another game may start against an opponent of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Open,
    /// Every slot open to this kind is taken.
    Full,
    /// The daily bot games are used up, or accepting bots is on cooldown.
    BotsSpent,
    /// The bot is shutting down.
    Draining,
    /// Paused by the operator.
    Paused,
    /// An alert needs the operator.
    Alarm,
}
