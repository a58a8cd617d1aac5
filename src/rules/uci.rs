//! Parses moves in UCI, with both spellings of castling.

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

    /// The move that two squares and a letter mean here, legal or not.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(fen: &str) -> Position {
        Position::from_fen(fen).unwrap()
    }

    #[test]
    fn both_spellings_of_castling_are_one_move() {
        let position = at("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1");
        assert_eq!(position.parse_uci("e1h1"), position.parse_uci("e1g1"));
        assert_eq!(position.parse_uci("e1a1"), position.parse_uci("e1c1"));
        let mv = position.parse_uci("e1a1").unwrap();
        assert_eq!(mv.to_string(), "e1c1");
        assert_eq!(
            mv.uci(crate::rules::UciStyle::KingTakesRook).to_string(),
            "e1a1"
        );
    }

    #[test]
    fn a_king_beside_the_corner_steps_and_does_not_castle() {
        let position = at("4k3/8/8/8/8/8/8/R4K1R w - - 0 1");
        assert!(!position.parse_uci("f1g1").unwrap().is_castling());
        assert!(position.parse_uci("f1h1").is_err());
    }

    #[test]
    fn a_promotion_needs_its_letter() {
        let position = at("8/2P5/8/8/8/6k1/8/4K3 w - - 0 1");
        let missing = UciError::PromotionMissing("c7c8".to_owned());
        assert_eq!(position.parse_uci("c7c8"), Err(missing));
        assert_eq!(
            position.parse_uci("c7c8n").unwrap().promotion(),
            Some(Role::Knight)
        );
        assert!(matches!(
            position.parse_uci("c7c8k"),
            Err(UciError::Syntax(_))
        ));
        assert!(matches!(
            position.parse_uci("c7c8Q"),
            Err(UciError::Syntax(_))
        ));
    }

    #[test]
    fn errors_distinguish_garbage_from_illegal_moves() {
        let position = Position::default();
        for text in [
            "", "e2", "e2e", "e2e9", "e2e4x", "e2e4qq", "0000", "é2e4", "e2-e4",
        ] {
            assert!(
                matches!(position.parse_uci(text), Err(UciError::Syntax(_))),
                "{text}"
            );
        }
        for text in ["e2e5", "e7e5", "e4e5", "e1g1", "e2e4q", "a1a1"] {
            assert!(
                matches!(position.parse_uci(text), Err(UciError::Illegal(_))),
                "{text}"
            );
        }
    }
}
