//! A played game as one line of JSON in the journal.
//!
//! Scores are centipawns from White's side, so readers need no parity; a field that a player did not report
//! is null.

use serde::{Deserialize, Serialize};

use super::player::PlayerFault;
use crate::rules::{Color, Draw, Outcome, Win};

/// A player of the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchSide {
    /// The first player, whose strength the match measures.
    A,
    B,
}

impl MatchSide {
    pub const ALL: [Self; 2] = [Self::A, Self::B];

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The result of a game for a player.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Points {
    Lost,
    Drawn,
    Won,
}

impl Points {
    pub const fn halves(self) -> usize {
        match self {
            Self::Lost => 0,
            Self::Drawn => 1,
            Self::Won => 2,
        }
    }
}

/// Why a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GameEnd {
    Explosion,
    Mate,
    Stalemate,
    Insufficient,
    FiftyMoves,
    Threefold,
    /// The limit of the match on the length of a game.
    PlyLimit,
    /// Both players agreed for long enough that one of them wins.
    AdjudicatedWin,
    /// Both players agreed for long enough on a draw.
    AdjudicatedDraw,
    /// A forfeit: an illegal move.
    Illegal,
    /// A forfeit: the program ended or its output was unreadable.
    Crash,
    /// A forfeit: no answer.
    Hang,
    /// A forfeit: the clock ran out.
    Time,
}

impl GameEnd {
    /// Whether a fault of the losing program ended the game.
    pub const fn is_forfeit(self) -> bool {
        matches!(self, Self::Illegal | Self::Crash | Self::Hang | Self::Time)
    }

    /// A short description.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Explosion => "explosion",
            Self::Mate => "mate",
            Self::Stalemate => "stalemate",
            Self::Insufficient => "insufficient material",
            Self::FiftyMoves => "fifty moves",
            Self::Threefold => "repetition",
            Self::PlyLimit => "length",
            Self::AdjudicatedWin => "adjudicated win",
            Self::AdjudicatedDraw => "adjudicated draw",
            Self::Illegal => "illegal move",
            Self::Crash => "crash",
            Self::Hang => "hang",
            Self::Time => "time",
        }
    }
}

impl From<Outcome> for GameEnd {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Win {
                by: Win::Explosion, ..
            } => Self::Explosion,
            Outcome::Win { by: Win::Mate, .. } => Self::Mate,
            Outcome::Draw(Draw::Stalemate) => Self::Stalemate,
            Outcome::Draw(Draw::Insufficient) => Self::Insufficient,
            Outcome::Draw(Draw::FiftyMoves) => Self::FiftyMoves,
            Outcome::Draw(Draw::Threefold | Draw::Fivefold) => Self::Threefold,
            Outcome::Draw(Draw::PlyCap) => Self::PlyLimit,
        }
    }
}

impl From<&PlayerFault> for GameEnd {
    fn from(fault: &PlayerFault) -> Self {
        match fault {
            PlayerFault::Illegal(_) => Self::Illegal,
            PlayerFault::Crash(_) => Self::Crash,
            PlayerFault::Hang(_) => Self::Hang,
            PlayerFault::Time(_) => Self::Time,
        }
    }
}

/// The resources that one player used in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchEffort {
    /// The nodes, as reported by the player.
    pub nodes: u64,
    /// The measured time from request to answer.
    pub micros: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GameRecord {
    /// The number of the pair in the match, from 0.
    pub pair: usize,
    /// The player with White.
    pub white: MatchSide,
    /// The start position.
    pub fen: String,
    /// The moves in UCI, separated by blanks.
    pub moves: String,
    /// The score of each move, in centipawns from White's side.
    pub scores: Vec<Option<i32>>,
    /// The depth of each move.
    pub depths: Vec<Option<u32>>,
    /// The winner.
    pub winner: Option<MatchSide>,
    pub end: GameEnd,
    /// The details of a forfeit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub a: SearchEffort,
    pub b: SearchEffort,
    /// Milliseconds in which the machine stalled, which count on no clock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub still_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl GameRecord {
    /// The result for the first player.
    pub fn points(&self) -> Points {
        match self.winner {
            Some(MatchSide::A) => Points::Won,
            Some(MatchSide::B) => Points::Lost,
            None => Points::Drawn,
        }
    }

    /// The colour of a player.
    pub fn color(&self, side: MatchSide) -> Color {
        if side == self.white {
            Color::White
        } else {
            Color::Black
        }
    }

    pub const fn effort(&self, side: MatchSide) -> SearchEffort {
        match side {
            MatchSide::A => self.a,
            MatchSide::B => self.b,
        }
    }

    /// The player who forfeited the game, if one did.
    pub fn forfeited_by(&self) -> Option<MatchSide> {
        if self.end.is_forfeit() {
            self.winner.map(MatchSide::other)
        } else {
            None
        }
    }

    pub fn plies(&self) -> usize {
        self.scores.len()
    }
}
