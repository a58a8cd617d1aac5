//! Reading moves in UCI, both castling spellings.

use super::{CastlingSide, Color, Move, Position, Role, Square};

/// Why a text is not a legal UCI move here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UciError {
    /// Not the shape of a UCI move.
    #[error("{0:?} is not a move in UCI: two squares and, for a promotion, one of q r b n")]
    Syntax(String),
    /// A pawn reaches the back rank and the letter is missing.
    #[error("{0} lacks the promotion letter, one of q r b n")]
    PromotionMissing(String),
    /// Well formed, but not legal in this position.
    #[error("{0} is not legal here")]
    Illegal(String),
}

impl Position {
    /// The legal move that a UCI text means.
    ///
    /// Castling may be spelt as the king's step (`e1g1`) or as king takes own rook (`e1h1`).
    pub fn parse_uci(&self, text: &str) -> Result<Move, UciError> {
        let (from, to, promotion) =
            split(text).ok_or_else(|| UciError::Syntax(text.chars().take(20).collect()))?;
        let mv = self.interpret(from, to, promotion);
        if self.is_legal(mv) {
            return Ok(mv);
        }
        if promotion.is_none() && self.is_legal(Move::promoting(from, to, Role::Queen)) {
            return Err(UciError::PromotionMissing(text.to_owned()));
        }
        Err(UciError::Illegal(text.to_owned()))
    }

    /// The move two squares and a letter mean here, legal or not.
    fn interpret(&self, from: Square, to: Square, promotion: Option<Role>) -> Move {
        if let Some(role) = promotion {
            return Move::promoting(from, to, role);
        }
        match self.role_at(from) {
            Some(Role::Pawn) if self.ep_square() == Some(to) && from.file() != to.file() => {
                Move::en_passant(from, to)
            }
            Some(Role::King) => {
                let home = Square::from_coords(4, self.turn().back_rank());
                CastlingSide::ALL
                    .into_iter()
                    .find(|&side| from == home && self.means_castling(side, to))
                    .map_or(Move::normal(from, to), |side| castling(self.turn(), side))
            }
            _ => Move::normal(from, to),
        }
    }

    fn means_castling(&self, side: CastlingSide, to: Square) -> bool {
        let mv = castling(self.turn(), side);
        let corner = Square::from_coords(side.rook_file(), mv.from().rank());
        to == mv.to() || to == corner && self.us().contains(to)
    }
}

fn castling(color: Color, side: CastlingSide) -> Move {
    let rank = color.back_rank();
    let file = match side {
        CastlingSide::King => 6,
        CastlingSide::Queen => 2,
    };
    Move::castling(
        Square::from_coords(4, rank),
        Square::from_coords(file, rank),
    )
}

fn split(text: &str) -> Option<(Square, Square, Option<Role>)> {
    let from = text.get(0..2)?.parse().ok()?;
    let to = text.get(2..4)?.parse().ok()?;
    let promotion = match text.get(4..)? {
        "" => None,
        letter => {
            let role = Role::from_char(letter.chars().next()?)?;
            if letter.len() != 1 || !Role::PROMOTIONS.contains(&role) {
                return None;
            }
            Some(role)
        }
    };
    Some((from, to, promotion))
}
