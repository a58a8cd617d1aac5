//! The root: iterative deepening, aspiration windows, and the answer.
//!
//! Whatever ends the search, the answer is the best move of the last finished iteration, or a
//! better one already proved in the interrupted one; never one that it refuted.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::node::NodeKind;
use super::root_tablebase::RootVerdict;
use super::searcher::{Searcher, Task, ThreadRole};
use super::team::ThreadVote;
use super::thread_evaluator::ThreadEvaluator;
use crate::engine::history::piece_on_square;
use crate::engine::limits::Limits;
use crate::engine::lmr::{self, MoveClass};
use crate::engine::movepick::is_noisy;
use crate::engine::params;
use crate::engine::score::{
    INFINITE, MATE, MATE_BOUND, MAX_PLY, Score, Value, is_decisive, is_lost, mate_in, mated_in,
};
use crate::engine::search_handle::SearchShared;
use crate::engine::search_result::{
    Info, Ranked, ReportSink, ScoreBound, SearchResult, StopReason,
};
use crate::engine::see;
use crate::engine::time::{Progress, soft_factor};
use crate::engine::tunables;
use crate::rules::{Move, Position, Role};

/// How long a search with nothing left to do sleeps before it checks again. A stop and a ponder hit
/// wake it, so this is only a guard.
const NAP: Duration = Duration::from_millis(50);
/// The maximum iteration.
pub(super) const MOST_DEPTH: i32 = MAX_PLY as i32 - 1;

/// A root move and what is known of it.
#[derive(Clone, Debug)]
struct RootMove {
    mv: Move,
    value: Value,
    /// Whether that value is exact.
    bound: ScoreBound,
    /// The value after the last finished iteration.
    previous: Value,
    /// What the present iteration has found: a value or a bound.
    found: Option<Value>,
    line: Vec<Move>,
    nodes: u64,
    /// Whether no table knows a better move.
    is_kept: bool,
}

impl RootMove {
    /// Orders moves best first: what the tables do not keep comes after the rest and is shown by further lines
    /// only.
    fn rank(&self) -> (bool, Value) {
        (!self.is_kept, -self.value)
    }
}

/// Whether the present iteration has shown that the move loses.
fn is_refuted(root_move: &RootMove) -> bool {
    root_move.found.is_some_and(is_lost)
}

/// The search of one root position.
pub(super) struct Root<'a> {
    searcher: &'a mut Searcher,
    position: Position,
    moves: Vec<RootMove>,
    /// What endgame tables say about the root.
    verdict: Option<RootVerdict>,
    report: Option<ReportSink>,
    lines: usize,
    /// The lines of the last finished iteration, with several lines.
    ranking: Vec<Ranked>,
    /// The last finished iteration.
    depth: i32,
    /// Whether a further one has begun.
    is_unfinished: bool,
    /// The best move that was reported last.
    reported: Option<Move>,
}

impl Searcher {
    /// Searches. Blocks until the task's limits or a stop end it.
    pub(in crate::engine) fn run(&mut self, task: Task) -> SearchResult {
        let search_shared = Arc::clone(&task.search_shared);
        self.begin(&task.root, &task.keys, &task.limits, search_shared);
        if !self.control.background {
            self.age = self.table.new_search(self.age);
        }
        let result = think(self, task);
        self.core.release();
        self.role = ThreadRole::Answering;
        result
    }
}

/// Searches a task until something ends it.
pub(super) fn think(searcher: &mut Searcher, task: Task) -> SearchResult {
    let (position, limits) = (task.root, task.limits);
    let Some(mut root) = Root::new(searcher, position, &limits, task.report) else {
        hold_back(searcher, limits.infinite);
        return nothing_to_play(&position, &searcher.control.search_shared);
    };
    root.show_best();
    let mut ended = root.at_once();
    if ended.is_none() {
        root.searcher.take_core();
        let most = limits
            .depth
            .map_or(MOST_DEPTH, |depth| depth.clamp(1, 127) as i32);
        let help = root.searcher.call_help(&root.position, &limits);
        ended = Some(root.deepen(1..=most, limits.mate));
        drop(help);
        root.adopt_vote(most);
    }
    root.searcher.core.release();
    let held_back = hold_back(root.searcher, limits.infinite);
    root.answer(held_back.or(ended).unwrap_or(StopReason::Depth))
}

