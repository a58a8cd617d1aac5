//! Threatened explosions: which side can explode the enemy king with the next move.

use super::{Bitboard, Color, Move, Position, Role, between, king_attacks, role_attacks};

impl Position {
    /// Whether a move captures, en passant included.
    #[inline]
    pub fn is_capture(&self, mv: Move) -> bool {
        mv.is_en_passant() || self.them().contains(mv.to())
    }

    /// Whether a legal move explodes the enemy king and so wins at once.
    #[inline]
    pub fn explodes_king(&self, mv: Move) -> bool {
        self.is_capture(mv)
            && self
                .king(!self.turn())
                .is_some_and(|king| king_attacks(king).contains(mv.to()))
    }

    /// The enemy pieces whose capture by `color` wins: next to their king, not to its own.
    ///
    /// Any piece that attacks one of them wins with that capture, even if pinned or in check.
    #[inline]
    pub fn fuses(&self, color: Color) -> Bitboard {
        match (self.king(color), self.king(!color)) {
            (Some(own), Some(enemy)) => {
                (king_attacks(enemy) & self.by_color(!color)) - king_attacks(own)
            }
            _ => Bitboard::EMPTY,
        }
    }

    /// Whether the side to move can explode the enemy king now.
    #[inline]
    pub fn can_explode(&self) -> bool {
        self.reaches_fuse(self.turn()) || self.ep_explodes()
    }

    /// Whether the opponent could explode our king if it were the opponent's turn.
    pub fn is_threatened(&self) -> bool {
        self.reaches_fuse(!self.turn())
    }

    /// As `is_threatened`, with the squares that the opponent's pieces other than the king attack.
    #[inline]
    pub fn is_threatened_with(&self, attacked: Bitboard) -> bool {
        self.fuses(!self.turn()).intersects(attacked)
    }

    /// The start squares and the target squares of the quiet moves that may parry the explosions that
    /// the opponent threatens, given the squares that the opponent's pieces other than the king attack.
    ///
    /// Any other quiet move, if the king does not make it, leaves one of them possible, if any is.
    #[inline]
    pub fn parries(&self, attacked: Bitboard) -> [Bitboard; 2] {
        let them = !self.turn();
        let takers = self.by_color(them) - self.by_role(Role::King);
        let (fuses, occupied) = (self.fuses(them) & attacked, self.occupied());
        let mut targets = !Bitboard::EMPTY;
        for fuse in fuses {
            for taker in self.attackers_to(fuse, occupied) & takers {
                targets &= between(fuse, taker);
            }
        }
        [fuses, targets]
    }

    /// Whether the piece that makes a quiet move attacks one of [`Position::fuses`] afterwards.
    ///
    /// The king captures nothing, and lines that the move opens for other pieces do not count.
    pub fn attacks_fuse(&self, mv: Move) -> bool {
        let fuses = self.fuses(self.turn());
        match self.role_at(mv.from()) {
            None | Some(Role::King) => false,
            Some(role) => {
                let landed = mv.promotion().unwrap_or(role);
                let occupied = self.occupied() - mv.from();
                role_attacks(landed, self.turn(), mv.to(), occupied).intersects(fuses)
            }
        }
    }

    #[inline]
    fn reaches_fuse(&self, color: Color) -> bool {
        let fuses = self.fuses(color);
        fuses.any() && fuses.intersects(self.attacks_by(color, self.occupied()))
    }

    #[inline]
    fn ep_explodes(&self) -> bool {
        match (self.ep, self.king(!self.turn())) {
            (Some(to), Some(king)) => king_attacks(king).contains(to),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn at(fen: &str) -> Position {
        Position::from_fen(fen).unwrap()
    }

    #[test]
    fn a_piece_beside_the_enemy_king_is_a_target() {
        let position = at("rnb1kbnr/ppp1pppp/8/3q4/8/7P/PPPP1PP1/RNBQKBNR b KQkq - 0 1");
        assert!(position.can_explode());
        assert!(!position.is_threatened());
        assert!(position.fuses(Color::Black).count() >= 4);
    }

    #[test]
    fn a_piece_beside_both_kings_is_no_target() {
        let position = at("8/8/8/8/1p1R4/kK6/8/8 w - - 0 1");
        assert!(!position.can_explode());
        assert!(at("8/8/8/8/8/1p1R4/k7/1K6 w - - 0 1").can_explode());
    }

    #[test]
    fn an_attack_beside_the_own_king_is_a_threat_and_no_check() {
        let position = at("4k3/4p3/8/8/8/8/8/4RK2 b - - 0 1");
        assert!(position.is_threatened());
        assert!(!position.in_check());
    }

    #[test]
    fn en_passant_beside_the_enemy_king_explodes_it() {
        let position = at("8/3pk3/8/4P3/8/8/8/K7 b - - 0 1");
        let mv = position.parse_uci("d7d5").unwrap();
        let child = position.play(mv);
        assert!(child.can_explode());
        let mv = child.parse_uci("e5d6").unwrap();
        assert!(child.is_capture(mv) && child.explodes_king(mv));
    }
}
