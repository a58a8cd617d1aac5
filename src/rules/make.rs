//! Making a move: the child position is a changed copy of its parent.

use super::castling::{CastlingSquares, RIGHTS_SQUARES};
use super::moves::MoveKind;
use super::zobrist::{castling_key, ep_key, side_key};
use super::{Bitboard, Move, Piece, Position, Role, Square, king_attacks, pawn_attacks};

impl Position {
    /// The position after a legal move.
    ///
    /// An illegal move gives a meaningless position (but no panic).
    #[must_use]
    #[inline]
    pub fn play(&self, mv: Move) -> Self {
        let mut child = *self;
        child.make(mv);
        child
    }

    /// The position with the other side to move, for null-move search.
    ///
    /// Not to be used while in check. The clocks advance, the en-passant chance is gone.
    #[must_use]
    pub fn pass(&self) -> Self {
        let mut child = *self;
        child.clear_ep();
        child.halfmove_clock = child.halfmove_clock.saturating_add(1);
        child.hand_over();
        child.refresh();
        child
    }

    #[inline]
    fn make(&mut self, mv: Move) {
        let (from, to) = (mv.from(), mv.to());
        let Some(piece) = self.piece_at(from) else {
            return;
        };
        let gone = self.blast(mv);
        self.clear_ep();
        self.halfmove_clock = self.halfmove_clock.saturating_add(1);
        if gone.any() {
            self.halfmove_clock = 0;
            self.explode(gone);
            self.lose_rights(gone);
        } else {
            if piece.role == Role::Pawn {
                self.halfmove_clock = 0;
            }
            self.step(mv, piece);
            self.lose_rights(from.into());
        }
        self.hand_over();
        self.refresh();
        if piece.role == Role::Pawn && from.index().abs_diff(to.index()) == 16 {
            self.offer_ep(Square::masked(
                usize::midpoint(from.index(), to.index()) as u8
            ));
        }
    }

    #[inline]
    fn explode(&mut self, gone: Bitboard) {
        for square in gone {
            self.remove(square);
        }
        for color in super::Color::ALL {
            if self.king(color).is_none() {
                self.lose_rights(Square::from_coords(4, color.back_rank()).into());
            }
        }
    }

    #[inline]
    fn step(&mut self, mv: Move, piece: Piece) {
        self.remove(mv.from());
        let landed = Piece {
            role: mv.promotion().unwrap_or(piece.role),
            ..piece
        };
        self.put(landed, mv.to());
        if let (Some(MoveKind::Castling), Some(side)) = (mv.kind(), mv.castling_side()) {
            let squares = CastlingSquares::new(piece.color, side);
            self.remove(squares.rook_from);
            self.put(
                Piece {
                    role: Role::Rook,
                    ..piece
                },
                squares.rook_to,
            );
        }
    }

    #[inline]
    fn lose_rights(&mut self, touched: Bitboard) {
        let touched = touched & RIGHTS_SQUARES;
        if touched.is_empty() {
            return;
        }
        self.key ^= castling_key(self.rights);
        for square in touched {
            self.rights.touch(square);
        }
        self.key ^= castling_key(self.rights);
    }

    #[inline]
    fn clear_ep(&mut self) {
        if let Some(square) = self.ep.take() {
            self.key ^= ep_key(square);
        }
    }

    #[inline]
    fn hand_over(&mut self) {
        self.fullmoves = self.fullmoves.saturating_add(self.turn as u32);
        self.turn = !self.turn;
        self.key ^= side_key();
    }

    /// Sets the en-passant square if some capture on it is legal for the side to move.
    #[inline]
    pub(crate) fn offer_ep(&mut self, square: Square) {
        let takers = pawn_attacks(!self.turn, square) & self.by_piece(self.turn, Role::Pawn);
        if takers.into_iter().any(|from| self.is_safe_ep(from, square)) {
            self.ep = Some(square);
            self.key ^= ep_key(square);
        }
    }

    /// The squares a move empties by exploding, start square included; none if nothing is captured.
    ///
    /// Castling and other quiet moves explode nothing.
    #[inline]
    pub fn blast(&self, mv: Move) -> Bitboard {
        let (from, to) = (mv.from(), mv.to());
        if mv.is_en_passant() {
            return self.ep_blast(from, to);
        }
        if self.them().contains(to) {
            self.blast_at(to) | from
        } else {
            Bitboard::EMPTY
        }
    }

