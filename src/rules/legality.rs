//! Whether a move is legal: the general test, and validation of arbitrary bits.

use super::castling::CastlingSquares;
use super::moves::MoveKind;
use super::{
    Bitboard, CastlingSide, Color, Move, Position, Role, Square, between, bishop_attacks,
    king_attacks, line, pawn_attacks, role_attacks, rook_attacks,
};

impl Position {
    /// Whether a move is legal here; accepts arbitrary bits.
    ///
    /// True exactly for the moves that `legal_moves` lists.
    pub fn is_legal(&self, mv: Move) -> bool {
        let (Some(king), Some(_)) = (self.king(self.turn), self.king(!self.turn)) else {
            return false;
        };
        let (from, to) = (mv.from(), mv.to());
        let (Some(claim), Some(piece)) = (mv.kind(), self.piece_at(from)) else {
            return false;
        };
        if piece.color != self.turn || self.us().contains(to) {
            return false;
        }
        match claim {
            MoveKind::Castling => CastlingSide::ALL.into_iter().any(|side| {
                let squares = CastlingSquares::new(self.turn, side);
                (from, to) == (squares.king_from, squares.king_to)
                    && self.castling_move(side).is_some()
            }),
            MoveKind::EnPassant => {
                piece.role == Role::Pawn
                    && self.ep == Some(to)
                    && pawn_attacks(self.turn, from).contains(to)
                    && self.is_safe_ep(from, to)
            }
            MoveKind::Promotion(_) => {
                piece.role == Role::Pawn
                    && Bitboard::BACK_RANKS.contains(to)
                    && self.is_safe_pawn_move(from, to, king)
            }
            MoveKind::Normal => match piece.role {
                Role::Pawn => {
                    !Bitboard::BACK_RANKS.contains(to) && self.is_safe_pawn_move(from, to, king)
                }
                Role::King => {
                    king_attacks(from).contains(to)
                        && !self.them().contains(to)
                        && self.is_safe_king_step(from, to)
                }
                role => {
                    role_attacks(role, self.turn, from, self.occupied()).contains(to)
                        && self.is_safe_landing(from, to, king)
                }
            },
        }
    }

    #[inline]
    fn is_safe_landing(&self, from: Square, to: Square, king: Square) -> bool {
        if self.them().contains(to) {
            self.is_safe_capture(from, to, king)
        } else {
            self.is_safe_quiet(from, to, king)
        }
    }

    fn is_safe_pawn_move(&self, from: Square, to: Square, king: Square) -> bool {
        if pawn_attacks(self.turn, from).contains(to) {
            return self.them().contains(to) && self.is_safe_capture(from, to, king);
        }
        self.pawn_pushes(from).contains(to) && self.is_safe_quiet(from, to, king)
    }

    /// The squares one pawn of the side to move can advance to.
    #[inline]
    pub(crate) fn pawn_pushes(&self, from: Square) -> Bitboard {
        let empty = !self.occupied();
        let one = push(self.turn, from.into()) & empty;
        one | (push(self.turn, one & third_rank(self.turn)) & empty)
    }

    /// For a piece other than the king that can reach the empty square `to`.
    #[inline]
    pub(crate) fn is_safe_quiet(&self, from: Square, to: Square, king: Square) -> bool {
        (!self.pinned.contains(from) || line(king, from).contains(to))
            && (self.checkers.is_empty() || self.quiet_answers(king).contains(to))
    }

    /// The squares on which a quiet move of another piece ends a check; none if nothing can.
    #[inline]
    pub(crate) fn quiet_answers(&self, king: Square) -> Bitboard {
        match self.checkers.first() {
            None => Bitboard::ALL,
            Some(checker) if !self.checkers.more_than_one() => between(king, checker),
            Some(_) => Bitboard::EMPTY,
        }
    }

    /// For a piece other than the king that attacks the enemy piece on `to`.
    #[inline]
    pub(crate) fn is_safe_capture(&self, from: Square, to: Square, king: Square) -> bool {
        let ring = king_attacks(king);
        let Some(enemy_king) = self.king(!self.turn) else {
            return false;
        };
        if ring.contains(to) || to == enemy_king {
            return false;
        }
        king_attacks(enemy_king).contains(to)
            || ring.contains(enemy_king)
            || self.is_safe_without(self.blast_at(to) | from, king)
    }

