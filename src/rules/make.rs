//! Playing a move: the child position is a changed copy of its parent.

use super::castling::{CastlingSquares, RIGHTS_SQUARES};
use super::moves::MoveKind;
use super::zobrist::{castling_key, ep_key, piece_key, side_key};
use super::{Bitboard, Move, Piece, Position, Role, Square, king_attacks, pawn_attacks};

impl Position {
    /// The position after a legal move.
    ///
    /// The move must be legal here: another one gives a position without meaning (but no panic).
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
        child.halfmove_clock += 1;
        child.hand_over();
        child.refresh();
        child
    }

    /// The key of the child, without its en-passant part: good enough to prefetch a table entry.
    #[inline]
    pub fn key_after(&self, mv: Move) -> u64 {
        let mut key = self.key ^ side_key() ^ self.ep.map_or(0, ep_key);
        let Some(piece) = self.piece_at(mv.from()) else {
            return key;
        };
        let gone = self.blast(mv);
        if gone.any() {
            for square in gone {
                key ^= self
                    .piece_at(square)
                    .map_or(0, |piece| piece_key(piece, square));
            }
        } else {
            let landed = Piece {
                role: mv.promotion().unwrap_or(piece.role),
                ..piece
            };
            key ^= piece_key(piece, mv.from()) ^ piece_key(landed, mv.to());
            if let Some(side) = mv.castling_side() {
                let squares = CastlingSquares::new(piece.color, side);
                let rook = Piece {
                    role: Role::Rook,
                    ..piece
                };
                key ^= piece_key(rook, squares.rook_from) ^ piece_key(rook, squares.rook_to);
            }
        }
        let mut rights = self.rights;
        for square in (gone | mv.from()) & RIGHTS_SQUARES {
            rights.touch(square);
        }
        key ^ castling_key(self.rights) ^ castling_key(rights)
    }

    #[inline]
    fn make(&mut self, mv: Move) {
        let (from, to) = (mv.from(), mv.to());
        let Some(piece) = self.piece_at(from) else {
            return;
        };
        let gone = self.blast(mv);
        self.clear_ep();
        self.halfmove_clock += 1;
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
        self.fullmoves += self.turn as u32;
        self.turn = !self.turn;
        self.key ^= side_key();
    }

    /// Notes the en-passant square if some capture on it is legal for the side to move.
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

    /// What a capture on `to` removes, apart from the capturing man's start square.
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
