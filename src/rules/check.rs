//! Check: which moves give it.

use super::castling::CastlingSquares;
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
        let mut ours = self.us() - mv.from();
        if let Some(side) = mv.castling_side() {
            let squares = CastlingSquares::new(self.turn(), side);
            occupied = (occupied - squares.rook_from) | squares.rook_to;
            ours -= squares.rook_from;
            if rook_attacks(enemy_king, occupied).contains(squares.rook_to) {
                return true;
            }
        }
        self.attackers_to(enemy_king, occupied).intersects(ours)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn gives_check(fen: &str, uci: &str) -> bool {
        let position = Position::from_fen(fen).unwrap();
        let mv = position.parse_uci(uci).unwrap();
        assert_eq!(position.gives_check(mv), position.play(mv).in_check());
        position.gives_check(mv)
    }

    #[test]
    fn castling_out_of_contact_can_uncover_any_check() {
        assert!(gives_check(
            "r6r/1n6/8/8/5N1P/8/4k3/R3K2R w KQ - 57 85",
            "e1g1"
        ));
        assert!(gives_check("5k2/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1"));
        assert!(!gives_check("6k1/8/8/8/8/8/8/4K2R w K - 0 1", "e1g1"));
    }

    #[test]
    fn a_king_that_leaves_the_contact_uncovers_check() {
        let fen = "r1bq1bnr/pppp1ppp/8/4pk2/4P1K1/8/PPPP1PPP/RNBQ1B1R w - - 6 7";
        assert!(gives_check(fen, "g4h3"));
        assert!(!gives_check(fen, "g4g5"));
    }

    #[test]
    fn touching_kings_are_never_in_check() {
        assert!(!gives_check("3k4/8/3K4/8/8/8/3r4/8 w - - 0 1", "d6d7"));
        assert!(!gives_check("4r3/8/8/8/8/8/3kN3/4K3 w - - 0 1", "e2c3"));
    }

    #[test]
    fn a_blast_can_open_a_line_but_the_capturer_checks_no_more() {
        // The blast on d5 removes the knight e4 that shielded the black king from the rook e1.
        assert!(gives_check("4k3/8/8/3p4/4n3/8/8/K2QR3 w - - 0 1", "d1d5"));
        // A queen that captures within reach of the king has exploded.
        assert!(!gives_check("4k3/8/8/4p3/8/8/8/K3Q3 w - - 0 1", "e1e5"));
    }

    #[test]
    fn an_exploded_king_is_not_in_check() {
        assert!(!gives_check("4k3/4p3/8/8/8/8/8/4RK2 w - - 0 1", "e1e7"));
    }
}
