//! Whether a move is legal: the one general test, and the judgement of any sixteen bits.

use super::castling::CastlingSquares;
use super::moves::MoveKind;
use super::{
    Bitboard, CastlingSide, Color, Move, Position, Role, Square, between, bishop_attacks,
    king_attacks, line, pawn_attacks, role_attacks, rook_attacks,
};

impl Position {
    /// Whether a move is legal here; any sixteen bits may be asked about.
    ///
    /// True exactly for the moves that `legal_moves` lists.
    pub fn is_legal(&self, mv: Move) -> bool {
        let (Some(king), Some(_)) = (self.king(self.turn), self.king(!self.turn)) else {
            return false;
        };
        let (from, to) = (mv.from(), mv.to());
        let (Some(claim), Some(man)) = (mv.kind(), self.piece_at(from)) else {
            return false;
        };
        if man.color != self.turn || self.us().contains(to) {
            return false;
        }
        match claim {
            MoveKind::Castling => CastlingSide::ALL.into_iter().any(|side| {
                let squares = CastlingSquares::new(self.turn, side);
                (from, to) == (squares.king_from, squares.king_to)
                    && self.castling_move(side).is_some()
            }),
            MoveKind::EnPassant => {
                man.role == Role::Pawn
                    && self.ep == Some(to)
                    && pawn_attacks(self.turn, from).contains(to)
                    && self.is_safe_ep(from, to)
            }
            MoveKind::Promotion(_) => {
                man.role == Role::Pawn
                    && Bitboard::BACK_RANKS.contains(to)
                    && self.is_safe_pawn_move(from, to, king)
            }
            MoveKind::Normal => match man.role {
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

    /// For a man other than the king that can reach the empty square `to`.
    #[inline]
    pub(crate) fn is_safe_quiet(&self, from: Square, to: Square, king: Square) -> bool {
        (!self.pinned.contains(from) || line(king, from).contains(to))
            && (self.checkers.is_empty() || self.quiet_answers(king).contains(to))
    }

    /// The squares on which a quiet move of another man ends a check; none if nothing can.
    #[inline]
    pub(crate) fn quiet_answers(&self, king: Square) -> Bitboard {
        match self.checkers.first() {
            None => Bitboard::ALL,
            Some(checker) if !self.checkers.more_than_one() => between(king, checker),
            Some(_) => Bitboard::EMPTY,
        }
    }

    /// For a man other than the king that attacks the enemy man on `to`.
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

    /// Whether no enemy man outside `gone` attacks our king once `gone` is empty.
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
        let beside = self
            .king(enemy)
            .is_some_and(|king| king_attacks(king).contains(to));
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
