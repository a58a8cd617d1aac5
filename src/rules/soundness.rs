//! Consistency check of a position: everything that `make` maintains, computed from scratch.
//!
//! Slow; for tests and for the self-check build of the search.

use super::position::EMPTY_CODE;
use super::zobrist::code_key;
use super::{Bitboard, Color, Piece, Position, Role, Square};

impl Position {
    /// The first inconsistency of this position, if any.
    pub fn flaw(&self) -> Option<&'static str> {
        let flaws = [
            (self.board_differs(), "the board is not what the sets say"),
            (self.kings_differ(), "a king is not where he is said to be"),
            (self.key() != self.recomputed_key(), "the key is wrong"),
            (self.part_keys_differ(), "a key of some pieces is wrong"),
            (self.dangers_differ(), "checks, pins or lines are wrong"),
        ];
        let flaw = flaws.into_iter().find(|(is_there, _)| *is_there);
        flaw.map(|(_, words)| words)
    }

    fn board_differs(&self) -> bool {
        let code = |square: Square| {
            let color = Color::ALL
                .into_iter()
                .find(|&color| self.by_color(color).contains(square));
            let role = Role::ALL
                .into_iter()
                .find(|&role| self.by_role(role).contains(square));
            match (color, role) {
                (Some(color), Some(role)) => Some(Piece { color, role }.code()),
                (None, None) => Some(EMPTY_CODE),
                _ => None,
            }
        };
        let sets: usize = Role::ALL
            .iter()
            .map(|&role| self.by_role(role).count())
            .sum();
        Square::all().any(|square| code(square) != Some(self.board[square.index()]))
            || sets != self.occupied().count()
            || self.us().intersects(self.them())
    }

    fn kings_differ(&self) -> bool {
        Color::ALL.iter().any(|&color| {
            let kings = self.by_piece(color, Role::King);
            self.king(color) != kings.first() || kings.more_than_one()
        })
    }

    fn part_keys_differ(&self) -> bool {
        let key = |pieces: Bitboard| {
            let codes = pieces.into_iter();
            codes.fold(0, |key, at| key ^ code_key(self.board[at.index()], at))
        };
        let pawns = self.by_role(Role::Pawn);
        let pieces = Color::ALL.map(|color| key(self.by_color(color) - pawns));
        self.pawn_key != key(pawns) || self.pieces_keys != pieces
    }

    fn dangers_differ(&self) -> bool {
        let mut anew = *self;
        anew.refresh();
        anew != *self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_random_games_are_consistent() {
        let mut rng = fastrand::Rng::with_seed(9);
        for _ in 0..100 {
            let mut position = Position::default();
            while !position.legal_moves().is_empty() {
                let moves = position.legal_moves();
                position = position.play(moves[rng.usize(..moves.len())]);
                assert_eq!(position.flaw(), None, "{}", position.fen());
                if position.halfmove_clock() > 60 {
                    break;
                }
                assert_eq!(position.pass().flaw(), None, "{}", position.fen());
            }
        }
    }

    #[test]
    fn inconsistencies_are_found() {
        let good = Position::default();
        let mut key = good;
        key.key ^= 1;
        let mut pawns = good;
        pawns.pawn_key ^= 1;
        let mut pieces = good;
        pieces.pieces_keys[1] ^= 1;
        let mut board = good;
        board.board[20] = board.board[0];
        let mut king = good;
        king.kings[0] = Some(Square::A1);
        let mut pins = good;
        pins.pinned = Bitboard::FILE_A;
        for flawed in [key, pawns, pieces, board, king, pins] {
            assert!(flawed.flaw().is_some());
        }
    }
}