/// The requested legal moves: the hash move first, then ordered by a one-ply search.
fn ranked_moves(searcher: &mut Searcher, position: &Position, wanted: &[Move]) -> Vec<RootMove> {
    let table_move = searcher
        .table
        .probe(searcher.table_key(position))
        .and_then(|entry| entry.best);
    let mut moves: Vec<Move> = position
        .legal_moves()
        .into_iter()
        .filter(|mv| wanted.contains(mv) || wanted.is_empty() && !is_double(position, *mv))
        .collect();
    moves.sort_by_cached_key(|&mv| {
        if Some(mv) == table_move {
            return 1 - MATE;
        }
        -first_glance(&mut searcher.evaluator, position, mv)
    });
    let unsearched = |mv| RootMove {
        mv,
        value: -INFINITE,
        bound: ScoreBound::Exact,
        previous: -INFINITE,
        found: None,
        line: vec![mv],
        nodes: 0,
        is_kept: true,
    };
    moves.into_iter().map(unsearched).collect()
}

/// Whether a promotion by capture leads to the same position as that to a queen.
fn is_double(position: &Position, mv: Move) -> bool {
    mv.promotion().is_some_and(|role| role != Role::Queen) && position.is_capture(mv)
}

/// The estimated value of a move before searching.
fn first_glance(evaluator: &mut ThreadEvaluator, position: &Position, mv: Move) -> Value {
    if position.explodes_king(mv) {
        return MATE;
    }
    let child = position.play(mv);
    if child.can_explode() {
        return -MATE;
    }
    let exposed = if is_noisy(position, mv) {
        0
    } else {
        see::quiet(position, mv)
    };
    exposed - evaluator.evaluate(&child, 1)
}

fn nothing_to_play(position: &Position, search_shared: &SearchShared) -> SearchResult {
    let lost = position.king(position.turn()).is_none() || position.in_check();
    SearchResult {
        score: if lost { Score::Mate(0) } else { Score::Cp(0) },
        time: search_shared.started.elapsed(),
        ..SearchResult::default()
    }
}

impl<'a> Root<'a> {
    /// `None` if there is no move.
    pub(super) fn new(
        searcher: &'a mut Searcher,
        position: Position,
        limits: &Limits,
        report: Option<ReportSink>,
    ) -> Option<Self> {
        let mut moves = ranked_moves(searcher, &position, &limits.searchmoves);
        let candidates: Vec<Move> = moves.iter().map(|root_move| root_move.mv).collect();
        let verdict = searcher.ask_tables_at_root(&position, &candidates, limits);
        if let Some(verdict) = &verdict {
            for root_move in &mut moves {
                root_move.is_kept = verdict.keeps(root_move.mv);
            }
        }
        moves.retain(|root_move| root_move.is_kept || limits.multipv > 1);
        moves.sort_by_key(RootMove::rank);
        let lines = limits.multipv.max(1).min(moves.len());
        (lines > 0).then_some(Self {
            searcher,
            position,
            moves,
            verdict,
            report,
            lines,
            ranking: Vec::new(),
            depth: 0,
            is_unfinished: false,
            reported: None,
        })
    }

    /// Makes the best move so far the answer, should it be needed at once.
    fn show_best(&self) {
        let best = self.moves[0].mv;
        self.searcher.control.search_shared.set_best(best);
    }

    /// Answers that need no search: an explosion, or on a clock the only move.
    fn at_once(&mut self) -> Option<StopReason> {
        if self.lines > 1 {
            return None;
        }
        if let Some(win) = self
            .moves
            .iter()
            .position(|it| self.position.explodes_king(it.mv))
        {
            self.moves.swap(0, win);
            self.moves[0].value = mate_in(1);
            self.show_best();
            (self.depth, self.searcher.root_depth) = (1, 1);
            self.report_line(0);
            return Some(StopReason::Decided);
        }
        (self.moves.len() == 1 && self.searcher.control.plays_on_clock())
            .then_some(StopReason::OnlyMove)
    }

