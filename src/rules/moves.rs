//! A move in sixteen bits.
//!
//! Bits 0-5 are the origin square, 6-11 the target square, 12-15 the kind. There is exactly one
//! value per move, so moves can be compared as numbers; a value from a hash table may be garbage
//! and must pass `Position::is_legal` before use.

use std::fmt;

use arrayvec::ArrayVec;

use super::{CastlingSide, Role, Square};

const KIND_SHIFT: u16 = 12;
const CASTLING: u16 = 1;
const EN_PASSANT: u16 = 2;
const PROMOTION: u16 = 4;

/// A move. Castling is stored as the king's two-square step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Move(u16);

/// Room for every move of any position.
pub type MoveList = ArrayVec<Move, 256>;

/// How castling is spelt in UCI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UciStyle {
    /// The king's step: `e1g1`.
    #[default]
    Standard,
    /// King takes own rook: `e1h1`.
    KingTakesRook,
}

/// What kind of move a value claims to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MoveKind {
    Normal,
    Castling,
    EnPassant,
    Promotion(Role),
}

impl Move {
    /// A step or a capture that is neither castling, en passant nor promotion.
    #[inline]
    pub const fn normal(from: Square, to: Square) -> Self {
        Self::pack(from, to, 0)
    }

    /// The king's two-square step.
    #[inline]
    pub const fn castling(from: Square, to: Square) -> Self {
        Self::pack(from, to, CASTLING)
    }

    /// A pawn takes the pawn that has just passed it.
    #[inline]
    pub const fn en_passant(from: Square, to: Square) -> Self {
        Self::pack(from, to, EN_PASSANT)
    }

    /// A pawn becomes `role`; for a pawn or king, a queen.
    #[inline]
    pub const fn promoting(from: Square, to: Square, role: Role) -> Self {
        let index = match role {
            Role::Knight => 0,
            Role::Bishop => 1,
            Role::Rook => 2,
            Role::Queen | Role::Pawn | Role::King => 3,
        };
        Self::pack(from, to, PROMOTION | index)
    }

    #[inline]
    const fn pack(from: Square, to: Square, kind: u16) -> Self {
        Self(from.index() as u16 | (to.index() as u16) << 6 | kind << KIND_SHIFT)
    }

    #[inline]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Any sixteen bits; most are no move at all.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// The square the piece leaves.
    #[inline]
    pub const fn from(self) -> Square {
        Square::masked(self.0 as u8 & 63)
    }

    /// The square the piece lands on; for a capture the centre of the blast.
    #[inline]
    pub const fn to(self) -> Square {
        Square::masked((self.0 >> 6) as u8 & 63)
    }

    /// What the pawn becomes.
    #[inline]
    pub const fn promotion(self) -> Option<Role> {
        match self.kind() {
            Some(MoveKind::Promotion(role)) => Some(role),
            _ => None,
        }
    }

    /// Whether this is castling.
    #[inline]
    pub const fn is_castling(self) -> bool {
        self.0 >> KIND_SHIFT == CASTLING
    }

    /// Whether this is an en-passant capture.
    #[inline]
    pub const fn is_en_passant(self) -> bool {
        self.0 >> KIND_SHIFT == EN_PASSANT
    }

    /// Whether this is a promotion, capturing or not.
    #[inline]
    pub const fn is_promotion(self) -> bool {
        self.0 >> (KIND_SHIFT + 2) == 1
    }

    /// Whether this is castling, an en-passant capture or a promotion.
    #[inline]
    pub const fn is_special(self) -> bool {
        self.0 >> KIND_SHIFT != 0
    }

    /// The wing, if this is castling.
    pub const fn castling_side(self) -> Option<CastlingSide> {
        if !self.is_castling() {
            return None;
        }
        Some(if self.to().file() > self.from().file() {
            CastlingSide::King
        } else {
            CastlingSide::Queen
        })
    }

    /// The claimed kind, `None` for bits that no move has.
    #[inline]
    pub(crate) const fn kind(self) -> Option<MoveKind> {
        Some(match self.0 >> KIND_SHIFT {
            0 => MoveKind::Normal,
            CASTLING => MoveKind::Castling,
            EN_PASSANT => MoveKind::EnPassant,
            4 => MoveKind::Promotion(Role::Knight),
            5 => MoveKind::Promotion(Role::Bishop),
            6 => MoveKind::Promotion(Role::Rook),
            7 => MoveKind::Promotion(Role::Queen),
            _ => return None,
        })
    }

    /// The move in UCI, with castling in the requested spelling.
    pub const fn uci(self, style: UciStyle) -> Uci {
        Uci { mv: self, style }
    }
}

/// A move that prints as UCI.
#[derive(Debug, Clone, Copy)]
pub struct Uci {
    mv: Move,
    style: UciStyle,
}

impl fmt::Display for Uci {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (from, mut to) = (self.mv.from(), self.mv.to());
        if let (UciStyle::KingTakesRook, Some(side)) = (self.style, self.mv.castling_side()) {
            to = Square::from_coords(side.rook_file(), from.rank());
        }
        write!(f, "{from}{to}")?;
        match self.mv.promotion() {
            Some(role) => write!(f, "{}", role.char()),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uci(UciStyle::Standard).fmt(f)
    }
}

impl fmt::Debug for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_keeps_its_parts() {
        let mv = Move::promoting(Square::E7, Square::D8, Role::Knight);
        assert_eq!((mv.from(), mv.to()), (Square::E7, Square::D8));
        assert_eq!(mv.promotion(), Some(Role::Knight));
        assert_eq!(mv.to_string(), "e7d8n");
        assert!(mv.is_promotion() && !mv.is_castling() && !mv.is_en_passant());
    }

    #[test]
    fn castling_has_two_spellings() {
        let mv = Move::castling(Square::E8, Square::C8);
        assert_eq!(mv.castling_side(), Some(CastlingSide::Queen));
        assert_eq!(mv.uci(UciStyle::Standard).to_string(), "e8c8");
        assert_eq!(mv.uci(UciStyle::KingTakesRook).to_string(), "e8a8");
    }

    #[test]
    fn any_bits_can_be_printed() {
        for bits in 0..=u16::MAX {
            let mv = Move::from_bits(bits);
            assert!(mv.to_string().len() >= 4);
            assert_eq!(mv.kind().is_none(), matches!(bits >> 12, 3 | 8..=15));
        }
    }
}
