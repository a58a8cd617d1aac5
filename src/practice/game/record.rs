//! One recorded move: what the page shows and the streams repeat.

use crate::rules::{Move, Position, Square, UciStyle};

/// A move that was played.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    /// Castling as the king's step of two squares.
    pub(crate) uci: String,
    /// Castling as the king taking its own rook, as the streams write it.
    pub(crate) stream_uci: String,
    pub(crate) san: String,
    /// The position after it.
    pub(crate) fen: String,
    /// The target square of a capture and every neighbour that lost a piece.
    pub(crate) blast: Vec<Square>,
}

impl Played {
    /// Records `mv`, about to be played in `before`.
    pub(crate) fn of(before: &Position, mv: Move) -> Self {
        Self {
            uci: mv.uci(UciStyle::Standard).to_string(),
            stream_uci: mv.uci(UciStyle::KingTakesRook).to_string(),
            san: before.san(mv),
            fen: before.play(mv).fen(),
            blast: before.explosion(mv),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played(fen: &str, uci: &str) -> Played {
        let position = Position::from_fen(fen).unwrap();
        Played::of(&position, position.parse_uci(uci).unwrap())
    }

    fn names(squares: &[Square]) -> Vec<String> {
        let mut names: Vec<_> = squares.iter().map(ToString::to_string).collect();
        names.sort();
        names
    }

    #[test]
    fn a_blast_is_the_landing_square_and_what_stood_around_it() {
        let shot = played(
            "rnbqkbnr/1ppppppp/p7/6N1/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 3",
            "g5f7",
        );
        assert_eq!(names(&shot.blast), ["e8", "f7", "f8", "g8"]);
        assert_eq!(shot.san, "Nxf7#");
    }

    #[test]
    fn an_en_passant_blast_takes_its_victim_along() {
        let shot = played("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "e5d6");
        assert_eq!(names(&shot.blast), ["d5", "d6"]);
    }

    #[test]
    fn a_quiet_move_has_no_blast_and_castling_two_spellings() {
        let castled = played("4k3/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1");
        assert!(castled.blast.is_empty());
        assert_eq!(
            (castled.uci.as_str(), castled.stream_uci.as_str()),
            ("e1g1", "e1h1")
        );
    }
}
