//! The interface of players, and how they can fail.

use std::time::Duration;

use super::limit::MoveLimit;
use crate::engine::Score;
use crate::rules::{ByColor, Game, Move};

/// A forfeit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayerFault {
    /// An illegal move.
    #[error("illegal move: {0}")]
    Illegal(String),
    /// The program ended, or its output is unreadable.
    #[error("crashed: {0}")]
    Crash(String),
    /// No answer long after the deadline.
    #[error("no answer within {0:?}")]
    Hang(Duration),
    /// The answer came after the deadline.
    #[error("out of time by {0:?}")]
    Time(Duration),
}

impl PlayerFault {
    /// Whether the player must be restarted before its next game.
    pub(super) const fn is_fatal(&self) -> bool {
        matches!(self, Self::Crash(_) | Self::Hang(_))
    }
}

/// The time for a move, by the referee's clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnTime {
    pub(super) allowance: MoveLimit,
    /// The remaining time of both sides, if the game has clocks.
    pub(super) clocks: ByColor<Duration>,
}

/// A legal move, with the player's evaluation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlayedMove {
    pub(super) mv: Move,
    /// From the side to move.
    pub(super) score: Option<Score>,
    pub(super) depth: Option<u32>,
    pub(super) nodes: u64,
}

/// A player of one game after the other.
pub(super) trait Player: Send {
    /// Starts a new game.
    fn new_game(&mut self) -> Result<(), PlayerFault>;

    /// Chooses a move in the current position of an unfinished game.
    fn choose(&mut self, game: &Game, turn: &TurnTime) -> Result<PlayedMove, PlayerFault>;
}