    /// The squares that a board marks as exploding: the target of a capture, then the others that it
    /// empties apart from its start square.
    pub fn explosion(&self, mv: Move) -> Vec<Square> {
        let target = self.is_capture(mv).then_some(mv.to());
        let others = self.blast(mv) - mv.from() - mv.to();
        target.into_iter().chain(others).collect()
    }

    /// What a capture on `to` removes, apart from the capturing piece's start square.
    #[inline]
    pub(crate) fn blast_at(&self, to: Square) -> Bitboard {
        (king_attacks(to) & (self.occupied() - self.by_role(Role::Pawn))) | to
    }

    #[inline]
    pub(crate) fn ep_blast(&self, from: Square, to: Square) -> Bitboard {
        let victim = Square::from_coords(to.file(), from.rank());
        (king_attacks(to) & (self.occupied() - self.by_role(Role::Pawn))) | from | victim
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn plays(fen: &str, uci: &str, after: &str) {
        let position = Position::from_fen(fen).unwrap();
        let child = position.play(position.parse_uci(uci).unwrap());
        assert_eq!(child.fen(), after);
        assert_eq!(child.key(), child.recomputed_key());
    }

    #[test]
    fn a_blast_spares_pawns_and_takes_the_capturer() {
        plays(
            "4k3/8/8/2pnp3/2PpP3/8/8/3RK3 w - - 0 1",
            "d1d4",
            "4k3/8/8/2p1p3/2P1P3/8/8/4K3 b - - 0 1",
        );
    }

    #[test]
    fn an_explosion_begins_with_its_target_and_leaves_the_start_square_out() {
        let marked = |fen: &str, uci: &str| {
            let position = Position::from_fen(fen).unwrap();
            let squares = position.explosion(position.parse_uci(uci).unwrap());
            squares.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let pieces = "4k3/8/8/2pnp3/2PpP3/3R4/8/4K3 w - - 0 1";
        assert_eq!(marked(pieces, "d3d4"), ["d4", "d5"]);
        let passing = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2";
        assert_eq!(marked(passing, "e5d6"), ["d6", "d5"]);
        let castling = "4k3/8/8/8/8/8/8/4K2R w K - 0 1";
        assert_eq!(marked(castling, "e1g1"), [""; 0]);
    }

    #[test]
    fn en_passant_is_centred_on_the_landing_square() {
        plays(
            "4k3/2n5/8/3pP3/2r5/8/8/K7 w - d6 0 2",
            "e5d6",
            "4k3/8/8/8/2r5/8/8/K7 b - - 0 2",
        );
    }

    #[test]
    fn rights_are_lost_with_their_rooks() {
        plays(
            "4k3/1b6/8/8/8/8/6P1/4K2R b K - 0 1",
            "b7g2",
            "4k3/8/8/8/8/8/8/4K3 w - - 0 2",
        );
        plays(
            "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",
            "a1a8",
            "4k2r/8/8/8/8/8/8/4K2R b Kk - 0 1",
        );
        plays(
            "4k3/8/8/8/4B3/5p2/8/R3K2R w KQ - 0 1",
            "e4f3",
            "4k3/8/8/8/8/8/8/R3K2R b KQ - 0 1",
        );
    }

    #[test]
    fn an_exploded_king_has_no_rights() {
        plays(
            "rnb1kbnr/ppp1pppp/8/3q4/8/7P/PPPP1PP1/RNBQKBNR b KQkq - 0 1",
            "d5d2",
            "rnb1kbnr/ppp1pppp/8/8/8/7P/PPP2PP1/RN3BNR w kq - 0 2",
        );
    }

    #[test]
    fn the_en_passant_square_is_noted_only_for_a_legal_capture() {
        plays(
            "4k3/3p4/8/2K1P3/8/8/8/8 b - - 0 1",
            "d7d5",
            "4k3/8/8/2KpP3/8/8/8/8 w - - 0 2",
        );
        plays(
            "4k3/3p4/8/4P3/2K5/8/8/8 b - - 0 1",
            "d7d5",
            "4k3/8/8/3pP3/2K5/8/8/8 w - d6 0 2",
        );
    }

    #[test]
    fn a_null_move_changes_only_the_side() {
        let position = Position::default();
        let passed = position.pass();
        assert_eq!(passed.turn(), crate::rules::Color::Black);
        assert_eq!(passed.occupied(), position.occupied());
        assert_eq!(passed.key(), passed.recomputed_key());
    }
}