    /// Searches to greater and greater depth, until something ends it.
    pub(super) fn deepen(&mut self, depths: RangeInclusive<i32>, mate: Option<u32>) -> StopReason {
        let mut stable_for = 0;
        for depth in depths {
            self.searcher.root_depth = depth;
            self.is_unfinished = true;
            for root_move in &mut self.moves {
                (root_move.previous, root_move.found) = (root_move.value, None);
            }
            let (best_before, value_before) = (self.moves[0].mv, self.moves[0].value);
            for line in 0..self.lines {
                self.aspire(depth, line);
                self.moves[..=line].sort_by_key(RootMove::rank);
                let halted = self.searcher.control.halted;
                if halted.is_some() && line == 0 {
                    avoid_refuted(&mut self.moves, value_before);
                }
                self.show_best();
                if let Some(ended) = halted {
                    return ended;
                }
            }
            (self.depth, self.is_unfinished) = (depth, false);
            self.send_vote();
            self.rank();
            for line in 0..self.lines {
                self.report_line(line);
            }
            let best = &self.moves[0];
            let same = best.mv == best_before;
            stable_for = if same { stable_for + 1 } else { 0 };
            let value_before = if depth == 1 { best.value } else { value_before };
            if let Some(ended) = self.is_enough(mate, stable_for, value_before) {
                return ended;
            }
        }
        StopReason::Depth
    }

    /// A helper reports its result of an iteration.
    fn send_vote(&self) {
        if let ThreadRole::Helping(part) = &self.searcher.role {
            let best = &self.moves[0];
            part.say(ThreadVote {
                depth: self.depth,
                value: best.value,
                line: best.line.clone(),
            });
        }
    }

    /// The threads' vote: adopts a helper's move if it was searched deeper or wins. No depth above
    /// `most` is reported.
    fn adopt_vote(&mut self, most: i32) {
        let ThreadRole::Leading(team) = &self.searcher.role else {
            return;
        };
        let best = &self.moves[0];
        let depth = self.depth + i32::from(self.is_unfinished && best.found.is_some());
        let known = |it: &ThreadVote| it.is_better_than(depth, best.value);
        let Some(vote) = team.vote.lock().clone().filter(known) else {
            return;
        };
        let is_its_move = |it: &RootMove| it.mv == vote.line[0] && !is_refuted(it);
        let place = self.moves.iter().position(is_its_move);
        // With several lines only one thread compares them.
        if let Some(place) = place.filter(|_| self.lines == 1) {
            self.moves.swap(0, place);
            self.depth = vote.depth.min(most);
            (self.moves[0].value, self.moves[0].bound) = (vote.value, ScoreBound::Exact);
            self.moves[0].line = vote.line;
            self.show_best();
        }
    }

    /// Stores an iteration's lines: the next one overwrites them step by step.
    fn rank(&mut self) {
        if self.lines < 2 {
            return;
        }
        // The node limit may have passed meanwhile: the next node looks, not a check that depends on the time.
        self.searcher.control.next_check = 0;
        let lines = 0..self.lines;
        let ranked = lines.map(|line| Ranked {
            mv: self.moves[line].mv,
            score: self.known_score(line),
        });
        self.ranking = ranked.collect();
    }

    /// Between two iterations: whether there is a reason to stop.
    fn is_enough(
        &mut self,
        mate: Option<u32>,
        stable_for: u32,
        before: Value,
    ) -> Option<StopReason> {
        let best = &self.moves[0];
        let value = best.value;
        let share = best.nodes as f64 / self.searcher.nodes.max(1) as f64;
        if mate.is_some_and(|moves| value >= mate_in(2 * moves.clamp(1, 64) as usize - 1)) {
            return Some(StopReason::Decided);
        }
        let all_nodes = self.searcher.all_nodes();
        let control = &mut self.searcher.control;
        let factor = soft_factor(Progress {
            best_move_share: share,
            stable_for,
            score_drop: before - value,
        });
        if control.is_past_soft_nodes(factor, all_nodes) {
            return Some(StopReason::Nodes);
        }
        let is_proved = is_decisive(value) && MATE - value.abs() <= self.depth;
        let reason = if control.on_clock && (is_proved || self.moves.len() == 1) {
            StopReason::Decided
        } else if control.is_past_soft(factor) {
            StopReason::Time
        } else {
            control.ends_on_hit = false;
            return None;
        };
        control.ends_on_hit = control.search_shared.is_pondering();
        (!control.ends_on_hit).then_some(reason)
    }

