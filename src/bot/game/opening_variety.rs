//! Opening variety: on Lichess a rated game between bots that repeats one of the pair's last two
//! games does not count, so the bot leaves both of them where another move is about as good.
//!
//! It only chooses among moves that the search has scored: it costs no time, never gives away a win, and
//! never more than the operator allows.

use std::hash::Hasher as _;

use super::machine::GameMachine;
use super::move_list::PlayedMoves;
use crate::engine::{Ranked, Score, SearchResult, StopReason};
use crate::rules::Move;

/// Lines searched in addition to those of earlier games.
const SPARE_LINES: usize = 3;

/// Earlier games of the pair.
#[derive(Clone, Debug, Default)]
pub(super) struct PastLines {
    lines: Vec<Vec<Move>>,
    seed: u64,
}

impl GameMachine {
    /// Sets the pair's earlier games by their first moves in UCI, and the seed for the choice among
    /// alternatives.
    pub fn avoid<'a>(&mut self, openings: impl IntoIterator<Item = &'a str>, seed: u64) {
        let moves = |opening: &str| {
            let mut move_list = PlayedMoves::new();
            move_list.update(opening).ok()?;
            Some(move_list.game().moves().to_vec())
        };
        self.past_lines = PastLines {
            lines: openings.into_iter().filter_map(moves).collect(),
            seed,
        };
    }

    /// How many lines a search of the current position should rank.
    pub(super) fn lines_to_weigh(&self) -> usize {
        match self.beaten_moves().len() {
            0 => 1,
            past_lines => past_lines + SPARE_LINES,
        }
    }

    /// The moves that would repeat an earlier game up to and including this ply.
    fn beaten_moves(&self) -> Vec<Move> {
        let rules = &self.settings.variety;
        let (moves, ply) = (self.move_list.game().moves(), self.ply());
        let counts = self
            .setup
            .as_ref()
            .is_some_and(|setup| setup.rated && setup.opponent_is_bot);
        if !rules.enabled || !counts || ply >= rules.plies as usize {
            return Vec::new();
        }
        let mut past_lines = Vec::new();
        for line in &self.past_lines.lines {
            if let Some(next) = line.get(ply)
                && line.starts_with(moves)
                && !past_lines.contains(next)
            {
                past_lines.push(*next);
            }
        }
        past_lines
    }

    /// Replaces the best move if it repeats an earlier game and another is about as good.
    pub(super) fn vary(&self, thought: SearchResult, refused: &[Move]) -> SearchResult {
        let decided = thought.score.is_win() || thought.score.is_loss();
        if thought.ranking.is_empty() || decided || thought.ended == StopReason::Failed {
            return thought;
        }
        let past_lines = self.beaten_moves();
        if thought.best.is_none_or(|best| !past_lines.contains(&best)) {
            return thought;
        }
        let others = self.about_as_good(&thought, &past_lines, refused);
        let Some(Ranked { mv, score }) = self.draw(&others) else {
            return thought;
        };
        SearchResult {
            best: Some(mv),
            ponder: None,
            score,
            line: vec![mv],
            ..thought
        }
    }

    /// The alternatives, each with its loss in centipawns.
    fn about_as_good(
        &self,
        thought: &SearchResult,
        past_lines: &[Move],
        refused: &[Move],
    ) -> Vec<(Ranked, i32)> {
        let loss = i32::try_from(self.settings.variety.loss).unwrap_or(i32::MAX);
        // The ranking may lag one iteration behind: take the higher score of the best move.
        let ranked = thought.ranking.first().map(|first| first.score);
        let best = ranked.into_iter().chain([thought.score]);
        let best = best.map(Score::centipawns).max().unwrap_or_default();
        let position = self.move_list.game().position();
        let free = |ranked: &&Ranked| {
            !past_lines.contains(&ranked.mv)
                && !refused.contains(&ranked.mv)
                && !ranked.score.is_loss()
                && position.is_legal(ranked.mv)
        };
        let costs = thought.ranking.iter().filter(free).map(|ranked| {
            let cost = best.saturating_sub(ranked.score.centipawns());
            (*ranked, cost)
        });
        costs.filter(|(_, cost)| *cost <= loss).collect()
    }

    /// Picks one: the smaller the loss, the likelier. Deterministic for a seed, game and ply.
    fn draw(&self, moves: &[(Ranked, i32)]) -> Option<Ranked> {
        let loss = i64::from(self.settings.variety.loss);
        let weight = |cost: i32| (loss + 1 - i64::from(cost)).max(1).unsigned_abs();
        let sum: u64 = moves.iter().map(|(_, cost)| weight(*cost)).sum();
        if sum == 0 {
            return None;
        }
        let mut left = self.chance().u64(..sum);
        for (ranked, cost) in moves {
            match left.checked_sub(weight(*cost)) {
                Some(rest) => left = rest,
                None => return Some(*ranked),
            }
        }
        None
    }

    fn chance(&self) -> fastrand::Rng {
        // FNV-1a: stable from build to build.
        let mut hash = fnv::FnvHasher::default();
        hash.write(self.params.game.as_str().as_bytes());
        let seed = self.past_lines.seed ^ hash.finish() ^ ((self.ply() as u64) << 48);
        fastrand::Rng::with_seed(seed)
    }
}
