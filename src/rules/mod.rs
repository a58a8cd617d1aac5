//! Atomic chess as Lichess plays it: positions, explosions, outcomes, notation.
//!
//! A chess library that could stand alone: no clock, no thread, no I/O, and no input makes it panic.
//!
//! The rules in brief: a capture removes the captured piece, the capturing piece and every non-pawn on
//! the eight squares around the destination. Exploding the enemy king wins; a capture that would explode
//! one's own king is illegal, so kings never capture. Kings may touch, and while they do, neither is in
//! check.

mod attacks;
mod bitboard;
mod castling;
mod check;
mod color;
mod fen;
mod game;
mod generate;
mod legality;
mod magics;
mod make;
mod material;
mod moves;
mod outcome;
mod perft;
mod piece;
mod position;
mod quiet_attacks;
mod san;
mod soundness;
mod square;
mod threats;
mod uci;
mod zobrist;

pub use attacks::{
    between, bishop_attacks, king_attacks, knight_attacks, line, pawn_attacks, queen_attacks,
    role_attacks, rook_attacks,
};
pub use bitboard::Bitboard;
pub use castling::{CastlingRights, CastlingSide};
pub use color::{ByColor, Color};
pub use fen::{FenError, FenField};
pub use game::{Game, GameError, RepetitionRule};
pub use moves::{Move, MoveList, UciStyle};
pub use outcome::{Draw, Outcome, Win};
pub use piece::{Piece, Role};
pub use position::Position;
pub use quiet_attacks::QuietAttacks;
pub use san::SanError;
pub use square::Square;
pub use uci::UciError;
