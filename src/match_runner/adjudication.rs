//! Adjudication: ends a game once the scores of both players have agreed for long enough. (The built-in
//! endgame tables end one without them: see `referee`.)
//!
//! This saves the time of decided games. Scores of a foreign program may mean something else, so against
//! one it is off by default. Pure.

use crate::rules::Color::{self, Black, White};

/// The winning score in centipawns, which both players must report ...
const WON: i32 = 1500;
/// ... for this many consecutive half-moves.
const WON_PLIES: u32 = 4;
/// The drawing score in centipawns, either way ...
const LEVEL: i32 = 8;
/// ... for this many consecutive half-moves.
const LEVEL_PLIES: u32 = 12;
/// ... of which the last comes after this many half-moves of the game.
const LEVEL_FROM: usize = 80;

/// A game ended by agreement of the scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    Won(Color),
    Drawn,
}

/// The agreement of the last scores of a game.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Adjudicator {
    winning: Option<Color>,
    won_for: u32,
    level_for: u32,
}

impl Adjudicator {
    /// Records the score of the half-move `plies`, from White's side.
    pub(super) fn hear(&mut self, score: Option<i32>, plies: usize) -> Option<Ruling> {
        let Some(score) = score else {
            *self = Self::default();
            return None;
        };
        let winning = (score.abs() >= WON).then_some(if score > 0 { White } else { Black });
        self.won_for = match winning {
            Some(_) if winning == self.winning => self.won_for + 1,
            Some(_) => 1,
            None => 0,
        };
        self.winning = winning;
        self.level_for = (self.level_for + 1) * u32::from(score.abs() <= LEVEL);
        match winning {
            Some(color) if self.won_for >= WON_PLIES => Some(Ruling::Won(color)),
            _ if self.level_for >= LEVEL_PLIES && plies > LEVEL_FROM => Some(Ruling::Drawn),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The half-move, from 1, at which a game with these scores ends, and how.
    fn ruling(scores: impl IntoIterator<Item = Option<i32>>) -> Option<(usize, Ruling)> {
        let mut adjudicator = Adjudicator::default();
        let scores = scores.into_iter().enumerate();
        let mut rulings =
            scores.map(|(index, score)| (index + 1, adjudicator.hear(score, index + 1)));
        rulings.find_map(|(ply, ruling)| Some((ply, ruling?)))
    }

    #[test]
    fn a_win_needs_four_scores_in_a_row_for_one_side() {
        let scores = |list: &[i32]| list.iter().copied().map(Some).collect::<Vec<_>>();
        let won = scores(&[10, 1500, 1600, 31_000, 1500]);
        assert_eq!(ruling(won), Some((5, Ruling::Won(Color::White))));
        let lost = scores(&[-1500, -1500, -1499, -1500, -1500, -1500, -9000]);
        assert_eq!(ruling(lost), Some((7, Ruling::Won(Color::Black))));
        let disputed = scores(&[1500, -1500, 1500, -1500, 1500, -1500, 1500]);
        assert_eq!(ruling(disputed), None);
        let untold = [Some(1500), Some(1500), None, Some(1500), Some(1500)];
        assert_eq!(ruling(untold), None);
    }

    #[test]
    fn a_draw_needs_a_long_game_that_has_been_level() {
        let level = |from: usize, count: usize| {
            (0..200).map(move |ply| {
                Some(if (from..from + count).contains(&ply) {
                    8
                } else {
                    9
                })
            })
        };
        assert_eq!(ruling(level(0, 200)), Some((81, Ruling::Drawn)));
        assert_eq!(ruling(level(100, 12)), Some((112, Ruling::Drawn)));
        assert_eq!(ruling(level(100, 11)), None);
        assert_eq!(ruling(level(60, 20)), None);
    }
}
