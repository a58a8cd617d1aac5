//! Draws by material and by closed position, with Lichess' exact logic.

use super::legality::push;
use super::{Bitboard, Color, Position, Role, Square, king_attacks, pawn_attacks};

impl Position {
    /// Whether Lichess calls this position a draw for insufficient material or because it is
    /// closed.
    ///
    /// False once a king is missing.
    pub fn insufficient_material(&self) -> bool {
        if self.king(Color::White).is_none() || self.king(Color::Black).is_none() {
            return false;
        }
        self.too_few_pieces() || self.is_closed()
    }

    fn too_few_pieces(&self) -> bool {
        let pieces = self.occupied().count();
        let kings = self.by_role(Role::King);
        let bishops = self.by_role(Role::Bishop);
        if Color::ALL
            .into_iter()
            .all(|color| self.by_color(color).more_than_one())
        {
            return pieces == 4
                && (kings | bishops) == self.occupied()
                && self.by_piece(Color::White, Role::Bishop).count() == 1
                && bishops.intersects(Bitboard::LIGHT)
                && bishops.intersects(Bitboard::DARK);
        }
        let heavy = self.by_role(Role::Pawn) | self.by_role(Role::Queen);
        if (kings | self.by_role(Role::Knight)) == self.occupied() {
            return pieces <= 4;
        }
        heavy.is_empty() && pieces <= 3
    }

    fn is_closed(&self) -> bool {
        let bishops = self.by_role(Role::Bishop);
        let pawns = self.by_role(Role::Pawn);
        if (self.by_role(Role::King) | bishops | pawns) != self.occupied() {
            return false;
        }
        let (white, black) = (self.by_color(Color::White), self.by_color(Color::Black));
        let all_rammed = push(Color::White, pawns & white).is_subset(pawns)
            && push(Color::Black, pawns & black).is_subset(pawns);
        all_rammed && self.bishops_are_idle() && self.pawns_cannot_capture()
    }

    /// No bishops, or all on one side and colour with every pawn of the other side off that colour.
    fn bishops_are_idle(&self) -> bool {
        let bishops = self.by_role(Role::Bishop);
        if bishops.is_empty() {
            return true;
        }
        let shade = if bishops.is_subset(Bitboard::LIGHT) {
            Bitboard::LIGHT
        } else if bishops.is_subset(Bitboard::DARK) {
            Bitboard::DARK
        } else {
            return false;
        };
        Color::ALL.into_iter().any(|owner| {
            bishops.is_subset(self.by_color(owner))
                && !self.by_piece(!owner, Role::Pawn).intersects(shade)
        })
    }

    /// Whether no pawn of either side has a legal capture, each judged as if its side were to move.
    fn pawns_cannot_capture(&self) -> bool {
        Color::ALL.into_iter().all(|color| {
            let mut board = *self;
            board.turn = color;
            board.refresh();
            let pawns = board.by_piece(color, Role::Pawn);
            pawns.into_iter().all(|from| !board.pawn_can_capture(from))
                && (color != self.turn() || self.ep.is_none())
        })
    }

    /// A pawn that gives check counts as able to capture the king, as on Lichess.
    fn pawn_can_capture(&self, from: Square) -> bool {
        let Some(king) = self.king(self.turn()) else {
            return false;
        };
        let enemy_king = self.by_piece(!self.turn(), Role::King);
        let prey = pawn_attacks(self.turn(), from) & self.them();
        (prey & (enemy_king - king_attacks(king))).any()
            || prey
                .into_iter()
                .any(|to| self.is_safe_capture(from, to, king))
    }
}

#[cfg(test)]
mod tests {
    use crate::rules::Position;

    #[track_caller]
    fn is_drawn(fen: &str) -> bool {
        Position::from_fen(fen).unwrap().insufficient_material()
    }

    #[test]
    fn insufficient_material_is_drawn() {
        assert!(is_drawn("8/8/4k3/8/8/3K4/8/8 w - - 0 1"));
        assert!(is_drawn("8/8/4k3/8/8/3K4/8/6N1 w - - 0 1"));
        assert!(is_drawn("8/8/4k3/8/8/3K4/8/3R4 w - - 0 1"));
        assert!(is_drawn("8/8/4k3/8/8/3K4/8/5NN1 w - - 0 1"));
        assert!(is_drawn("8/8/4kb2/8/8/3K4/8/5B2 w - - 0 1"));
    }

    #[test]
    fn sufficient_material_is_played_on() {
        assert!(!is_drawn("8/8/4k3/8/8/3K4/8/4NNN1 w - - 0 1"));
        assert!(!is_drawn("8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1"));
        assert!(!is_drawn("8/8/4k3/8/8/3K4/8/4BB2 w - - 0 1"));
        assert!(!is_drawn("8/8/4kn2/8/8/3K4/8/4N3 w - - 0 1"));
        assert!(!is_drawn("8/8/4kb2/8/8/3K4/8/4B3 w - - 0 1"));
        assert!(!is_drawn("8/8/4k1b1/8/8/2K5/8/2B1B3 w - - 0 1"));
    }

    #[test]
    fn bishops_of_one_colour_against_a_bare_king_are_drawn() {
        assert!(is_drawn("8/8/4k3/8/8/3K4/8/4B1B1 w - - 0 1"));
        assert!(is_drawn("8/8/4k3/8/8/3K4/8/2B1B1B1 w - - 0 1"));
    }

    #[test]
    fn blocked_pawns_are_drawn_unless_something_can_move() {
        assert!(is_drawn("8/8/4k3/3p4/3P4/8/4K3/8 w - - 0 1"));
        assert!(is_drawn("8/8/4k3/3p4/3P4/3P4/4K3/8 w - - 0 1"));
        assert!(is_drawn("8/8/4k3/3p4/3P4/8/4K3/4B3 w - - 0 1"));
        assert!(!is_drawn("8/8/4k3/3p4/3P4/8/4K3/5B2 w - - 0 1"));
        assert!(!is_drawn("8/8/4k3/3p4/3P4/8/P3K3/8 w - - 0 1"));
        assert!(!is_drawn("8/8/4k3/2pp4/2PP4/8/4K3/8 w - - 0 1"));
        assert!(!is_drawn("8/8/8/8/4k3/3K4/3P4/8 w - - 0 1"));
    }

    #[test]
    fn captures_that_would_explode_the_own_king_do_not_count() {
        assert!(is_drawn("8/8/4K3/3pp3/3PP3/3k4/8/8 b - - 1 1"));
    }

    #[test]
    fn a_pawn_that_gives_check_could_take_the_king() {
        assert!(!is_drawn("8/4p3/4P3/2k3p1/5KP1/p7/P7/8 w - - 44 67"));
    }
}
