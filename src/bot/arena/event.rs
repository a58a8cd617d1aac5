//! Events and effects of the arena schedule. Data only.

use std::time::Duration;

use crate::lichess::{Arena, GameId, GameInfo, JoinOptions};

/// Outcome of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JoinOutcome {
    Done,
    Lost,
    /// Such calls pause for this long.
    Limited(Duration),
    /// Refused now or for this account; in the server's words.
    Refused(String),
    /// The account may not play in arenas.
    Banned,
    /// The arena does not exist.
    Gone,
}

#[derive(Clone, Debug)]
pub enum ArenaEvent {
    Tick,
    Listed(Vec<Arena>),
    /// The list could not be fetched; such calls pause for this long.
    NotListed(Option<Duration>),
    Shown(Box<Arena>),
    /// An arena could not be fetched; `true` if it does not exist.
    NotShown(String, bool),
    /// Outcome of a join.
    Joined(String, JoinOutcome),
    /// Outcome of leaving: whether it succeeded.
    Left(String, bool),
    Began(Box<GameInfo>),
    /// The server reported the end of a game.
    Ended(Box<GameInfo>),
    /// The bot's part in a game is over.
    Over(GameId),
}

/// An effect to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArenaEffect {
    /// Fetch the current tournaments.
    List,
    Show(String),
    /// Join it, or repeat the join to stay available for pairing.
    Join(String, JoinOptions),
    Leave(String),
}
