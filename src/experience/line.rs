//! One game as a line: its moves, the result, and the move that cost it, where one did.
//!
//! The judgement follows the bot's own scores; a review replaces it. Judges nothing without a score.

use strum::{EnumString, IntoStaticStr};

use super::judgement::{DECIDED, FALL, HOLDS};
use crate::rules::{Color, Game};

/// The first plies of a line, which are compared with later games.
pub const WINDOW: usize = 24;
/// The last ply at which a mistake is remembered.
const LATEST: usize = 240;
/// A drop may take this many of the bot's moves to show.
const SHOWS_WITHIN: usize = 3;

/// The result of a line for the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum LineResult {
    Win,
    Draw,
    Loss,
    /// Lost on the clock, with no move to blame.
    Time,
}

impl LineResult {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The move that cost a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMistake {
    /// Plies before it.
    pub ply: usize,
    /// What the game was worth for the bot after it, in centipawns.
    pub value: i32,
    /// A better move in UCI, if known.
    pub better: Option<String>,
    /// Whether a review found it, not only the scores during the game.
    pub reviewed: bool,
}

/// The line of one game of the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedLine {
    /// The server's id of the game.
    pub game: String,
    /// The opponent's account; `None` for anonymous players and the server's engine.
    pub opponent: Option<String>,
    /// The bot's colour.
    pub color: Color,
    pub result: LineResult,
    /// The first moves in UCI, separated by blanks: [`WINDOW`] plies, or up to the mistake.
    pub moves: String,
    pub mistake: Option<LineMistake>,
    /// When the game began, in milliseconds since 1970.
    pub at: u64,
}

impl PlayedLine {
    /// Cuts the moves down to what is compared, and drops a mistake that cannot be one.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        let plies = self.moves.split_ascii_whitespace().count();
        self.mistake = self
            .mistake
            .filter(|it| it.ply < plies.min(LATEST) && is_turn(it.ply, self.color));
        let kept = self.mistake.as_ref().map_or(0, |it| it.ply + 1);
        let kept = self.moves.split_ascii_whitespace().take(kept.max(WINDOW));
        self.moves = kept.collect::<Vec<_>>().join(" ");
        self
    }

    /// The line on a board; `None` if it cannot be replayed.
    pub fn replay(&self) -> Option<Game> {
        Game::from_uci_moves(&self.moves).ok()
    }

    /// Its first plies, as far as lines are compared.
    pub(super) fn opening(&self) -> impl Iterator<Item = &str> {
        self.moves.split_ascii_whitespace().take(WINDOW)
    }

    /// Whether this opponent played it.
    pub fn is_against(&self, opponent: Option<&str>) -> bool {
        opponent.is_some() && self.opponent.as_deref() == opponent
    }
}

/// Whether this side makes the move after `ply` others.
pub(super) fn is_turn(ply: usize, color: Color) -> bool {
    ply.is_multiple_of(2) == (color == Color::White)
}

/// A move of the bot, as far as the judgement needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnMove {
    /// Plies before it.
    pub ply: usize,
    /// The score of its search in centipawns, if it was searched.
    pub score: Option<i32>,
    /// Whether another move was legal.
    pub had_choice: bool,
}

