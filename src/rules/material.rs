//! Draws by material and by closed position, with Lichess' exact logic.

use super::legality::push;
use super::{Bitboard, Color, Position, Role, Square, king_attacks, pawn_attacks};

impl Position {
    /// Whether Lichess calls this position a draw for want of material or because it is closed.
    ///
    /// False once a king is missing.
    pub fn insufficient_material(&self) -> bool {
        if self.king(Color::White).is_none() || self.king(Color::Black).is_none() {
            return false;
        }
        self.too_few_men() || self.is_closed()
    }

    fn too_few_men(&self) -> bool {
        let men = self.occupied().count();
        let kings = self.by_role(Role::King);
        let bishops = self.by_role(Role::Bishop);
        if Color::ALL
            .into_iter()
            .all(|color| self.by_color(color).more_than_one())
        {
            return men == 4
                && (kings | bishops) == self.occupied()
                && self.by_piece(Color::White, Role::Bishop).count() == 1
                && bishops.intersects(Bitboard::LIGHT)
                && bishops.intersects(Bitboard::DARK);
        }
        let heavy = self.by_role(Role::Pawn) | self.by_role(Role::Queen);
        if (kings | self.by_role(Role::Knight)) == self.occupied() {
            return men <= 4;
        }
        heavy.is_empty() && men <= 3
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

    /// A pawn that gives check counts as able to take the king, as it does on Lichess.
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
