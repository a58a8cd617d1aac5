//! Opening variety: on Lichess a rated game between bots that repeats one of the pair's last two
//! games does not count, so the bot leaves both of them where another move is about as good.
//!
//! It only chooses among moves that the search has scored: it costs no time, never gives away a win, and
//! never more than the operator allows.

use std::hash::Hasher as _;

use super::move_list::PlayedMoves;
use crate::config::Variety;
use crate::engine::{Ranked, Score, SearchResult, StopReason};
use crate::lichess::GameId;
use crate::rules::{Game, Move};

/// Lines searched in addition to those of earlier games.
const SPARE_LINES: usize = 3;

/// Earlier games of the pair.
#[derive(Clone, Debug, Default)]
pub(super) struct EarlierGames {
    lines: Vec<Vec<Move>>,
    seed: u64,
}

impl EarlierGames {
    /// The games by their first moves in UCI, and the seed for the choice among alternatives.
    pub(super) fn new<'a>(openings: impl IntoIterator<Item = &'a str>, seed: u64) -> Self {
        let moves = |opening: &str| {
            let mut move_list = PlayedMoves::new();
            move_list.update(opening).ok()?;
            Some(move_list.game().moves().to_vec())
        };
        Self {
            lines: openings.into_iter().filter_map(moves).collect(),
            seed,
        }
    }

    /// The moves that would repeat an earlier game up to and including this ply.
    fn repeating(&self, game: &Game) -> Vec<Move> {
        let mut repeating = Vec::new();
        for line in &self.lines {
            if let Some(next) = line.get(game.ply())
                && line.starts_with(game.moves())
                && !repeating.contains(next)
            {
                repeating.push(*next);
            }
        }
        repeating
    }

    /// How many lines a search of the current position should rank.
    pub(super) fn multipv(&self, game: &Game) -> usize {
        match self.repeating(game).len() {
            0 => 1,
            repeating => repeating + SPARE_LINES,
        }
    }

    /// Replaces the best move if it repeats an earlier game and another is about as good.
    pub(super) fn pick_variation(
        &self,
        result: SearchResult,
        (id, game): (&GameId, &Game),
        refused: &[Move],
        rules: &Variety,
    ) -> SearchResult {
        let decided = result.score.is_win() || result.score.is_loss();
        if result.ranking.is_empty() || decided || result.ended == StopReason::Failed {
            return result;
        }
        let mut excluded = self.repeating(game);
        if result.best.is_none_or(|best| !excluded.contains(&best)) {
            return result;
        }
        excluded.extend(refused);
        let others = about_as_good(&result, game, &excluded, rules);
        // FNV-1a: stable from build to build.
        let mut hash = fnv::FnvHasher::default();
        hash.write(id.as_str().as_bytes());
        let seed = self.seed ^ hash.finish() ^ ((game.ply() as u64) << 48);
        let Some(Ranked { mv, score }) = draw(&others, rules, &mut fastrand::Rng::with_seed(seed))
        else {
            return result;
        };
        SearchResult {
            best: Some(mv),
            ponder: None,
            score,
            line: vec![mv],
            ..result
        }
    }
}

/// The alternatives, each with its loss in centipawns.
fn about_as_good(
    result: &SearchResult,
    game: &Game,
    excluded: &[Move],
    rules: &Variety,
) -> Vec<(Ranked, i32)> {
    let loss = i32::try_from(rules.loss).unwrap_or(i32::MAX);
    // The ranking may lag one iteration behind: take the higher score of the best move.
    let ranked = result.ranking.first().map(|first| first.score);
    let best = ranked.into_iter().chain([result.score]);
    let best = best.map(Score::centipawns).max().unwrap_or_default();
    let allowed = |ranked: &&Ranked| {
        !excluded.contains(&ranked.mv)
            && !ranked.score.is_loss()
            && game.position().is_legal(ranked.mv)
    };
    let losses = result.ranking.iter().filter(allowed);
    let losses = losses.map(|ranked| (*ranked, best.saturating_sub(ranked.score.centipawns())));
    losses.filter(|(_, cost)| *cost <= loss).collect()
}

/// Picks one: the smaller the loss, the likelier.
fn draw(moves: &[(Ranked, i32)], rules: &Variety, random: &mut fastrand::Rng) -> Option<Ranked> {
    let weight = |cost: i32| {
        let weight = i64::from(rules.loss) + 1 - i64::from(cost);
        weight.max(1).unsigned_abs()
    };
    let sum: u64 = moves.iter().map(|(_, cost)| weight(*cost)).sum();
    if sum == 0 {
        return None;
    }
    let mut left = random.u64(..sum);
    for (ranked, cost) in moves {
        match left.checked_sub(weight(*cost)) {
            Some(rest) => left = rest,
            None => return Some(*ranked),
        }
    }
    None
}
