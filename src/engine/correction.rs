//! Correction history: how far the static evaluation of similar positions was off.
//!
//! Four tables, each indexed by one part of the board: the pawns, the pieces of either side, and
//! the surroundings of both kings, which decide most atomic games. An entry moves towards the
//! difference between the search result and the evaluation. Each new game clears them, except in
//! helper threads.

use super::params;
use super::score::Value;
use super::tunables;
use crate::rules::{Color, Position, Role, king_attacks};

/// Parts of the board.
const VIEWS: usize = 4;
/// Entries per part and side to move.
const ENTRIES: usize = 1 << 14;
/// Spreads bits over the whole word; any odd number with its bits well mixed.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// The corrections of one search thread.
#[derive(Debug)]
pub(super) struct Corrections(Vec<i16>);

impl Corrections {
    pub(super) fn new() -> Corrections {
        Corrections(vec![0; VIEWS * 2 * ENTRIES])
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// The correction of the static evaluation, in centipawns.
    #[inline]
    pub(super) fn of(&self, position: &Position) -> Value {
        let known = places(position).map(|place| Value::from(self.0[place]));
        known.iter().sum::<Value>() / tunables::correction_divisor()
    }

    /// Records that a search to this depth found `difference` more than the evaluation.
    pub(super) fn learn(&mut self, position: &Position, difference: Value, depth: i32) {
        let most = params::CORRECTION_MOST;
        let bonus = (difference * depth / params::CORRECTION_DEPTH).clamp(-most / 4, most / 4);
        for place in places(position) {
            let old = Value::from(self.0[place]);
            self.0[place] = (old + bonus - old * bonus.abs() / most) as i16;
        }
    }
}

/// The table indices of a position, one per part.
#[inline]
fn places(position: &Position) -> [usize; VIEWS] {
    let kings =
        surroundings(position, Color::White) ^ surroundings(position, Color::Black).rotate_left(9);
    let views = [
        position.pawn_key(),
        position.pieces_key(Color::White),
        position.pieces_key(Color::Black),
        kings,
    ];
    let side = position.turn().index();
    std::array::from_fn(|view| (view * 2 + side) * ENTRIES + views[view] as usize % ENTRIES)
}

/// A key of a king's square and of the pieces beside it: colour, and whether a pawn. A coarse one:
/// similar surroundings share entries, which plays no worse than a key without collisions
/// (`docs/search.md`, 3.17).
#[inline]
fn surroundings(position: &Position, color: Color) -> u64 {
    position.king(color).map_or(0, |king| {
        let beside = king_attacks(king);
        let pieces = (beside & position.occupied()).0;
        let own = (beside & position.by_color(color)).0.rotate_left(17);
        let pawns = (beside & position.by_role(Role::Pawn)).0.rotate_left(41);
        (pieces ^ own ^ pawns)
            .wrapping_add(king.index() as u64)
            .wrapping_mul(SPREAD)
            >> 20
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correction_approaches_its_limit_and_belongs_to_its_position() {
        let (start, mut corrections) = (Position::start(), Corrections::new());
        let other = start.play(start.parse_uci("e2e4").expect("legal"));
        for _ in 0..500 {
            corrections.learn(&start, 300, 8);
        }
        let most = params::CORRECTION_MOST * VIEWS as Value / tunables::correction_divisor();
        let learnt = corrections.of(&start);
        assert!(
            learnt <= most && learnt > most * 3 / 4,
            "{learnt} of {most}"
        );
        assert_eq!(corrections.of(&other), 0);
        for _ in 0..500 {
            corrections.learn(&start, -300, 8);
        }
        assert!(corrections.of(&start) < -most * 3 / 4);
        corrections.clear();
        assert_eq!(corrections.of(&start), 0);
    }
}
