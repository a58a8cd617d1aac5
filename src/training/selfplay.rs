//! One game of the engine against itself.
//!
//! Each side has its own hash table and histories. The same number and seed give the same game on every
//! machine, because no decision depends on a clock. The built-in endgame tables end a game with few pieces.

use std::sync::Arc;

use fastrand::Rng;

use super::beginnings::Beginnings;
use super::record::{GameRecord, GameResult, NO_SCORE, RecordedPly};
use crate::engine::{EngineOptions, Evaluator, Limits, Score, SearchResult, SingleThread};
use crate::rules::{Color, Game, RepetitionRule};
use crate::tablebase::{BuiltIn, OutcomeTables, TableRuling, tablebases};

/// The hash size per side, in megabytes.
const HASH_MB: usize = 1;
/// The hard limit of a move, as a multiple of the soft one.
const HARD_FACTOR: u64 = 8;
/// A side wins with this lead, in centipawns, for this many consecutive plies.
const WON: (i32, usize) = (2000, 5);
/// From this ply on, a score this close to zero for this many consecutive plies is a draw.
const DRAWN: (usize, i32, usize) = (80, 6, 12);
/// The maximum length of a game, in plies.
const LONGEST: usize = 300;
/// A larger score is a mate or a win by tables.
const DECIDED: i32 = 16_000;

/// The settings of self-play.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfPlayRules {
    /// The soft node limit of a move.
    pub nodes: u64,
    pub evaluator: Evaluator,
    pub beginnings: Arc<Beginnings>,
}

/// A game with an engine for each side.
#[derive(Debug)]
pub(super) struct SelfPlayBoard {
    sides: [SingleThread; 2],
    nodes: u64,
    beginnings: Arc<Beginnings>,
}

impl SelfPlayBoard {
    pub(super) fn new(rules: &SelfPlayRules) -> SelfPlayBoard {
        let options = EngineOptions {
            hash_mb: HASH_MB,
            threads: 1,
            evaluator: rules.evaluator.clone(),
            tables: tablebases(BuiltIn::On, None),
            ..EngineOptions::default()
        };
        SelfPlayBoard {
            sides: [SingleThread::new(&options), SingleThread::new(&options)],
            nodes: rules.nodes,
            beginnings: Arc::clone(&rules.beginnings),
        }
    }

    /// Plays game `number` of a seed.
    pub(super) fn play(&mut self, seed: u64, number: u64) -> GameRecord {
        let mut rng = Rng::with_seed(mixed(seed, number));
        let beginnings = Arc::clone(&self.beginnings);
        let mut game = beginnings.begin(&mut rng, &mut self.sides[0], self.nodes);
        for side in &mut self.sides {
            side.new_game();
        }
        let unjudged = |&mv| RecordedPly {
            mv,
            score: NO_SCORE,
        };
        let mut plies: Vec<RecordedPly> = game.moves().iter().map(unjudged).collect();
        let mut verdict = Adjudication::default();
        let result = loop {
            if let Some(outcome) = game.outcome(RepetitionRule::Threefold) {
                break GameResult::of(outcome);
            }
            match OutcomeTables::built_in().ruling(game.position()) {
                Some(TableRuling::Won(color)) => break GameResult::won_by(color),
                Some(TableRuling::Drawn) => break GameResult::Drawn,
                None => {}
            }
            if game.ply() >= LONGEST {
                break GameResult::Drawn;
            }
            let found = self.think(&game);
            let Some(mv) = found.best else {
                break GameResult::Drawn;
            };
            let score = for_white(found.score, game.position().turn());
            plies.push(RecordedPly {
                mv,
                score: score as i16,
            });
            game.push(mv);
            if let Some(result) = verdict.add(score, game.ply()) {
                break result;
            }
        };
        GameRecord::new(&game.positions()[0], plies, result)
    }

    fn think(&mut self, game: &Game) -> SearchResult {
        let limits = Limits {
            soft_nodes: Some(self.nodes),
            ..Limits::nodes(self.nodes * HARD_FACTOR)
        };
        self.sides[game.position().turn().index()].think(game, &limits)
    }
}