    /// Searches one line to a depth, in a window around its last value at first.
    fn aspire(&mut self, depth: i32, line: usize) {
        let last = self.moves[line].previous;
        let (mut alpha, mut beta) = (-INFINITE, INFINITE);
        let mut delta = tunables::aspiration_delta()
            + last.abs().min(MATE) * params::ASPIRATION_SCORE_SHARE / 256;
        if depth >= params::ASPIRATION_DEPTH && last.abs() < MATE_BOUND {
            (alpha, beta) = (last - delta, last + delta);
        }
        let mut shallower = 0;
        loop {
            let value = self.search_moves(line, (alpha, beta), (depth - shallower).max(1));
            self.moves[line..].sort_by_key(RootMove::rank);
            if self.searcher.is_halted() {
                return;
            }
            if value <= alpha {
                // A move that fails is not the answer, whenever its ponder move is played.
                self.searcher.control.ends_on_hit = false;
                beta = i32::midpoint(alpha, beta);
                alpha = (value - delta).max(-INFINITE);
                shallower = 0;
            } else if value >= beta {
                beta = (value + delta).min(INFINITE);
                if !is_decisive(value) {
                    shallower = (shallower + 1).min(params::ASPIRATION_SHALLOWER);
                }
            } else {
                return;
            }
            delta = delta * tunables::aspiration_growth() / 100;
            if delta > params::ASPIRATION_MOST || is_decisive(value) {
                (alpha, beta) = (-INFINITE, INFINITE);
            }
            let elapsed = self.searcher.control.search_shared.started.elapsed();
            if self.lines == 1 && elapsed >= params::REPORT_BOUNDS_AFTER {
                self.report_line(line);
            }
        }
    }

    /// One pass over the root moves from `line` on.
    fn search_moves(&mut self, line: usize, window: (Value, Value), depth: i32) -> Value {
        let (mut alpha, beta) = window;
        let mut best = -INFINITE;
        let is_kept = self.moves[line].is_kept;
        let end = self.moves.partition_point(|it| it.is_kept >= is_kept);
        for index in line..end {
            let nodes_before = self.searcher.nodes;
            let value = self.search_move(index, index - line, (alpha, beta), depth);
            if self.searcher.is_halted() {
                return best;
            }
            let root_move = &mut self.moves[index];
            root_move.nodes += self.searcher.nodes - nodes_before;
            root_move.found = Some(value);
            best = best.max(value);
            if index > line && value <= alpha {
                root_move.value = -INFINITE;
                continue;
            }
            (root_move.value, root_move.bound) = (value, ScoreBound::Upper);
            if value > alpha {
                root_move.bound = ScoreBound::Exact;
                root_move.line.truncate(1);
                root_move.line.extend_from_slice(&self.searcher.frame(1).pv);
                if line == 0 {
                    self.searcher.control.search_shared.set_best(root_move.mv);
                }
                if value >= beta {
                    root_move.bound = ScoreBound::Lower;
                    break;
                }
                alpha = value;
            }
        }
        best
    }

    fn search_move(
        &mut self,
        index: usize,
        rank: usize,
        (alpha, beta): (Value, Value),
        depth: i32,
    ) -> Value {
        let (mv, searcher) = (self.moves[index].mv, &mut *self.searcher);
        if self.position.explodes_king(mv) {
            // Past the end of the game nothing can be searched.
            searcher.frame(1).pv.clear();
            return mate_in(1);
        }
        let child = self.position.play(mv);
        searcher.descend(&child, piece_on_square(&self.position, mv), 0);
        let full = depth - 1;
        let mut value = -INFINITE;
        if rank > 0 {
            let narrow = (-alpha - 1, -alpha);
            let reduced = full - root_reduction(&self.position, mv, &child, rank, depth);
            value = -searcher.search(&child, NodeKind::Cut, narrow, reduced.clamp(0, full), 1);
            if value > alpha && reduced < full {
                value = -searcher.search(&child, NodeKind::Cut, narrow, full, 1);
            }
        }
        if rank == 0 || (value > alpha && value < beta) {
            value = -searcher.search(&child, NodeKind::Pv, (-beta, -alpha), full, 1);
        }
        searcher.ascend();
        value
    }

