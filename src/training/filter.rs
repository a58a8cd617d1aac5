//! Selects the positions of a game for training.
//!
//! These are the positions that the search evaluates: no check, no king that can explode at once, a quiet
//! best move, and no mate score. The search resolves explosions.

use super::record::{GameRecord, NO_SCORE, RecordedPly};
use crate::rules::Position;

/// The greatest useful score, in centipawns.
const MOST: i16 = 2500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The greatest score of either side, in centipawns.
    pub most: i16,
    /// The first usable ply, from 0.
    pub from_ply: usize,
}

#[derive(Clone, Copy, Debug)]
pub struct Usable {
    pub position: Position,
    /// The score of the search, in centipawns from White's side.
    pub score: i16,
    /// Its ply in the game, from 0.
    pub ply: usize,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter {
            most: MOST,
            from_ply: 0,
        }
    }
}

impl Filter {
    /// The usable positions of a game.
    ///
    /// # Errors
    ///
    /// The number of the first illegal move, from 1.
    pub fn usable(&self, game: &GameRecord) -> Result<Vec<Usable>, usize> {
        let (mut usable, mut number) = (Vec::new(), 0);
        game.replay(|position, ply| {
            if number >= self.from_ply && self.admits(position, ply) {
                usable.push(Usable {
                    position: *position,
                    score: ply.score,
                    ply: number,
                });
            }
            number += 1;
        })?;
        Ok(usable)
    }

    fn admits(&self, position: &Position, ply: RecordedPly) -> bool {
        let attacked = position.attacks_by(position.turn(), position.occupied());
        ply.score != NO_SCORE
            && ply.score.saturating_abs() <= self.most
            && !position.is_capture(ply.mv)
            && ply.mv.promotion().is_none()
            && !position.in_check()
            && !position.can_explode_with(attacked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::GameResult;
    use super::*;
    use crate::rules::Game;

    /// The plies that are used of a line in which every move has this score.
    fn used(line: &str, score: i16) -> Vec<usize> {
        let game = Game::from_uci_moves(line).expect("legal moves");
        let plies = game.moves().iter().map(|&mv| RecordedPly { mv, score });
        let record = GameRecord {
            plies: plies.collect(),
            result: GameResult::Won,
        };
        let usable = Filter::default().usable(&record).expect("legal moves");
        usable.iter().map(|usable| usable.ply).collect()
    }

    #[test]
    fn positions_in_check_or_before_a_capture_are_left_out() {
        // Ply 2 is a capture, at ply 3 the queen could blow the king up on d2, ply 5 answers a check.
        let line = "e2e4 d7d5 e4d5 g8f6 f1b5 c7c6 b5a4";
        assert_eq!(used(line, 10), [0, 1, 4, 6]);
    }

    #[test]
    fn positions_with_a_king_explosion_are_left_out() {
        // The knight on g5 could take f7 and blow up the king.
        assert_eq!(used("g1f3 a7a6 f3g5 a6a5 h2h3", 10), [0, 1, 2, 3]);
    }

    #[test]
    fn scores_beyond_the_limit_and_unjudged_moves_are_left_out() {
        assert!(used("e2e4 e7e5", 2501).is_empty());
        assert!(used("e2e4 e7e5", -2501).is_empty());
        assert!(used("e2e4 e7e5", NO_SCORE).is_empty());
        assert_eq!(used("e2e4 e7e5", -2500), [0, 1]);
    }
}
