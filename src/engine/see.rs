//! Blast exchange: what a move wins or loses at once.
//!
//! The capturing piece is removed, so there is no recapture and no swap list: a capture is one sum
//! over its blast; a quiet move is evaluated by the best capture it allows on its target square.
//! Pins and checks are ignored.

use super::params::{SEE_KING, SEE_VALUES};
use super::score::Value;
use crate::rules::{Bitboard, Color, Move, Position, Role, Square, king_attacks};

const QUEEN_TO_PAWN: [Role; 5] = [
    Role::Queen,
    Role::Rook,
    Role::Bishop,
    Role::Knight,
    Role::Pawn,
];

/// What a legal move wins (positive) or loses in the blasts it makes and allows, in centipawns.
#[inline]
pub(super) fn exchange(position: &Position, mv: Move) -> Value {
    if position.is_capture(mv) {
        capture(position, mv)
    } else {
        quiet(position, mv)
    }
}

/// The balance of a capture's blast: enemy pieces minus own pieces; an enemy king counts as a win.
#[inline]
fn capture(position: &Position, mv: Move) -> Value {
    let gone = position.blast(mv);
    if (gone & position.them()).intersects(position.by_role(Role::King)) {
        return SEE_KING;
    }
    worth(position, gone & position.them()) - worth(position, gone & position.us())
}

/// What `color` gains by exploding `target`, without the capturing piece.
#[inline]
pub(super) fn blast_balance(position: &Position, target: Square, color: Color) -> Value {
    let gone = (king_attacks(target) - position.by_role(Role::Pawn)) | target;
    worth(position, gone & position.by_color(!color))
        - worth(position, gone & position.by_color(color))
}

/// The sum of the values in a set, kings not counted.
#[inline]
fn worth(position: &Position, pieces: Bitboard) -> Value {
    QUEEN_TO_PAWN
        .iter()
        .map(|&role| (pieces & position.by_role(role)).count() as Value * SEE_VALUES[role.index()])
        .sum()
}

/// What the opponent gains by capturing the piece after a quiet move: never positive, except for
/// promotions, which add the value of the new piece.
pub(super) fn quiet(position: &Position, mv: Move) -> Value {
    let (from, to) = (mv.from(), mv.to());
    let Some(role) = position.role_at(from) else {
        return 0;
    };
    if role == Role::King {
        return 0;
    }
    let landed = SEE_VALUES[mv.promotion().unwrap_or(role).index()];
    let promoted = landed - SEE_VALUES[role.index()];
    promoted + exposure(position, from, to, landed).min(0)
}

/// Minus the opponent's best gain by capturing our piece of value `landed` on `to`, which came from
/// `from`; zero if the opponent cannot capture it.
fn exposure(position: &Position, from: Square, to: Square, landed: Value) -> Value {
    let (us, them) = (position.turn(), !position.turn());
    let kings = position.by_role(Role::King);
    let ring = king_attacks(to);
    let occupied = (position.occupied() - from) | to;
    let takers = position.attackers_to(to, occupied) & (position.by_color(them) - kings);
    if takers.is_empty() || touches(position, ring, them) {
        return 0;
    }
    if touches(position, ring, us) {
        return -SEE_KING;
    }
    let caught = ring - position.by_role(Role::Pawn);
    let ours = caught & (position.by_color(us) - from);
    let gain = landed + worth(position, ours) - worth(position, caught & position.by_color(them));
    cheapest(position, takers, caught) - gain
}

#[inline]
fn touches(position: &Position, ring: Bitboard, color: Color) -> bool {
    position.king(color).is_some_and(|king| ring.contains(king))
}

/// The cost of the cheapest capturing piece beyond what the blast removes anyway.
#[inline]
fn cheapest(position: &Position, takers: Bitboard, caught: Bitboard) -> Value {
    if takers.intersects(caught) {
        return 0;
    }
    QUEEN_TO_PAWN
        .iter()
        .rev()
        .find(|&&role| takers.intersects(position.by_role(role)))
        .map_or(0, |&role| SEE_VALUES[role.index()])
}

#[cfg(test)]
mod tests;