    /// The score of a root move: the tables' if they know it, else the search's.
    fn known_score(&self, line: usize) -> Score {
        let RootMove { mv, value, .. } = self.moves[line];
        let known = self.verdict.as_ref().map(|it| it.value(mv, value));
        Score::from_value(known.unwrap_or(value))
    }

    fn report_line(&mut self, line: usize) {
        let score = self.known_score(line);
        if line == 0 {
            self.reported = Some(self.moves[0].mv);
        }
        let Some(report) = &mut self.report else {
            return;
        };
        let (root_move, control) = (&self.moves[line], &self.searcher.control);
        report(&Info {
            depth: self.searcher.root_depth as u32,
            seldepth: self.searcher.seldepth as u32,
            multipv: line + 1,
            score,
            bound: root_move.bound,
            nodes: self.searcher.all_nodes(),
            table_hits: self.searcher.table_hits,
            time: control.search_shared.started.elapsed(),
            hashfull: self.searcher.table.fullness(),
            line: root_move.line.clone(),
        });
    }

    fn answer(mut self, ended: StopReason) -> SearchResult {
        let best = &self.moves[0];
        if self.reported != Some(best.mv) && best.value != -INFINITE {
            // Found after the last finished iteration, or by a helper.
            self.report_line(0);
        }
        let best = &self.moves[0];
        let child = self.position.play(best.mv);
        let value = if best.value == -INFINITE {
            -first_value(&mut self.searcher.evaluator, &child)
        } else {
            best.value
        };
        let tb_bound = self.verdict.as_ref().and_then(|it| it.tb_bound(value));
        let table_reply = || {
            let entry = self.searcher.table.probe(self.searcher.table_key(&child))?;
            entry.best.filter(|&mv| child.is_legal(mv))
        };
        SearchResult {
            best: Some(best.mv),
            ponder: best.line.get(1).copied().or_else(table_reply),
            score: Score::from_value(tb_bound.unwrap_or(value)),
            depth: self.depth.max(0) as u32,
            seldepth: self.searcher.seldepth as u32,
            nodes: self.searcher.all_nodes(),
            time: self.searcher.control.search_shared.started.elapsed(),
            line: best.line.clone(),
            ranking: self.ranking,
            by_tables: tb_bound.is_some(),
            ended,
        }
    }
}

/// At a halt: if the best move turned out to lose, and before it did not, puts one first that the
/// interrupted iteration has not refuted.
fn avoid_refuted(moves: &mut [RootMove], value_before: Value) {
    let other = moves.iter().position(|it| !is_refuted(it));
    if let Some(other) = other.filter(|&other| other > 0 && !is_lost(value_before)) {
        moves.swap(0, other);
        // In the iteration before no other move was better than the best.
        let most = moves[0].found.unwrap_or(value_before).min(value_before);
        (moves[0].value, moves[0].bound) = (most, ScoreBound::Upper);
        moves[0].line.truncate(1);
    }
}

/// An answer is not allowed yet: sleep until it is.
fn hold_back(searcher: &Searcher, is_infinite: bool) -> Option<StopReason> {
    let search_shared = &searcher.control.search_shared;
    let mut held_back = None;
    while !search_shared.is_stopped() && (is_infinite || search_shared.is_pondering()) {
        held_back = Some(StopReason::Stopped);
        let left = searcher.control.time_to_deadline();
        if left.is_some_and(|left| left.is_zero()) {
            return Some(StopReason::Time);
        }
        thread::park_timeout(left.unwrap_or(NAP).min(NAP));
    }
    held_back
}

/// The value of an unsearched position.
fn first_value(evaluator: &mut ThreadEvaluator, position: &Position) -> Value {
    if position.king(position.turn()).is_none() {
        return mated_in(1);
    }
    evaluator.evaluate(position, 1)
}

