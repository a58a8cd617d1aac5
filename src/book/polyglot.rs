//! The Polyglot format: keys of positions, and entries of sixteen bytes.
//!
//! The file of an en-passant capture is in the key where the capture is legal. It reads no file and
//! trusts no entry: [`PolyglotEntry::mv`] names a legal move or nothing.

use shakmaty::zobrist::{Zobrist64, ZobristValue as _};
use shakmaty::{CastlingSide as TheirSide, EnPassantMode, File, Position as _};

use crate::rules::{CastlingSide, Color, Move, Position, Role, Square, UciStyle};

pub(super) const ENTRY_BYTES: usize = 16;

/// A move of a position, as a file has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PolyglotEntry {
    pub(super) key: u64,
    pub(super) bits: u16,
    pub(super) weight: u16,
    pub(super) learn: u32,
}

impl PolyglotEntry {
    pub(super) fn new(position: &Position, mv: Move, weight: u16, learn: u32) -> PolyglotEntry {
        PolyglotEntry {
            key: key(position),
            bits: bits(mv),
            weight,
            learn,
        }
    }

    pub(super) fn from_bytes(bytes: [u8; ENTRY_BYTES]) -> PolyglotEntry {
        let number = u128::from_be_bytes(bytes);
        PolyglotEntry {
            key: (number >> 64) as u64,
            bits: (number >> 48) as u16,
            weight: (number >> 32) as u16,
            learn: number as u32,
        }
    }

    pub(super) fn bytes(self) -> [u8; ENTRY_BYTES] {
        let low = u64::from(self.bits) << 48 | u64::from(self.weight) << 32 | u64::from(self.learn);
        (u128::from(self.key) << 64 | u128::from(low)).to_be_bytes()
    }

    /// The legal move that the entry means; castling as king takes rook or as the king's step.
    pub(super) fn mv(self, position: &Position) -> Option<Move> {
        let is_meant = |mv: &Move| bits(*mv) == self.bits || squares(*mv, mv.to()) == self.bits;
        position.legal_moves().into_iter().find(is_meant)
    }

    /// The squares of the move in UCI, legal or not.
    pub(super) fn uci(self) -> String {
        let square = |shift: u16| Square::new((self.bits >> shift & 63) as u8);
        let squares = square(6).into_iter().chain(square(0));
        let promotion = ["", "n", "b", "r", "q"].get(usize::from(self.bits >> 12));
        squares.map(|it| it.to_string()).collect::<String>() + promotion.unwrap_or(&"?")
    }
}

fn bits(mv: Move) -> u16 {
    let corner = mv.castling_side().map(CastlingSide::rook_file);
    let to = corner.map_or(mv.to(), |file| Square::from_coords(file, mv.to().rank()));
    squares(mv, to)
}

fn squares(mv: Move, to: Square) -> u16 {
    let promotion = match mv.promotion() {
        Some(Role::Knight) => 1,
        Some(Role::Bishop) => 2,
        Some(Role::Rook) => 3,
        Some(_) => 4,
        None => 0,
    };
    promotion << 12 | (mv.from().index() << 6 | to.index()) as u16
}

/// The key of a position.
pub(super) fn key(position: &Position) -> u64 {
    let mut key = Zobrist64::default();
    let rights = position.castling_rights();
    let colors = [
        (Color::White, shakmaty::Color::White),
        (Color::Black, shakmaty::Color::Black),
    ];
    let sides = [
        (CastlingSide::King, TheirSide::KingSide),
        (CastlingSide::Queen, TheirSide::QueenSide),
    ];
    for (color, their_color) in colors {
        for (role, their_role) in Role::ALL.into_iter().zip(shakmaty::Role::ALL) {
            for square in position.by_piece(color, role) {
                let square = shakmaty::Square::new(square.index() as u32);
                key ^= Zobrist64::zobrist_for_piece(square, their_role.of(their_color));
            }
        }
        for (side, their_side) in sides {
            if rights.has(color, side) {
                key ^= Zobrist64::zobrist_for_castling_right(their_color, their_side);
            }
        }
    }
    if let Some(square) = position.ep_square() {
        key ^= Zobrist64::zobrist_for_en_passant_file(File::new(u32::from(square.file())));
    }
    if position.turn() == Color::White {
        key ^= Zobrist64::zobrist_for_white_turn();
    }
    key.0
}

/// The key after a move by the rules of standard chess, if it is legal there.
pub(super) fn standard_key(position: &Position, mv: Move) -> Option<u64> {
    let fen: shakmaty::fen::Fen = position.fen().parse().ok()?;
    let standard: shakmaty::Chess = fen.into_position(shakmaty::CastlingMode::Standard).ok()?;
    let uci: shakmaty::uci::UciMove = mv.uci(UciStyle::Standard).to_string().parse().ok()?;
    let theirs = uci.to_move(&standard).ok()?;
    let after = standard.play(theirs).ok()?;
    Some(after.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0)
}
