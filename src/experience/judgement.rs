//! What a drop of the score says about a move: one scale for the bot's own scores, for reviews and for the
//! analysis on the practice page. Pure.

use serde::Serialize;

/// At or above this, in centipawns, a game is not lost yet.
pub const HOLDS: i32 = -100;
/// A smaller drop of the score, in centipawns, is no mistake.
pub const FALL: i32 = 150;
/// Scores beyond this count alike, in centipawns.
pub(super) const DECIDED: i32 = 1000;
/// Beyond this a score, in centipawns, is as good as won or lost: no further drop has a name.
const CLEAR: i32 = 600;

/// By how many centipawns the score of the side to move falls with its move; both scores are its own.
pub fn drop_of(before: i32, after: i32) -> i32 {
    capped(before) - capped(after)
}

fn capped(score: i32) -> i32 {
    score.clamp(-DECIDED, DECIDED)
}

/// How bad a move is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Inaccuracy,
    Mistake,
    Blunder,
}

impl Severity {
    /// The severity of a move by the scores of its side before and after it, in centipawns.
    pub fn of(before: i32, after: i32) -> Option<Self> {
        let clear = |score: i32| score.clamp(-CLEAR, CLEAR);
        match clear(before) - clear(after) {
            ..75 => None,
            75..FALL => Some(Self::Inaccuracy),
            FALL..300 => Some(Self::Mistake),
            300.. => Some(Self::Blunder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_is_named_by_what_it_gives_away() {
        let named = |before, after| Severity::of(before, after);
        assert_eq!(named(20, -54), None);
        assert_eq!(named(20, -55), Some(Severity::Inaccuracy));
        assert_eq!(named(20, -130), Some(Severity::Mistake));
        assert_eq!(named(20, -280), Some(Severity::Blunder));
        assert_eq!(named(20, 400), None, "a better move than the search saw");
    }

    #[test]
    fn what_was_decided_before_and_stays_so_has_no_name() {
        assert_eq!(Severity::of(31_990, 700), None);
        assert_eq!(Severity::of(-650, -32_000), None);
        assert_eq!(Severity::of(31_990, -32_000), Some(Severity::Blunder));
        assert_eq!(drop_of(31_990, -32_000), 2 * DECIDED);
    }
}