    /// Whether no enemy piece outside `gone` attacks our king once `gone` is empty.
    ///
    /// Neither king may be in `gone`, and the kings must not touch.
    #[inline]
    pub(crate) fn is_safe_without(&self, gone: Bitboard, king: Square) -> bool {
        if !self.checkers.is_subset(gone) {
            return false;
        }
        if !gone.intersects(self.danger) {
            return true;
        }
        let occupied = self.occupied() - gone;
        let them = self.them() - gone;
        let queens = self.by_role(Role::Queen);
        !(rook_attacks(king, occupied) & (self.by_role(Role::Rook) | queens)).intersects(them)
            && !(bishop_attacks(king, occupied) & (self.by_role(Role::Bishop) | queens))
                .intersects(them)
    }

    /// For a pawn of the side to move that stands beside a pawn that has just passed `to`.
    pub(crate) fn is_safe_ep(&self, from: Square, to: Square) -> bool {
        let (Some(king), Some(enemy_king)) = (self.king(self.turn), self.king(!self.turn)) else {
            return false;
        };
        let ring = king_attacks(king);
        !ring.contains(to)
            && (king_attacks(enemy_king).contains(to)
                || ring.contains(enemy_king)
                || self.is_safe_without(self.ep_blast(from, to), king))
    }

    /// For a king that steps to a neighbouring empty square.
    #[inline]
    fn is_safe_king_step(&self, from: Square, to: Square) -> bool {
        let enemy = !self.turn;
        let king = self.king(enemy);
        let beside = king.is_some_and(|king| king_attacks(king).contains(to));
        beside
            || (self.attackers_to(to, self.occupied() ^ from) & self.by_color(enemy))
                .is_subset(self.by_role(Role::King))
    }
}

/// All the squares one step ahead.
#[inline]
pub(crate) fn push(color: Color, set: Bitboard) -> Bitboard {
    match color {
        Color::White => set << 8,
        Color::Black => set >> 8,
    }
}

/// The rank a pawn stands on half-way through its double step.
#[inline]
pub(crate) const fn third_rank(color: Color) -> Bitboard {
    Bitboard::rank(match color {
        Color::White => 2,
        Color::Black => 5,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_legal(fen: &str, uci: &str) -> bool {
        Position::from_fen(fen).unwrap().parse_uci(uci).is_ok()
    }

    #[test]
    fn the_own_king_in_the_blast_forbids_everything() {
        assert!(!is_legal("8/8/8/8/3kK3/3n3R/8/8 w - - 0 1", "h3d3"));
        assert!(!is_legal("8/8/8/2k5/3pK3/2P5/8/8 w - - 0 1", "c3d4"));
        assert!(is_legal("8/8/8/2k5/3p1K2/4P3/8/8 w - - 0 1", "e3d4"));
    }

    #[test]
    fn exploding_the_enemy_king_beats_check_and_pin() {
        assert!(is_legal("k1K5/pp5R/8/8/3Q4/P7/1P6/2r5 w - - 0 1", "d4a7"));
        assert!(is_legal("8/8/8/b7/8/1p6/k2N4/4K3 w - - 0 1", "d2b3"));
        assert!(!is_legal("8/8/8/b7/8/1p6/k2N4/4K3 w - - 0 1", "d2f3"));
    }

    #[test]
    fn a_blast_may_remove_checkers_and_pinners() {
        assert!(is_legal(
            "5k1r/p1ppq1pp/5p2/1B6/1b3P2/2P5/PP4PP/RNB1K2R w KQ - 0 12",
            "b5d7"
        ));
        assert!(is_legal("4k3/8/4r3/5p2/8/4N3/8/4K3 w - - 0 1", "e3f5"));
        assert!(is_legal("4k3/8/8/4rN2/3p4/2b5/8/4K3 w - - 0 1", "f5d4"));
        assert!(is_legal("8/4K2P/5bk1/3pq3/3P4/8/8/8 w - - 3 46", "d4e5"));
    }

    #[test]
    fn a_blast_may_not_remove_the_own_shields() {
        let fen = "r1b1k2r/pp1pBppp/2p1p2n/q3P3/B2P4/2N2Q2/PPn2PPP/R3K1NR w KQkq - 9 11";
        assert!(!is_legal(fen, "a4c2"));
        // Both shields on the e-file vanish in one blast on d4.
        assert!(!is_legal("4r1k1/8/8/4N3/3pN3/8/8/3RK3 w - - 0 1", "d1d4"));
    }

    #[test]
    fn kings_never_capture() {
        assert!(!is_legal("8/8/8/1k6/8/8/8/1Kr5 w - - 0 1", "b1c1"));
        assert!(!is_legal("8/8/8/3kK3/8/8/8/8 w - - 0 1", "e5d5"));
    }

    #[test]
    fn nothing_is_legal_without_a_king() {
        let position = Position::from_fen("4k3/8/8/8/8/8/8/R7 w - - 0 1").unwrap();
        assert!((0..=u16::MAX).all(|bits| !position.is_legal(Move::from_bits(bits))));
    }
}
