//! What a match asks of a player, and how a player can fail.

use std::time::Duration;

use super::limit::MoveLimit;
use crate::engine::Score;
use crate::rules::{ByColor, Game, Move};

/// A way to lose a game by something else than chess.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayerFault {
    /// A move that is not legal.
    #[error("illegal move: {0}")]
    Illegal(String),
    /// The program ended, or what it says cannot be understood.
    #[error("crashed: {0}")]
    Crash(String),
    /// No answer, long after it was due.
    #[error("no answer within {0:?}")]
    Hang(Duration),
    /// The answer came, too late.
    #[error("out of time by {0:?}")]
    Time(Duration),
}

impl PlayerFault {
    /// Whether the player has to be started anew before it plays again.
    pub(super) const fn is_fatal(&self) -> bool {
        matches!(self, Self::Crash(_) | Self::Hang(_))
    }
}

/// The time that is allowed for a move, as the referee has it.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnTime {
    pub(super) allowance: MoveLimit,
    /// What is left on the clocks, where there are any.
    pub(super) clocks: ByColor<Duration>,
}

/// An answer: a legal move, and what the player says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlayedMove {
    pub(super) mv: Move,
    /// Seen by the side that moves.
    pub(super) score: Option<Score>,
    pub(super) depth: Option<u32>,
    pub(super) nodes: u64,
}

/// Someone who plays games, one after the other.
pub(super) trait Player: Send {
    /// Forget the last game.
    fn new_game(&mut self) -> Result<(), PlayerFault>;

    /// Choose a move in the present position of a game that continues.
    fn choose(&mut self, game: &Game, turn: &TurnTime) -> Result<PlayedMove, PlayerFault>;
}