fn root_reduction(position: &Position, mv: Move, child: &Position, rank: usize, depth: i32) -> i32 {
    let is_spared = depth < params::ROOT_LMR_DEPTH
        || rank < params::ROOT_LMR_MOVES
        || position.in_check()
        || child.in_check();
    if is_spared {
        return 0;
    }
    let class = if is_noisy(position, mv) {
        MoveClass::Noisy
    } else {
        MoveClass::Quiet
    };
    (lmr::base(class, depth, rank) / lmr::PLY - 1).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::core_scheduler::CorePermits;
    use crate::engine::limits::Clock;
    use crate::engine::options::EngineOptions;
    use crate::engine::score::table_win_in;
    use crate::engine::tt::TranspositionTable;

    #[test]
    fn a_pondering_search_that_finds_something_to_think_about_does_not_end_on_the_hit() {
        let options = EngineOptions::default();
        let (table, permits) = (TranspositionTable::new(1), CorePermits::new(1));
        let mut searcher = Searcher::new(Arc::new(table), Arc::new(permits), &options);
        let limits = Limits {
            ponder: true,
            ..Limits::clock(Clock {
                time: Duration::from_secs(1_000_000),
                increment: Duration::ZERO,
                moves_to_go: None,
                overhead: Duration::ZERO,
            })
        };
        let position = Position::start();
        let pondering = Arc::new(SearchShared::new(true, None));
        searcher.begin(&position, &[], &limits, pondering);
        let mut root = Root::new(&mut searcher, position, &limits, None).expect("it has moves");
        (root.moves[0].value, root.searcher.control.ends_on_hit) = (20, true);
        assert_eq!(root.is_enough(None, 1, 20), None);
        assert!(
            !root.searcher.control.ends_on_hit,
            "there is time for another iteration"
        );
        root.searcher.control.ends_on_hit = true;
        root.moves[0].previous = 900;
        root.aspire(params::ASPIRATION_DEPTH, 0);
        assert!(!root.searcher.control.ends_on_hit, "the move fails low");
    }

    #[test]
    fn the_promotions_by_one_capture_are_one_move() {
        let options = EngineOptions::default();
        let (table, permits) = (TranspositionTable::new(1), CorePermits::new(1));
        let mut searcher = Searcher::new(Arc::new(table), Arc::new(permits), &options);
        let position = Position::from_fen("1n2k3/P7/8/8/8/8/8/4K3 w - - 0 1").expect("legal");
        let mut ranked = |wanted: &[Move]| {
            let moves = ranked_moves(&mut searcher, &position, wanted);
            let promotions = moves.iter().filter(|it| it.mv.promotion().is_some());
            promotions.map(|it| it.mv.to_string()).collect::<Vec<_>>()
        };
        let knight = position.parse_uci("a7b8n").expect("legal");
        assert_eq!(ranked(&[knight]), ["a7b8n"]);
        let mut all = ranked(&[]);
        all.sort();
        assert_eq!(all, ["a7a8b", "a7a8n", "a7a8q", "a7a8r", "a7b8q"]);
    }

    #[test]
    fn a_move_refuted_in_the_interrupted_iteration_is_not_played() {
        let found = [Some(mated_in(10)), Some(mated_in(8)), Some(-300), None];
        let start = Position::start();
        let moves = || {
            let moves = start
                .legal_moves()
                .into_iter()
                .zip(found)
                .map(|(mv, found)| RootMove {
                    mv,
                    value: found.unwrap_or(-INFINITE),
                    bound: ScoreBound::Exact,
                    previous: 20,
                    found,
                    line: vec![mv, mv],
                    nodes: 9,
                    is_kept: true,
                });
            moves.collect::<Vec<_>>()
        };
        let (before, mut after) = (moves(), moves());
        avoid_refuted(&mut after, 20);
        assert_eq!((after[0].mv, after[0].value), (before[2].mv, -300));
        assert_eq!(after[0].bound, ScoreBound::Upper);
        assert_eq!(after[0].line.len(), 1);
        // A loss by tables is one too.
        let mut after = moves();
        after[0].found = Some(-table_win_in(5));
        avoid_refuted(&mut after, 20);
        assert_eq!(after[0].mv, before[2].mv);
        // Without a better one, or if all was lost before, the order stays.
        for (best, value_before) in [(2, 20), (0, mated_in(9)), (0, -table_win_in(9))] {
            let mut after = moves();
            after.swap(0, best);
            let first = after[0].mv;
            avoid_refuted(&mut after, value_before);
            assert_eq!(after[0].mv, first);
        }
    }
}
