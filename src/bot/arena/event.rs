//! What the calendar is told and what it wants done. Data only.

use std::time::Duration;

use crate::lichess::{Arena, GameId, GameInfo, JoinOptions};

/// What came of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinOutcome {
    Done,
    Lost,
    /// Such calls pause for so long.
    Limited(Duration),
    /// Not now, or not us; in the server's words.
    Refused(String),
    /// We may not play at all.
    Banned,
    /// There is no such arena.
    Gone,
}

#[derive(Clone, Debug)]
pub enum ArenaEvent {
    Tick,
    /// The tournaments of the moment.
    Listed(Vec<Arena>),
    /// They could not be had; such calls pause for so long.
    NotListed(Option<Duration>),
    Shown(Box<Arena>),
    /// It could not be had; whether there is none.
    NotShown(String, bool),
    /// What came of a join.
    Joined(String, JoinOutcome),
    /// What came of leaving: whether it is done.
    Left(String, bool),
    /// A game has begun.
    Began(Box<GameInfo>),
    /// The server says how a game ended.
    Ended(Box<GameInfo>),
    /// We are done with a game.
    Over(GameId),
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArenaEffect {
    /// Ask for the tournaments of the moment.
    List,
    /// Ask for this one.
    Show(String),
    /// Join it, or say that we are there.
    Join(String, JoinOptions),
    Leave(String),
}
