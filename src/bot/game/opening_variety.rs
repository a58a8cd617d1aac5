//! Leaves the lines of earlier games: those that lost, and those that a rated game must not repeat.
//!
//! On Lichess a bot's rated game that repeats one of the pair's last two games does not count, so the
//! bot leaves both of them where another move is about as good. Moves that lost are left against
//! anybody. It only chooses among moves with a known score: it costs no time, never gives away a win, and
//! never more than the operator allows.

use std::cmp::Reverse;
use std::hash::Hasher as _;

use super::move_list::PlayedMoves;
use crate::book::{BookMove, Books, draw};
use crate::config::{BookRules, BookSelection, ExperienceRules, Variety};
use crate::engine::{Limits, Ranked, Score, SearchResult, StopReason};
use crate::experience::{Advice, Experience};
use crate::lichess::GameId;
use crate::rules::{Game, Move, Position};

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
            let mut move_list = PlayedMoves::default();
            move_list.update(opening).ok()?;
            Some(move_list.game().moves().to_vec())
        };
        Self {
            lines: openings.into_iter().filter_map(moves).collect(),
            seed,
        }
    }

    /// The moves that would repeat an earlier game up to and including this ply.
    pub(super) fn repeating(&self, game: &Game) -> Vec<Move> {
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

    /// Whether each game that this one repeats so far can be left by a later move of ours, before this
    /// ply, where `can_differ` says so: in a position in which the books know another good move. A search
    /// cannot be relied on: where the game is nearly won it has no second good move.
    pub(super) fn can_be_left_later(
        &self,
        game: &Game,
        plies: usize,
        can_differ: impl Fn(&Game) -> bool,
    ) -> bool {
        let can_be_left = |line: &Vec<Move>| {
            let mut later = game.clone();
            let mut ours = (game.ply()..line.len().min(plies)).skip(2).step_by(2);
            ours.any(|ply| {
                for mv in &line[later.ply()..ply] {
                    later.push(*mv);
                }
                can_differ(&later)
            })
        };
        let mut repeated = self.lines.iter().filter(|it| it.starts_with(game.moves()));
        repeated.all(can_be_left)
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
        let mut random = fastrand::Rng::with_seed(seed);
        match draw_ranked(&others, rules, &mut random) {
            Some(Ranked { mv, score }) => replaced(result, mv, score),
            None => result,
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
fn draw_ranked(
    moves: &[(Ranked, i32)],
    rules: &Variety,
    random: &mut fastrand::Rng,
) -> Option<Ranked> {
    let weight = |cost: i32| {
        let weight = i64::from(rules.loss) + 1 - i64::from(cost);
        weight.max(1).unsigned_abs()
    };
    let weighted = moves.iter();
    draw(
        weighted.map(|(ranked, cost)| (*ranked, weight(*cost))),
        random,
    )
}

/// A move known to be bad is still played if the others are worse by more than this, in centipawns.
const CLEARLY_WORSE: i32 = 50;

/// Which moves a search of our position covers, and what experience says of them.
///
/// A move whose worth an earlier game showed is not searched again: the whole time goes to the
/// others, and it is played only if they are clearly worse. A move that lost for no known reason is
/// ranked with the others and loses some of its score.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RootPlan {
    /// The moves to search; empty for all.
    searched: Vec<Move>,
    /// Lines to rank, beyond the best.
    ranked: usize,
    /// Moves left out of the search.
    excluded: Vec<Advice>,
    /// Moves searched and ranked, but doubted.
    doubted: Vec<Advice>,
}

impl RootPlan {
    /// Follows the advice on a position where these moves are `left`.
    pub(super) fn follow(&mut self, mut advice: Vec<Advice>, left: &[Move]) {
        advice.retain(|it| left.contains(&it.mv));
        let is_known = |mv: &Move| advice.iter().any(|it| it.mv == *mv && it.value.is_some());
        let others: Vec<Move> = left.iter().copied().filter(|mv| !is_known(mv)).collect();
        // A single move left would be played without a search.
        if others.len() > 1 {
            (self.excluded, self.doubted) = advice.into_iter().partition(|it| it.value.is_some());
        } else {
            self.doubted = advice;
        }
        if !self.excluded.is_empty() {
            self.searched = others;
        }
        // One more than those, so that one of the others is among them.
        self.ranked = self.doubted.len();
    }

    /// Ranks so many lines in any case.
    pub(super) fn rank_at_least(&mut self, lines: usize) {
        self.ranked = self.ranked.max(lines.saturating_sub(1));
    }

    pub(super) fn set(&self, limits: &mut Limits) {
        limits.multipv = self.ranked + 1;
        if !self.searched.is_empty() {
            limits.searchmoves.clone_from(&self.searched);
        }
    }

    /// All moves to avoid.
    pub(super) fn avoided(&self) -> Vec<Move> {
        let all = self.excluded.iter().chain(&self.doubted);
        all.map(|it| it.mv).collect()
    }

    /// Why `played` was preferred to a move; `None` if it follows no advice.
    pub(super) fn explain(&self, position: &Position, played: Move) -> Option<String> {
        let avoided = self.excluded.iter().chain(&self.doubted);
        let avoided: Vec<String> = avoided
            .filter(|it| it.mv != played && position.is_legal(it.mv))
            .map(|it| format!("{} ({})", position.san(it.mv), it.reason))
            .collect();
        if avoided.is_empty() {
            return None;
        }
        let played = position.san(played);
        Some(format!("{played} instead of {}", avoided.join(", ")))
    }

    /// Replaces the best move by another where experience prefers that; both are among those `left`.
    pub(super) fn choose(
        &self,
        result: SearchResult,
        left: &[Move],
        rules: &ExperienceRules,
    ) -> SearchResult {
        if result.ended == StopReason::Failed || result.score.is_win() {
            return result;
        }
        if let Some(known) = self.better_known(&result, left) {
            return known;
        }
        let Some(doubt) = self.doubt(result.best) else {
            return result;
        };
        let loss = i32::try_from(rules.loss).unwrap_or(i32::MAX);
        let known = |score: Score, mv| match self.doubt(Some(mv)).and_then(|it| it.value) {
            Some(value) if value < score.centipawns() => Score::Cp(value),
            _ => score,
        };
        let penalty = |mv| self.doubt(Some(mv)).map_or(0, |it| it.penalty.min(loss));
        let worth = |score, mv| known(score, mv).centipawns().saturating_sub(penalty(mv));
        let best = worth(result.score, doubt.mv);
        let others = result.ranking.iter().filter(|ranked| {
            ranked.mv != doubt.mv && left.contains(&ranked.mv) && !ranked.score.is_loss()
        });
        let other = others
            .map(|ranked| (worth(ranked.score, ranked.mv), *ranked))
            .filter(|(worth, _)| *worth >= best)
            .reduce(|one, other| if other.0 > one.0 { other } else { one });
        let (mv, score) = other.map_or((doubt.mv, result.score), |(_, it)| (it.mv, it.score));
        // The known value goes to the record: the next loss then blames the move that led here.
        match known(score, mv) {
            score if (mv, score) == (doubt.mv, result.score) => result,
            score => replaced(result, mv, score),
        }
    }

    /// An excluded move, if all others are clearly worse than it is known to be.
    fn better_known(&self, result: &SearchResult, left: &[Move]) -> Option<SearchResult> {
        if result.depth == 0 {
            return None;
        }
        let known = self.excluded.iter().filter(|it| left.contains(&it.mv));
        let known = known.filter_map(|it| Some((it.value?, it.mv)));
        let (value, mv) = known.max_by_key(|(value, _)| *value)?;
        let worse = result.score.centipawns().saturating_add(CLEARLY_WORSE) < value;
        worse.then(|| replaced(result.clone(), mv, Score::Cp(value)))
    }

    fn doubt(&self, mv: Option<Move>) -> Option<&Advice> {
        self.doubted.iter().find(|it| Some(it.mv) == mv)
    }
}

/// The result with another move.
pub(super) fn replaced(result: SearchResult, mv: Move, score: Score) -> SearchResult {
    SearchResult {
        best: Some(mv),
        ponder: None,
        score,
        line: vec![mv],
        ..result
    }
}

/// Results change weights by less than one.
const WEIGHT_UNIT: f64 = 1000.0;

/// Chooses among the moves of the books. A move that repeats a position is left to the search,
/// which knows whether a draw is welcome; so is a position where every move of the books is to be
/// avoided.
#[derive(Debug)]
pub(super) struct BookChooser<'a> {
    pub(super) books: &'a Books,
    pub(super) rules: &'a BookRules,
    /// The games whose results change the weights.
    pub(super) experience: Option<&'a Experience>,
    pub(super) seed: u64,
}

impl BookChooser<'_> {
    /// A move of the first book that has one worth playing, with the reply that the books expect.
    pub(super) fn choose(&self, game: &Game, avoided: &[Move]) -> Option<SearchResult> {
        let position = game.position();
        // What a book gives no weight it advises against.
        let least = self.rules.min_weight.max(1);
        let is_fit = |it: &BookMove| it.weight >= least && !avoided.contains(&it.mv);
        let mut random = fastrand::Rng::with_seed(self.seed ^ position.key());
        let mut lists = self.books.playable(game);
        let mv = lists.find_map(|mut moves| {
            moves.retain(is_fit);
            self.pick(position, &moves, &mut random)
        })?;
        let after = position.play(mv);
        let replies = self.books.moves(&after).flatten();
        let replies = replies.filter(|it| after.is_legal(it.mv));
        // The first of the heaviest.
        let reply = replies.min_by_key(|it| Reverse(it.weight));
        let reply = reply.map(|it| it.mv);
        Some(SearchResult {
            best: Some(mv),
            ponder: reply,
            line: std::iter::once(mv).chain(reply).collect(),
            ended: StopReason::Book,
            ..SearchResult::default()
        })
    }

    fn pick(
        &self,
        position: &Position,
        moves: &[BookMove],
        random: &mut fastrand::Rng,
    ) -> Option<Move> {
        let success = |mv| {
            let of = |experience: &Experience| experience.success(position.key(), mv);
            self.experience.map_or(1.0, of)
        };
        let weight = |it: &BookMove| match self.rules.selection {
            BookSelection::Uniform => 1,
            BookSelection::Best | BookSelection::Weighted => {
                (f64::from(it.weight) * success(it.mv) * WEIGHT_UNIT) as u64
            }
        };
        let moves = moves.iter().map(|it| (it.mv, weight(it)));
        if self.rules.selection == BookSelection::Best {
            let best = moves.min_by_key(|(_, weight)| Reverse(*weight));
            return best.map(|(mv, _)| mv);
        }
        draw(moves, random)
    }
}
