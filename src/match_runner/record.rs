//! A game as it was played, the way the journal keeps it: one line of JSON.
//!
//! Scores are centipawns seen by White, so that a reader needs no parity; a field that a player did
//! not tell is null.

use serde::{Deserialize, Serialize};

use super::player::PlayerFault;
use crate::rules::{Color, Draw, Outcome, Win};

/// A player of the match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchSide {
    /// The first, whose strength is asked for.
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

/// What a player made of a game.
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
    /// No legal move and no check.
    Stalemate,
    Insufficient,
    /// A hundred half-moves without progress.
    FiftyMoves,
    Threefold,
    /// The match's own limit on the length of a game.
    PlyLimit,
    /// Both players had agreed for long enough on who wins.
    AdjudicatedWin,
    /// Both players had agreed for long enough that no one does.
    AdjudicatedDraw,
    /// A forfeit: a move that is not legal.
    Illegal,
    /// A forfeit: the program ended or spoke nonsense.
    Crash,
    /// A forfeit: no answer at all.
    Hang,
    /// A forfeit: more time than there was.
    Time,
}

impl GameEnd {
    /// Whether a fault of the loser's program ended the game, not the board.
    pub const fn is_forfeit(self) -> bool {
        matches!(self, Self::Illegal | Self::Crash | Self::Hang | Self::Time)
    }

    /// A word or two.
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

/// What one player used in a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchEffort {
    /// Positions visited, as it says.
    pub nodes: u64,
    /// Time from question to answer, as we measured it.
    pub micros: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GameRecord {
    /// Which pair of the match, from 0.
    pub pair: usize,
    /// Who had the white pieces.
    pub white: MatchSide,
    /// The position it began from.
    pub fen: String,
    /// The moves in UCI, parted by blanks.
    pub moves: String,
    /// A score a move, in centipawns seen by White.
    pub scores: Vec<Option<i32>>,
    /// A depth a move.
    pub depths: Vec<Option<u32>>,
    /// Who won, if anyone.
    pub winner: Option<MatchSide>,
    pub end: GameEnd,
    /// What a forfeit looked like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    pub a: SearchEffort,
    pub b: SearchEffort,
    /// Milliseconds in which the machine stood still, which are on no clock.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub still_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
fn is_nought(millis: &u64) -> bool {
    *millis == 0
}

impl GameRecord {
    /// What the first player made of it.
    pub fn points(&self) -> Points {
        match self.winner {
            Some(MatchSide::A) => Points::Won,
            Some(MatchSide::B) => Points::Lost,
            None => Points::Drawn,
        }
    }

    /// Which colour a player had.
    pub fn color(&self, side: MatchSide) -> Color {
        if side == self.white {
            Color::White
        } else {
            Color::Black
        }
    }

    /// What a player used.
    pub const fn effort(&self, side: MatchSide) -> SearchEffort {
        match side {
            MatchSide::A => self.a,
            MatchSide::B => self.b,
        }
    }

    /// Who forfeited the game, if that is how it ended.
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
