//! Which side caused a bad end of a game. Strict on purpose: it is the client's fault unless the
//! server refused all service during the whole remaining time.

use std::fmt;

use crate::rules::Color;

use super::chaos::OpponentBehavior;
use super::game::ServerGame;
use super::game_settings::Status;
use super::traffic_log::GameTrace;

/// The cause of a bad end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Attribution {
    /// No bad end: it was played to its end.
    #[default]
    Nobody,
    /// The opponent did not play.
    Opponent,
    /// The server refused all service during the whole remaining time.
    Server(&'static str),
    /// The machine stalled for longer than the client may be away, until just before the end. A
    /// separate thread measures stalls, and only this attribution uses them.
    Machine(&'static str),
    Client(&'static str),
}

impl Attribution {
    /// Whether the client is at fault.
    pub fn is_ours(&self) -> bool {
        matches!(self, Self::Client(_))
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => out.write_str("nobody"),
            Self::Opponent => out.write_str("the opponent"),
            Self::Server(what) => write!(out, "the server: {what}"),
            Self::Machine(what) => write!(out, "the machine stood still: {what}"),
            Self::Client(what) => write!(out, "the client: {what}"),
        }
    }
}

/// The circumstances of an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndContext {
    pub(crate) behavior: OpponentBehavior,
    /// The server refused all service from the beginning of the last turn to the end.
    pub(crate) refused_throughout: bool,
    /// The machine stalled for the whole time that the client may be away, and the client did not
    /// have as much time again afterwards.
    pub(crate) stalled: bool,
}

/// Attributes the end of a game, with the client on `side`.
pub(crate) fn attribution(
    game: &ServerGame,
    side: Color,
    trace: &GameTrace,
    around: EndContext,
) -> Attribution {
    if game.faulty(side).illegal > 0 {
        return Attribution::Client("it sent an illegal move");
    }
    if trace.second_thoughts > 0 {
        return Attribution::Client("it sent another move for the same ply");
    }
    let by_client = game.ended_by() == Some(side);
    let fault = match game.status() {
        Status::Aborted if by_client => {
            let opponents_turn = game.turn() != side;
            if opponents_turn && around.behavior == OpponentBehavior::NeverMoves {
                return Attribution::Opponent;
            }
            return Attribution::Client("it aborted a game that could be played");
        }
        Status::Aborted if game.turn() == side => "it never made its first move",
        Status::NoStart if by_client => "it did not make its first move in time",
        Status::Aborted | Status::NoStart => return Attribution::Opponent,
        Status::Timeout if !by_client => "it was gone until the opponent claimed",
        Status::Resign if by_client => return Attribution::Client("it resigned"),
        Status::Outoftime | Status::Draw if by_client => "its flag fell",
        _ => return Attribution::Nobody,
    };
    if around.refused_throughout {
        Attribution::Server(fault)
    } else if around.stalled && game.status() == Status::Timeout {
        Attribution::Machine(fault)
    } else {
        Attribution::Client(fault)
    }
}