/// Derives the seed of a game (the finaliser of `SplitMix64`): another one for each number.
pub(super) fn mixed(seed: u64, number: u64) -> u64 {
    let mut word = seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Converts a score to centipawns from White's side, with mates as large numbers.
fn for_white(score: Score, turn: Color) -> i32 {
    let value = score.centipawns();
    if turn == Color::White { value } else { -value }
}

/// Adjudicates a game by the scores of both sides.
#[derive(Debug, Default)]
struct Adjudication {
    white_ahead: usize,
    black_ahead: usize,
    level: usize,
}

impl Adjudication {
    /// Adds a score for White after `ply` plies.
    fn add(&mut self, score: i32, ply: usize) -> Option<GameResult> {
        let (ahead, plies) = WON;
        let (from, near, long) = DRAWN;
        let count =
            |counter: &mut usize, holds: bool| *counter = if holds { *counter + 1 } else { 0 };
        count(&mut self.white_ahead, score >= ahead);
        count(&mut self.black_ahead, score <= -ahead);
        count(&mut self.level, ply > from && score.abs() <= near);
        if self.white_ahead >= plies || score > DECIDED {
            Some(GameResult::Won)
        } else if self.black_ahead >= plies || score < -DECIDED {
            Some(GameResult::Lost)
        } else if self.level >= long {
            Some(GameResult::Drawn)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> SelfPlayRules {
        SelfPlayRules {
            nodes: 60,
            evaluator: Evaluator::classical(),
            beginnings: Arc::default(),
        }
    }

    fn game(number: u64) -> GameRecord {
        SelfPlayBoard::new(&rules()).play(5, number)
    }

    #[test]
    fn a_game_depends_on_its_number_alone() {
        let mut board = SelfPlayBoard::new(&rules());
        board.play(5, 1);
        let second = board.play(5, 2);
        assert_eq!(second, game(2));
        assert_ne!(second, game(1));
    }

    #[test]
    fn games_are_legal_and_judged_after_their_opening() {
        for number in 0..6 {
            let record = game(number);
            record.replay(|_, _| ()).expect("legal moves");
            let unjudged = record.plies.iter().take_while(|ply| ply.score == NO_SCORE);
            let opening = unjudged.count();
            assert!((6..=9).contains(&opening), "{opening}");
            let judged = &record.plies[opening..];
            assert!(judged.iter().all(|ply| ply.score != NO_SCORE));
        }
    }

    #[test]
    fn a_game_from_an_ending_stores_its_start_and_is_judged_from_there() {
        let rules = SelfPlayRules {
            beginnings: Arc::new(Beginnings {
                endings: 1.0,
                ..Beginnings::default()
            }),
            ..rules()
        };
        let mut board = SelfPlayBoard::new(&rules);
        for number in 0..4 {
            let record = board.play(5, number);
            let start = record.start.as_ref().expect("another start");
            assert!(start.occupied().count() <= 10);
            assert!(record.plies.iter().all(|ply| ply.score != NO_SCORE));
            record.replay(|_, _| ()).expect("legal moves");
            let mut bytes = Vec::new();
            record.write(&mut bytes);
            assert_eq!(GameRecord::read(&bytes), Ok((record, bytes.len())));
        }
        assert_eq!(SelfPlayBoard::new(&rules).play(5, 3), board.play(5, 3));
    }

    #[test]
    fn scores_are_whites() {
        assert_eq!(for_white(Score::Cp(30), Color::White), 30);
        assert_eq!(for_white(Score::Cp(30), Color::Black), -30);
        assert_eq!(for_white(Score::Mate(2), Color::White), 31_997);
        assert_eq!(for_white(Score::Mate(-2), Color::White), -31_996);
        assert_eq!(for_white(Score::Mate(-2), Color::Black), 31_996);
        assert_eq!(for_white(Score::Mate(0), Color::White), -32_000);
    }

    #[test]
    fn a_game_is_adjudicated_by_lasting_scores() {
        let mut verdict = Adjudication::default();
        let said: Vec<_> = (0..5).map(|_| verdict.add(-2100, 20)).collect();
        assert_eq!(said[3..], [None, Some(GameResult::Lost)]);
        assert_eq!(
            Adjudication::default().add(31_990, 9),
            Some(GameResult::Won)
        );
        let mut verdict = Adjudication::default();
        let level = (0..200).find(|&ply| verdict.add(0, ply).is_some());
        assert_eq!(level, Some(92));
    }
}
