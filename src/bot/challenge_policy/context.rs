//! The state of the bot that a decision depends on.
//!
//! Data only, gathered by the account state: the policy itself remembers nothing.

use crate::bot::player_lists::PlayerLists;
use crate::lichess::UserId;

/// What is going on while a challenge is judged.
#[derive(Clone, Debug)]
pub struct ChallengeContext<'a> {
    pub me: &'a UserId,
    /// Our rating in atomic, if there is one.
    pub rating: Option<i32>,
    /// Who is blocked, allowed and welcome.
    pub lists: &'a PlayerLists,
    /// What there was with this challenger so far.
    pub past: OpponentHistory,
    /// Whether rated play against this challenger rests.
    pub rated_rests: bool,
    /// Whether another game against such a challenger may begin.
    pub open: Availability,
}

/// What there was with a challenger so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpponentHistory {
    /// Games with them that run or are about to.
    pub at_once: u32,
    /// Their challenges that were accepted within the window of the config.
    pub lately: u32,
    /// Rematches played in a row up to now.
    pub rematches: u32,
    /// Games with them in the last day.
    pub today: u32,
    /// Games with all of their kind in the last day.
    pub kind_today: u32,
    /// Whether they rest for having left us waiting for their first move.
    pub rests: bool,
}

/// Whether another game may begin with a challenger of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    Open,
    /// Every slot is taken that this kind may have.
    Full,
    /// The day's games against bots are used up, or accepting bots rests.
    BotsSpent,
    /// The program is about to end.
    Draining,
    /// The operator has paused it.
    Paused,
    /// Something is wrong that an operator has to look at.
    Alarm,
}
