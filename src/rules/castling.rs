//! Castling rights and squares.

use super::{Bitboard, Color, Square};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CastlingSide {
    /// Short: the king goes to the g-file.
    King,
    /// Long: the king goes to the c-file.
    Queen,
}

impl CastlingSide {
    pub const ALL: [Self; 2] = [Self::King, Self::Queen];

    /// The file the rook starts from, 7 or 0.
    pub const fn rook_file(self) -> u8 {
        match self {
            Self::King => 7,
            Self::Queen => 0,
        }
    }

    /// The king's and the rook's landing files.
    const fn landing(self) -> (u8, u8) {
        match self {
            Self::King => (6, 5),
            Self::Queen => (2, 3),
        }
    }
}

/// The four castling rights in the low bits of a byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct CastlingRights(u8);

/// The rights left when a piece on a square moves or is removed.
const KEPT: [u8; 64] = {
    let mut kept = [15; 64];
    kept[Square::E1.index()] = 0b1100;
    kept[Square::H1.index()] = 0b1110;
    kept[Square::A1.index()] = 0b1101;
    kept[Square::E8.index()] = 0b0011;
    kept[Square::H8.index()] = 0b1011;
    kept[Square::A8.index()] = 0b0111;
    kept
};

/// The squares on which rights can be lost.
pub(crate) const RIGHTS_SQUARES: Bitboard = Bitboard(0x9100_0000_0000_0091);

impl CastlingRights {
    pub const NONE: Self = Self(0);

    const fn bit(color: Color, side: CastlingSide) -> u8 {
        1 << ((color as u8) << 1 | side as u8)
    }

    /// Whether a side may still castle on a wing.
    #[inline]
    pub const fn has(self, color: Color, side: CastlingSide) -> bool {
        self.0 & Self::bit(color, side) != 0
    }

    /// Whether a side may still castle on either wing.
    #[inline]
    pub const fn any(self, color: Color) -> bool {
        self.0 >> ((color as u8) << 1) & 3 != 0
    }

    /// Below 16, for tables.
    #[inline]
    pub const fn index(self) -> usize {
        (self.0 & 15) as usize
    }

    pub(crate) const fn grant(&mut self, color: Color, side: CastlingSide) {
        self.0 |= Self::bit(color, side);
    }

    /// Drops the rights that depend on a piece on this square.
    #[inline]
    pub(crate) const fn touch(&mut self, square: Square) {
        self.0 &= KEPT[square.index()];
    }
}

/// Where king and rook stand before and after castling.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CastlingSquares {
    pub(crate) king_from: Square,
    pub(crate) king_to: Square,
    pub(crate) rook_from: Square,
    pub(crate) rook_to: Square,
}

impl CastlingSquares {
    #[inline]
    pub(crate) const fn new(color: Color, side: CastlingSide) -> Self {
        let rank = color.back_rank();
        let (king_file, rook_file) = side.landing();
        Self {
            king_from: Square::from_coords(4, rank),
            king_to: Square::from_coords(king_file, rank),
            rook_from: Square::from_coords(side.rook_file(), rank),
            rook_to: Square::from_coords(rook_file, rank),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Position;

    #[track_caller]
    fn can_castle(fen: &str, uci: &str) -> bool {
        Position::from_fen(fen).unwrap().parse_uci(uci).is_ok()
    }

    #[test]
    fn a_square_beside_the_enemy_king_counts_as_safe() {
        assert!(can_castle("8/8/8/8/8/8/4k3/R3K2r w Q - 0 1", "e1c1"));
        assert!(!can_castle("8/8/8/8/8/8/5k2/R3K2r w Q - 0 1", "e1c1"));
        assert!(can_castle("5r2/8/8/8/8/8/6k1/4K2R w K - 0 1", "e1g1"));
        assert!(!can_castle("5r2/8/8/8/8/6k1/8/4K2R w K - 0 1", "e1g1"));
        assert!(can_castle("r3k2R/4K3/8/8/8/8/8/8 b q - 0 1", "e8c8"));
    }

    #[test]
    fn only_the_kings_way_must_be_safe_but_all_of_it_empty() {
        assert!(can_castle("1r2k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1"));
        assert!(can_castle("r3k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1"));
        assert!(!can_castle("2r1k3/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1"));
        assert!(!can_castle("3rk3/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1"));
        assert!(!can_castle("4r1k1/8/8/8/8/8/8/R3K3 w Q - 0 1", "e1c1"));
        assert!(!can_castle("4k3/8/8/8/8/8/8/RN2K3 w Q - 0 1", "e1c1"));
        assert!(!can_castle("4k3/8/8/8/8/8/4p3/R3K3 w Q - 0 1", "e1c1"));
    }

    #[test]
    fn rights_are_independent() {
        let mut rights = CastlingRights::NONE;
        rights.grant(Color::White, CastlingSide::Queen);
        rights.grant(Color::Black, CastlingSide::King);
        assert!(rights.has(Color::White, CastlingSide::Queen));
        assert!(!rights.has(Color::White, CastlingSide::King));
        rights.touch(Square::H8);
        assert!(rights.any(Color::White) && !rights.any(Color::Black));
        rights.touch(Square::E1);
        assert_eq!(rights, CastlingRights::NONE);
    }
}