/// The move of a lost game after which it no longer held, by the bot's own scores. `decided`: the
/// game was lost on the board.
pub fn blame(moves: &[OwnMove], decided: bool) -> Option<LineMistake> {
    // What a forced move brings was chosen before it.
    let chosen = moves.iter().copied().filter(|made| made.had_choice);
    let moves: Vec<OwnMove> = chosen.collect();
    if moves.iter().all(|made| made.score.is_none()) {
        return None;
    }
    // A move without a search is worth what the one before was.
    let mut known = 0;
    let mut values: Vec<i32> = moves
        .iter()
        .map(|made| {
            known = made
                .score
                .map_or(known, |score| score.clamp(-DECIDED, DECIDED));
            known
        })
        .collect();
    values.push(if decided { -DECIDED } else { known });
    let after = |place: usize| {
        let shown = values[place + 1..].iter().take(SHOWS_WITHIN);
        shown.copied().min().unwrap_or(known)
    };
    let held = |place: &usize| {
        let falls = values[*place] - after(*place) >= FALL;
        falls && values[*place] >= HOLDS && values[*place + 1] < HOLDS
    };
    // Lost from the start: the greatest drop.
    let drop = |place: usize| values[place] - values[place + 1];
    let greatest = || {
        let places = (0..moves.len()).filter(|&place| drop(place) >= FALL);
        places.max_by_key(|&place| drop(place))
    };
    let place = (0..moves.len()).rfind(held).or_else(greatest)?;
    Some(LineMistake {
        ply: moves[place].ply,
        value: after(place),
        better: None,
        reviewed: false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn own(scores: &[Option<i32>]) -> Vec<OwnMove> {
        let moves = scores.iter().enumerate().map(|(index, &score)| OwnMove {
            ply: 2 * index,
            score,
            had_choice: true,
        });
        moves.collect()
    }

    fn blamed(scores: &[Option<i32>], decided: bool) -> Option<(usize, i32)> {
        blame(&own(scores), decided).map(|it| (it.ply, it.value))
    }

    #[test]
    fn the_last_move_that_still_held_is_blamed() {
        let scores = [20, 10, -30, -500, -900].map(Some);
        assert_eq!(blamed(&scores, true), Some((4, -1000)));
        let recovered = [20, -400, 0, -30, -350].map(Some);
        assert_eq!(blamed(&recovered, false), Some((6, -350)));
    }

    #[test]
    fn a_sudden_end_blames_the_last_move() {
        assert_eq!(blamed(&[30, 40].map(Some), true), Some((2, -1000)));
        assert_eq!(blamed(&[30, 40].map(Some), false), None, "lost on time");
    }

    #[test]
    fn a_move_without_a_search_counts_as_the_one_before() {
        let book_then_lost = [None, None, Some(-400), Some(-600)];
        assert_eq!(blamed(&book_then_lost, true), Some((2, -1000)));
        let hurried = [Some(0), Some(-500), None, Some(-900)];
        assert_eq!(blamed(&hurried, true), Some((0, -900)));
        assert_eq!(blamed(&[None, None], true), None, "nothing is known");
    }

    #[test]
    fn a_forced_move_is_never_blamed() {
        let mut moves = own(&[10, 10, -700].map(Some));
        moves[1].had_choice = false;
        let blamed = blame(&moves, true).map(|it| it.ply);
        assert_eq!(blamed, Some(0), "the choice before it");
    }

    #[test]
    fn a_game_lost_from_the_start_blames_its_greatest_drop() {
        let scores = [-200, -260, -700, -800].map(Some);
        assert_eq!(blamed(&scores, false), Some((2, -800)));
    }

    #[test]
    fn a_line_keeps_its_window_or_reaches_its_mistake() {
        let moves = vec!["g1f3"; 60].join(" ");
        let line = |ply: Option<usize>| PlayedLine {
            game: "a".to_owned(),
            opponent: None,
            color: Color::Black,
            result: LineResult::Loss,
            moves: moves.clone(),
            mistake: ply.map(|ply| LineMistake {
                ply,
                value: -900,
                better: None,
                reviewed: false,
            }),
            at: 0,
        };
        let plies = |line: &PlayedLine| line.moves.split(' ').count();
        assert_eq!(plies(&line(None).bounded()), WINDOW);
        assert_eq!(plies(&line(Some(5)).bounded()), WINDOW);
        assert_eq!(plies(&line(Some(41)).bounded()), 42);
        for wrong in [4, 60, 61, LATEST + 1] {
            assert_eq!(line(Some(wrong)).bounded().mistake, None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn only_a_move_with_a_choice_and_a_drop_is_blamed(
            moves in proptest::collection::vec((proptest::option::of(-2000_i32..2000), any::<bool>()), 0..40),
            decided in any::<bool>(),
        ) {
            let moves: Vec<OwnMove> = moves
                .into_iter()
                .enumerate()
                .map(|(index, (score, had_choice))| OwnMove { ply: 2 * index + 1, score, had_choice })
                .collect();
            if let Some(found) = blame(&moves, decided) {
                prop_assert!(moves.iter().any(|made| made.ply == found.ply && made.had_choice));
                prop_assert!((-DECIDED..DECIDED).contains(&found.value));
            }
        }
    }
}
