//! Weaker play for people: fewer nodes, and moves drawn by their scores.
//!
//! Built on the public interface alone: a level changes the limits of a search and picks from its
//! ranking. It knows no game and no clock.

use super::limits::Limits;
use super::search_result::{Ranked, SearchResult};
use crate::rules::Move;

/// Scores beyond this are alike to a level below full strength, so that it can miss a win.
const BEYOND: i32 = 1000;

/// A strength of play below the full one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Its name in configs and requests.
    pub name: &'static str,
    /// Its name as an opponent.
    pub title: &'static str,
    /// What its name is worth in rating points, measured against the others.
    pub rating: u32,
    /// Positions per move; more where ranking the moves takes more.
    nodes: u64,
    /// Moves that are ranked and drawn from.
    lines: usize,
    /// A move this many centipawns worse than another is drawn e times as rarely.
    temperature: u32,
}

/// All levels, weakest first. docs/strength.md has what they are worth against each other.
pub const LEVELS: [Level; 5] = [
    Level::new(("beginner", "Beginner", 1000), 600, 30, 300),
    Level::new(("easy", "Easy", 1500), 600, 16, 120),
    Level::new(("medium", "Medium", 1840), 800, 8, 60),
    Level::new(("hard", "Hard", 2500), 1500, 4, 30),
    Level::new(("expert", "Expert", 3060), 5000, 2, 10),
];

impl Level {
    const fn new(
        (name, title, rating): (&'static str, &'static str, u32),
        nodes: u64,
        lines: usize,
        temperature: u32,
    ) -> Self {
        Self {
            name,
            title,
            rating,
            nodes,
            lines,
            temperature,
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        LEVELS.into_iter().find(|level| level.name == name)
    }

    /// The limits of a search on this level, which keeps the clock of the usual ones.
    #[must_use]
    pub fn limits(&self, limits: Limits) -> Limits {
        Limits {
            nodes: Some(limits.nodes.unwrap_or(u64::MAX).min(self.nodes)),
            multipv: self.lines,
            ..limits
        }
    }

    /// The move to play after such a search.
    pub fn choose(&self, result: &SearchResult, random: &mut fastrand::Rng) -> Option<Move> {
        let score = |ranked: &Ranked| ranked.score.centipawns().clamp(-BEYOND, BEYOND);
        let best = result.ranking.iter().map(score).max().unwrap_or_default();
        let weight =
            |ranked: &Ranked| (f64::from(score(ranked) - best) / f64::from(self.temperature)).exp();
        let total: f64 = result.ranking.iter().map(weight).sum();
        let mut drawn = random.f64() * total;
        let found = result.ranking.iter().find(|ranked| {
            drawn -= weight(ranked);
            drawn < 0.0
        });
        found.map(|ranked| ranked.mv).or(result.best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{EngineOptions, Score, SingleThread};
    use crate::rules::{Game, Position};

    fn ranked(game: &Game, scores: &[Score]) -> SearchResult {
        let mut engine = SingleThread::new(&EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        });
        let mut result = engine.think(game, &Limits::nodes(10));
        let moves = game.position().legal_moves().into_iter();
        result.ranking = moves
            .zip(scores)
            .map(|(mv, score)| Ranked { mv, score: *score })
            .collect();
        result.best = Some(result.ranking[0].mv);
        result
    }

    #[test]
    fn a_worse_move_is_drawn_more_rarely_and_a_win_can_be_missed() {
        let scores = [Score::Mate(1), Score::Cp(700), Score::Cp(-900)];
        let result = ranked(&Game::default(), &scores);
        let level = LEVELS[0];
        let mut random = fastrand::Rng::with_seed(1);
        let mut counts = [0; 3];
        for _ in 0..3000 {
            let mv = level.choose(&result, &mut random).unwrap();
            let place = result.ranking.iter().position(|ranked| ranked.mv == mv);
            counts[place.unwrap()] += 1;
        }
        // 1 : e^-1 : e^-6.3
        assert!((2100..2300).contains(&counts[0]), "{counts:?}");
        assert!((700..900).contains(&counts[1]), "{counts:?}");
        assert!(counts[2] < 20, "{counts:?}");
    }

    #[test]
    fn without_a_ranking_the_best_move_is_played() {
        let mut result = ranked(&Game::default(), &[Score::Cp(0)]);
        result.ranking.clear();
        let chosen = LEVELS[4].choose(&result, &mut fastrand::Rng::new());
        assert_eq!(chosen, result.best);
    }

    #[test]
    fn every_level_ranks_its_moves_in_an_open_middlegame() {
        let fen = "r1b1kb1r/pp1n1p1p/2p1p1p1/q2p4/3P1P2/2N1P3/PP1B2PP/R2QKB1R w KQkq - 0 10";
        let game = Game::from_position(Position::from_fen(fen).unwrap());
        let legal = game.position().legal_moves().len();
        let mut engine = SingleThread::new(&EngineOptions {
            hash_mb: 1,
            ..EngineOptions::default()
        });
        for level in LEVELS {
            let result = engine.think(&game, &level.limits(Limits::default()));
            let ranked = result.ranking.len();
            assert_eq!(ranked, level.lines.min(legal), "{}", level.name);
        }
    }

    #[test]
    fn every_level_has_a_name_and_keeps_a_clock() {
        for level in LEVELS {
            assert_eq!(Level::named(level.name), Some(level));
            let limits = level.limits(Limits::depth(3));
            assert_eq!((limits.depth, limits.multipv), (Some(3), level.lines));
            assert_eq!(level.limits(Limits::nodes(1)).nodes, Some(1));
        }
        assert_eq!(Level::named("full"), None);
    }
}
