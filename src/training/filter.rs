//! Selects the positions of a game for training.
//!
//! These are the positions that the search evaluates: no check, no king that can explode at once, a quiet
//! best move, and no mate score. The search resolves explosions.

use super::record::{GameRecord, NO_SCORE, RecordedPly};
use crate::rules::Position;

/// The greatest useful score, in centipawns: a greater one counts as this in a label.
const MOST: i16 = 2500;
/// The score that stands for an expected result of 1 / (1 + 1/e), to average scores.
const SCORE_SCALE: f64 = 325.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filter {
    /// The greatest score of either side, in centipawns.
    pub most: i16,
    /// The first usable ply, from 0.
    pub from_ply: usize,
    /// The weight of each later score of the game against the one before it, from 0 to below 1; with 0
    /// a position keeps the score of its own search.
    ///
    /// A search of few nodes reacts too little: in games of 700 nodes a move the scores of the next plies
    /// go on in the direction of the last change, so their mean is nearer to the truth.
    pub look_ahead: f64,
}

#[derive(Clone, Copy, Debug)]
pub struct Usable {
    pub position: Position,
    /// The score of the search, in centipawns from White's side.
    pub score: i16,
    /// What a net should say: the score, averaged with the later ones of the game.
    pub label: i16,
    /// Its ply in the game, from 0.
    pub ply: usize,
}

impl Default for Filter {
    fn default() -> Filter {
        Filter {
            most: MOST,
            from_ply: 0,
            look_ahead: 0.0,
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
        let labels = self.labels(&game.plies);
        let (mut usable, mut number) = (Vec::new(), 0);
        game.replay(|position, ply| {
            if number >= self.from_ply && self.admits(position, ply) {
                usable.push(Usable {
                    position: *position,
                    score: ply.score,
                    label: labels[number],
                    ply: number,
                });
            }
            number += 1;
        })?;
        Ok(usable)
    }

    /// For every ply the mean of its expected result and the later ones, as a score: the weights fall by
    /// `look_ahead` from ply to ply. The mean ends with the game, or before a ply without a score.
    fn labels(&self, plies: &[RecordedPly]) -> Vec<i16> {
        let mut labels: Vec<i16> = plies.iter().map(|ply| ply.score).collect();
        if self.look_ahead <= 0.0 {
            return labels;
        }
        let (mut sum, mut weight) = (0.0, 0.0);
        for label in labels.iter_mut().rev() {
            if *label == NO_SCORE {
                (sum, weight) = (0.0, 0.0);
                continue;
            }
            let score = f64::from((*label).clamp(-MOST, MOST));
            let expected = 1.0 / (1.0 + (-score / SCORE_SCALE).exp());
            sum = sum * self.look_ahead + expected;
            weight = weight * self.look_ahead + 1.0;
            let mean: f64 = sum / weight;
            *label = (SCORE_SCALE * (mean / (1.0 - mean)).ln()).round() as i16;
        }
        labels
    }

    fn admits(&self, position: &Position, ply: RecordedPly) -> bool {
        ply.score != NO_SCORE
            && ply.score.saturating_abs() <= self.most
            && !position.is_capture(ply.mv)
            && ply.mv.promotion().is_none()
            && !position.in_check()
            && !position.can_explode()
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
        let record = GameRecord::new(&Position::default(), plies.collect(), GameResult::Won);
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
    fn a_label_is_the_mean_of_the_scores_from_its_ply_on() {
        let game = Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5").expect("legal moves");
        let scores = [NO_SCORE, 0, 325, 31_999];
        let plies = game.moves().iter().zip(scores);
        let plies: Vec<_> = plies
            .map(|(&mv, score)| RecordedPly { mv, score })
            .collect();
        let labels = |look_ahead, most| {
            let filter = Filter {
                most,
                look_ahead,
                ..Filter::default()
            };
            filter.labels(&plies)
        };
        assert_eq!(labels(0.0, MOST), scores);
        // A won game counts like the greatest useful score; 0.5, 0.731 and 1.0 are the expected results.
        let expected = [0.5, 0.731_059, 0.999_544];
        let by_hand = [
            (expected[0] + 0.5 * expected[1] + 0.25 * expected[2]) / 1.75,
            (expected[1] + 0.5 * expected[2]) / 1.5,
        ];
        let by_hand = by_hand.map(|mean: f64| (325.0 * (mean / (1.0 - mean)).ln()).round() as i16);
        // Which positions are used does not change what they are worth.
        for most in [MOST, 400] {
            assert_eq!(labels(0.5, most), [NO_SCORE, by_hand[0], by_hand[1], 2500]);
        }
    }

    #[test]
    fn scores_beyond_the_limit_and_unjudged_moves_are_left_out() {
        assert!(used("e2e4 e7e5", 2501).is_empty());
        assert!(used("e2e4 e7e5", -2501).is_empty());
        assert!(used("e2e4 e7e5", NO_SCORE).is_empty());
        assert_eq!(used("e2e4 e7e5", -2500), [0, 1]);
    }
}
