//! Check: which moves give it.

use super::castling::CastlingSquares;
use super::moves::MoveKind;
use super::{
    Bitboard, Color, Move, Position, Role, Square, bishop_attacks, king_attacks, line,
    role_attacks, rook_attacks,
};

impl Position {
    /// Whether a legal move leaves the enemy king directly attacked and the kings apart.
    ///
    /// An exploding move gives no check: the game is over.
    pub fn gives_check(&self, mv: Move) -> bool {
        let us = self.turn();
        let (Some(enemy_king), Some(role)) = (self.king(!us), self.role_at(mv.from())) else {
            return false;
        };
        if role == Role::King {
            return self.king_move_gives_check(mv, enemy_king);
        }
        if self.kings_touch() {
            return false;
        }
        let gone = self.blast(mv);
        if gone.any() {
            return !gone.contains(enemy_king)
                && self.lines_reach(enemy_king, self.occupied() - gone, gone);
        }
        let occupied = (self.occupied() - mv.from()) | mv.to();
        let landed = mv.promotion().unwrap_or(role);
        role_attacks(landed, us, mv.to(), occupied).contains(enemy_king)
            || (line(enemy_king, mv.from()).any()
                && self.lines_reach(enemy_king, occupied, mv.from().into()))
    }

    /// Whether our sliders, those on `gone` left out, attack the enemy king.
    #[inline]
    fn lines_reach(&self, enemy_king: Square, occupied: Bitboard, gone: Bitboard) -> bool {
        let ours = self.us() - gone;
        let queens = self.by_role(Role::Queen);
        let straight = (self.by_role(Role::Rook) | queens) & ours;
        let diagonal = (self.by_role(Role::Bishop) | queens) & ours;
        (rook_attacks(enemy_king, occupied) & straight).any()
            || (bishop_attacks(enemy_king, occupied) & diagonal).any()
    }

    fn king_move_gives_check(&self, mv: Move, enemy_king: Square) -> bool {
        if king_attacks(mv.to()).contains(enemy_king) {
            return false;
        }
        let mut occupied = (self.occupied() - mv.from()) | mv.to();
        if let (Some(MoveKind::Castling), Some(side)) = (mv.kind(), mv.castling_side()) {
            let squares = CastlingSquares::new(self.turn(), side);
            occupied = (occupied - squares.rook_from) | squares.rook_to;
            if rook_attacks(enemy_king, occupied).contains(squares.rook_to) {
                return true;
            }
            return self.lines_reach(enemy_king, occupied, squares.rook_from.into());
        }
        self.attackers_to(enemy_king, occupied)
            .intersects(self.us() - self.by_role(Role::King))
    }

    /// Whether a side's king is directly attacked and the kings do not touch.
    ///
    /// False once a king is missing.
    pub fn is_attacked(&self, color: Color) -> bool {
        let (Some(king), Some(enemy_king)) = (self.king(color), self.king(!color)) else {
            return false;
        };
        let enemies = self.by_color(!color) - enemy_king;
        !king_attacks(king).contains(enemy_king)
            && self.attackers_to(king, self.occupied()).intersects(enemies)
    }
}
