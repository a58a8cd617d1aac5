//! Scores: centipawns or a mate, and the search's internal integers.
//!
//! The search uses [`Value`]s, where a mate is worth `MATE` minus one per ply until it. All other
//! code sees only [`Score`].

use std::fmt;

/// The search's own measure: centipawns, or a distance to mate near ±[`MATE`].
pub(super) type Value = i32;

/// Larger than any score.
pub(super) const INFINITE: Value = 32_500;
/// The value of having mated already.
pub(super) const MATE: Value = 32_000;
/// The maximum ply of the search.
pub(super) const MAX_PLY: usize = 128;
/// Values from here on are a mate: within [`MAX_PLY`] plies of a node that is as far from the root at most.
pub(super) const MATE_BOUND: Value = MATE - 2 * MAX_PLY as Value;
/// A win that endgame tables prove, at the root: above every evaluation, below every mate.
pub(super) const TABLE_WIN: Value = 30_000;
/// From here to [`TABLE_WIN`] a value is a position won by tables, as far away as a mate at most.
pub(super) const TABLE_BOUND: Value = TABLE_WIN - 2 * MAX_PLY as Value;
pub(super) const DRAW: Value = 0;
/// "No value known", fits the sixteen bits of the table.
pub(super) const NO_VALUE: Value = 32_700;

/// Mated by force `ply` plies from the root.
#[inline]
pub(super) const fn mated_in(ply: usize) -> Value {
    ply as Value - MATE
}

/// Mates by force `ply` plies from the root.
#[inline]
pub(super) const fn mate_in(ply: usize) -> Value {
    MATE - ply as Value
}

/// Reaches a position won by tables `ply` plies from the root.
#[inline]
pub(super) const fn table_win_in(ply: usize) -> Value {
    TABLE_WIN - ply as Value
}

/// A win or a loss by tables.
#[inline]
pub(super) const fn is_by_tables(value: Value) -> bool {
    value.abs() >= TABLE_BOUND && value.abs() <= TABLE_WIN
}

/// A proved mate for either side, or a win of either by tables.
#[inline]
pub(super) const fn is_decisive(value: Value) -> bool {
    value.abs() >= MATE_BOUND || is_by_tables(value)
}

/// A proved loss, by mate or by tables.
#[inline]
pub(super) const fn is_lost(value: Value) -> bool {
    value < 0 && is_decisive(value)
}

/// The score of a position for the side to move. Archives hold it in the words of its JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Score {
    /// Hundredths of a pawn; about ±30,000 if endgame tables know the winner.
    Cp(i32),
    /// The game is decided in this many moves of the side to move: positive, it wins (by mate or by
    /// exploding the king); zero or negative, it loses.
    Mate(i32),
}

impl Default for Score {
    fn default() -> Score {
        Score::Cp(0)
    }
}

impl Score {
    /// The score that [`Score::centipawns`] gives as this number.
    pub const fn from_value(value: i32) -> Score {
        if value >= MATE_BOUND {
            Score::Mate((MATE - value + 1) / 2)
        } else if value <= -MATE_BOUND {
            Score::Mate(-(MATE + value) / 2)
        } else {
            Score::Cp(value)
        }
    }

    /// One number for comparisons: centipawns, a mate being worth about ±32,000. A score from a file
    /// may have any number of moves.
    pub const fn centipawns(self) -> i32 {
        match self {
            Score::Cp(cp) => cp,
            Score::Mate(moves) if moves > 0 => MATE + 1 - moves.saturating_mul(2),
            Score::Mate(moves) => -MATE - moves.saturating_mul(2),
        }
    }

    /// Whether the side to move wins by force.
    pub const fn is_win(self) -> bool {
        matches!(self, Score::Mate(moves) if moves > 0)
    }

    /// Whether the side to move loses by force.
    pub const fn is_loss(self) -> bool {
        matches!(self, Score::Mate(moves) if moves <= 0)
    }
}

impl fmt::Display for Score {
    /// As UCI writes it: `cp 35`, `mate -2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Score::Cp(cp) => write!(f, "cp {cp}"),
            Score::Mate(moves) => write!(f, "mate {moves}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mate_is_counted_in_moves_of_the_side_to_move() {
        assert_eq!(Score::from_value(mate_in(1)), Score::Mate(1));
        assert_eq!(Score::from_value(mate_in(3)), Score::Mate(2));
        assert_eq!(Score::from_value(mated_in(0)), Score::Mate(0));
        assert_eq!(Score::from_value(mated_in(2)), Score::Mate(-1));
        assert_eq!(Score::from_value(mated_in(4)), Score::Mate(-2));
        assert_eq!(Score::from_value(-35), Score::Cp(-35));
    }

    #[test]
    fn centipawns_keep_the_order_of_values() {
        let values = [
            mated_in(0),
            mated_in(2),
            -900,
            0,
            35,
            mate_in(5),
            mate_in(1),
        ];
        for value in values {
            assert_eq!(Score::from_value(value).centipawns(), value);
        }
        let longest = [i32::MIN, i32::MAX].map(|moves| Score::Mate(moves).centipawns());
        assert_ne!(longest[0], longest[1], "without an overflow");
        assert!(Score::Mate(0).is_loss() && !Score::Mate(0).is_win() && Score::Mate(1).is_win());
    }
}
