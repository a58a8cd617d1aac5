//! A legal move without a search, for when the engine has none in time.
//!
//! Sound rather than good: it wins at once if possible, avoids losing at once if possible, and is
//! always legal. Looking two plies ahead takes a few microseconds.

use crate::rules::{Move, Position};

/// A legal move outside `barred`, or a barred one if there is no other. None if there is no legal
/// move at all.
pub fn fallback_move(position: &Position, barred: &[Move]) -> Option<Move> {
    let legal = position.legal_moves();
    let allowed = || legal.iter().copied().filter(|mv| !barred.contains(mv));
    allowed()
        .find(|&mv| wins(position, mv))
        .or_else(|| allowed().find(|&mv| is_quiet_and_safe(position, mv)))
        .or_else(|| allowed().find(|&mv| !position.play(mv).can_explode()))
        .or_else(|| allowed().next())
        .or_else(|| legal.first().copied())
}

fn wins(position: &Position, mv: Move) -> bool {
    position.explodes_king(mv)
}

/// Whether it leaves the opponent no explosion and loses nothing by capturing.
fn is_quiet_and_safe(position: &Position, mv: Move) -> bool {
    let after = position.play(mv);
    !position.is_capture(mv)
        && !after.can_explode()
        && after.outcome().is_none()
        && !after
            .legal_moves()
            .iter()
            .any(|&reply| after.is_capture(reply) && after.blast(reply).count() >= 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_win_is_taken() {
        let position = Position::from_fen("4k3/3r4/8/8/8/8/8/3QK3 w - - 0 1").unwrap();
        assert_eq!(fallback_move(&position, &[]).unwrap().to_string(), "d1d7");
    }

    #[test]
    fn barred_moves_are_the_last_resort() {
        let position = Position::default();
        let legal = position.legal_moves();
        let barred = &legal[..legal.len() - 1];
        assert_eq!(fallback_move(&position, barred), legal.last().copied());
        assert!(fallback_move(&position, &legal).is_some());
    }

    #[test]
    fn there_is_no_fallback_without_a_king() {
        let position = Position::from_fen("8/8/8/8/8/8/8/3QK3 w - - 0 1");
        assert!(position.is_ok_and(|position| fallback_move(&position, &[]).is_none()));
    }
}
