//! The referee's refusals, word for word those of Lichess.

use thiserror::Error;

/// A request was understood and refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("Invalid UCI: {0}")]
    InvalidUci(String),
    #[error("Not your turn, or game already over")]
    NotYourTurn,
    #[error("Piece on {from} cannot move to {to}")]
    CannotMove { from: String, to: String },
    #[error("This game can no longer be aborted")]
    CannotAbort,
    #[error("This game cannot be resigned")]
    CannotResign,
    #[error("You cannot claim the win on this game")]
    CannotClaimWin,
    #[error("You cannot claim draw on this game")]
    CannotClaimDraw,
}
