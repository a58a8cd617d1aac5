//! Move histories: how often a move caused a cutoff, by square, by piece and by the moves before.
//!
//! Entries move towards their bonus with gravity and stay within ±`HISTORY_MOST`. The tables start
//! zeroed and use memory only where something was recorded.

use super::params;
use super::tunables;
use crate::rules::{Bitboard, Color, Move, Piece, Position, Role};

/// A piece on a square: an index of the continuation tables.
pub(super) type PieceSquare = usize;

const PIECES: usize = 12;
const SQUARES: usize = 64;
/// Every piece on every square, and one for "no move before".
const CONTEXTS: usize = PIECES * SQUARES + 1;
/// The context after a null move or before the root.
pub(super) const NO_CONTEXT: PieceSquare = PIECES * SQUARES;
const BUTTERFLY: usize = 2 * 4 * SQUARES * SQUARES;
/// Victims by role; the last is a quiet promotion.
const VICTIMS: usize = 7;

/// All histories of one search thread.
#[derive(Debug)]
pub(super) struct Histories {
    quiet: Vec<i16>,
    continuation: Vec<i16>,
    capture: Vec<i16>,
    is_fresh: bool,
}

/// The piece on its target square, determined before the move is made.
#[inline]
pub(super) fn piece_on_square(position: &Position, mv: Move) -> PieceSquare {
    position.piece_at(mv.from()).map_or(NO_CONTEXT, |piece| {
        piece_index(piece) * SQUARES + mv.to().index()
    })
}

#[inline]
fn piece_index(piece: Piece) -> usize {
    piece.color.index() * 6 + piece.role.index()
}

/// What determines the quiet histories that a move reads and writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    pub(super) turn: Color,
    /// Squares the opponent's pieces attack.
    pub(super) attacked: Bitboard,
    /// The moves one and two plies before.
    pub(super) before: [PieceSquare; 2],
}

impl Histories {
    pub(super) fn new() -> Histories {
        Histories {
            quiet: vec![0; BUTTERFLY],
            continuation: vec![0; CONTEXTS * PIECES * SQUARES],
            capture: vec![0; PIECES * SQUARES * VICTIMS],
            is_fresh: true,
        }
    }

    pub(super) fn clear(&mut self) {
        if !self.is_fresh {
            self.quiet.fill(0);
            self.continuation.fill(0);
            self.capture.fill(0);
            self.is_fresh = true;
        }
    }

    #[inline]
    pub(super) fn quiet(&self, position: &Position, context: &Context, mv: Move) -> i32 {
        let piece = position.piece_at(mv.from());
        piece.map_or(0, |piece| self.quiet_of(piece, context, mv))
    }

    /// As `quiet`, of a move of this piece.
    #[inline]
    pub(super) fn quiet_of(&self, piece: Piece, context: &Context, mv: Move) -> i32 {
        let index = piece_index(piece) * SQUARES + mv.to().index();
        let [one, two] = context
            .before
            .map(|before| before * PIECES * SQUARES + index);
        i32::from(self.quiet[butterfly(context, mv)])
            + i32::from(self.continuation[one])
            + i32::from(self.continuation[two])
    }

    #[inline]
    pub(super) fn capture(&self, position: &Position, mv: Move) -> i32 {
        capture_index(position, mv).map_or(0, |index| i32::from(self.capture[index]))
    }

    pub(super) fn reward_quiet(
        &mut self,
        position: &Position,
        context: &Context,
        mv: Move,
        bonus: i32,
    ) {
        self.is_fresh = false;
        let index = piece_on_square(position, mv);
        if index == NO_CONTEXT {
            return;
        }
        apply(&mut self.quiet[butterfly(context, mv)], bonus);
        for before in context.before {
            if before != NO_CONTEXT {
                apply(
                    &mut self.continuation[before * PIECES * SQUARES + index],
                    bonus,
                );
            }
        }
    }

    pub(super) fn reward_capture(&mut self, position: &Position, mv: Move, bonus: i32) {
        self.is_fresh = false;
        if let Some(index) = capture_index(position, mv) {
            apply(&mut self.capture[index], bonus);
        }
    }
}

#[inline]
fn butterfly(context: &Context, mv: Move) -> usize {
    let (from, to) = (mv.from(), mv.to());
    let danger = usize::from(context.attacked.contains(from)) * 2
        + usize::from(context.attacked.contains(to));
    ((context.turn.index() * 4 + danger) * SQUARES + from.index()) * SQUARES + to.index()
}

#[inline]
fn capture_index(position: &Position, mv: Move) -> Option<usize> {
    let victim = if mv.is_en_passant() {
        Role::Pawn.index()
    } else {
        position.role_at(mv.to()).map_or(VICTIMS - 1, Role::index)
    };
    let piece = position.piece_at(mv.from())?;
    Some((piece_index(piece) * SQUARES + mv.to().index()) * VICTIMS + victim)
}

/// The bonus for a cutoff at this depth.
pub(super) fn bonus(depth: i32) -> i32 {
    (tunables::bonus_slope() * depth - tunables::bonus_offset()).min(tunables::bonus_most())
}

/// Moves an entry towards the bonus, by less the nearer it is to its limit.
#[inline]
fn apply(entry: &mut i16, bonus: i32) {
    let old = i32::from(*entry);
    *entry = (old + bonus - old * bonus.abs() / params::HISTORY_MOST) as i16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_approaches_its_limit_and_never_passes_it() {
        let mut entry = 0;
        for _ in 0..1000 {
            apply(&mut entry, tunables::bonus_most());
        }
        assert!(i32::from(entry) <= params::HISTORY_MOST && i32::from(entry) > 7000);
        for _ in 0..1000 {
            apply(&mut entry, -tunables::bonus_most());
        }
        assert!(i32::from(entry) >= -params::HISTORY_MOST && i32::from(entry) < -7000);
    }

    #[test]
    fn a_rewarded_quiet_is_preferred_in_its_own_context_only() {
        let position = Position::default();
        let mv = position.parse_uci("g1f3").unwrap();
        let context = Context {
            turn: Color::White,
            attacked: Bitboard::EMPTY,
            before: [5, NO_CONTEXT],
        };
        let mut histories = Histories::new();
        histories.reward_quiet(&position, &context, mv, 500);
        let elsewhere = Context {
            before: [6, NO_CONTEXT],
            ..context
        };
        let there = histories.quiet(&position, &context, mv);
        assert!(there > histories.quiet(&position, &elsewhere, mv));
        assert!(histories.quiet(&position, &elsewhere, mv) > 0);
        histories.clear();
        assert_eq!(histories.quiet(&position, &context, mv), 0);
    }
}
