//! One node of the principal variation search.
//!
//! `search` is the list of its steps; the techniques themselves are in `pruning` and `lmr`. Scores
//! are fail-soft, from the side to move.

use std::ops::ControlFlow;

use arrayvec::ArrayVec;

use super::searcher::{BEFORE_ROOT, Searcher, may_be_insufficient, winning_move};
use crate::engine::history::{self, Context, piece_on_square};
use crate::engine::lmr::MoveClass;
use crate::engine::movepick::{MovePicker, PickMode, Picked, is_noisy};
use crate::engine::params;
use crate::engine::score::{
    DRAW, INFINITE, MATE_BOUND, MAX_PLY, NO_VALUE, Value, is_decisive, is_lost, mate_in, mated_in,
};
use crate::engine::tt::{Bound, Entry, value_to_store};
use crate::rules::{Bitboard, Move, Position};

/// The kind of a node: on the principal variation, or off it with an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Pv,
    Cut,
    All,
}

impl NodeKind {
    /// The kind of a null-window child after the first.
    pub(super) const fn child(self) -> NodeKind {
        match self {
            NodeKind::Cut => NodeKind::All,
            NodeKind::Pv | NodeKind::All => NodeKind::Cut,
        }
    }
}

/// What is known of a node before its moves are tried.
pub(super) struct Node<'a> {
    pub(super) position: &'a Position,
    pub(super) kind: NodeKind,
    pub(super) alpha: Value,
    pub(super) beta: Value,
    pub(super) depth: i32,
    pub(super) ply: usize,
    /// The raw static evaluation; `NO_VALUE` in check.
    pub(super) raw_eval: Value,
    /// The evaluation with corrections and the transposition table's bound.
    pub(super) eval: Value,
    pub(super) in_check: bool,
    /// The opponent could explode our king now.
    pub(super) is_threatened: bool,
    /// Where the quiet moves that may parry that start and end.
    pub(super) parries: [Bitboard; 2],
    /// The evaluation is better than two plies before.
    pub(super) is_improving: bool,
    pub(super) table_move: Option<Move>,
    /// How many plies deeper the table move is searched; negative: less deeply.
    pub(super) extension_of_table_move: i32,
    /// A move that is left out, to see what the others are worth.
    pub(super) excluded: Option<Move>,
    pub(super) context: Context,
}

/// The result of a node's move loop.
pub(super) struct LoopEnd {
    pub(super) value: Value,
    best: Option<Move>,
    /// Whether any move was legal.
    had_moves: bool,
}

impl Searcher {
    /// The value of a position within a window, `depth` plies deep.
    pub(super) fn search(
        &mut self,
        position: &Position,
        kind: NodeKind,
        window: (Value, Value),
        depth: i32,
        ply: usize,
    ) -> Value {
        let (mut alpha, mut beta) = window;
        debug_assert!(-INFINITE <= alpha && alpha < beta && beta <= INFINITE);
        debug_assert!(kind == NodeKind::Pv || alpha == beta - 1);
        self.frame(ply).pv.clear();
        if depth <= 0 {
            return self.quiescence(position, kind, window, ply);
        }
        if self.enter_node() {
            return DRAW;
        }
        self.seldepth = self.seldepth.max(ply);
        if self.is_draw(position, ply) {
            return self.draw_value(position);
        }
        if ply >= MAX_PLY - 1 {
            return self.evaluator.evaluate(position, ply);
        }
        alpha = alpha.max(mated_in(ply));
        beta = beta.min(mate_in(ply + 1));
        let key = self.table_key(position);
        // Before `win_now`, which costs more and stores nothing.
        let entry = self.table.probe(key);
        if alpha < beta
            && let Some(value) = entry
                .and_then(|entry| table_cutoff(&entry, position, kind, (alpha, beta), depth, ply))
        {
            return value;
        }
        if let Some(value) = self.win_now(position, kind, ply) {
            return value;
        }
        if alpha >= beta {
            return alpha;
        }
        let tb_bound = match self.ask_tables(position, key, (alpha, beta), depth, ply) {
            ControlFlow::Break(value) => return value,
            ControlFlow::Continue(tb_bound) => tb_bound,
        };
        alpha = alpha.max(tb_bound.least);
        let mut node = self.node(position, kind, (alpha, beta), depth, ply, entry);

        if let Some(value) = node.reverse_futility() {
            return value;
        }
        if let Some(value) = self.null_move(&node) {
            return value;
        }
        node.depth -= node.internal_reduction();
        match self.singular(&node, entry) {
            ControlFlow::Break(value) => return tb_bound.clamp(value),
            ControlFlow::Continue(extension) => node.extension_of_table_move = extension,
        }

        let mut verdict = self.try_moves(&node);
        if self.is_halted() {
            return DRAW;
        }
        if !verdict.had_moves {
            return if node.in_check {
                mated_in(ply)
            } else {
                self.draw_value(position)
            };
        }
        verdict.value = tb_bound.clamp(verdict.value);
        self.remember(key, &node, &verdict);
        self.correct(&node, &verdict);
        verdict.value
    }

    /// Drawn by the rules, as far as the search checks them before searching.
    #[inline]
    pub(super) fn is_draw(&self, position: &Position, ply: usize) -> bool {
        let clock = position.halfmove_clock();
        if clock >= 100 || (may_be_insufficient(position) && position.insufficient_material()) {
            // A mate ends the game first.
            return !position.in_check() || position.count_moves() > 0;
        }
        clock >= 4 && self.is_repetition(position, ply)
    }

    /// The side to move explodes the king: no search is needed.
    #[inline]
    pub(super) fn win_now(
        &mut self,
        position: &Position,
        kind: NodeKind,
        ply: usize,
    ) -> Option<Value> {
        if !position.can_explode() {
            return None;
        }
        if let (NodeKind::Pv, Some(mv)) = (kind, winning_move(position)) {
            let pv = &mut self.frame(ply).pv;
            pv.clear();
            pv.push(mv);
        }
        Some(mate_in(ply + 1))
    }

    /// The evaluation, from the table if it is there.
    #[inline]
    pub(super) fn static_eval(
        &mut self,
        position: &Position,
        entry: Option<Entry>,
        ply: usize,
    ) -> Value {
        match entry {
            Some(entry) if entry.eval != NO_VALUE => entry.eval,
            _ => self.evaluator.evaluate(position, ply),
        }
    }

    fn node<'a>(
        &mut self,
        position: &'a Position,
        kind: NodeKind,
        (alpha, beta): (Value, Value),
        depth: i32,
        ply: usize,
        entry: Option<Entry>,
    ) -> Node<'a> {
        let in_check = position.in_check();
        let raw_eval = if in_check {
            NO_VALUE
        } else {
            self.static_eval(position, entry, ply)
        };
        let eval = self.corrected(position, raw_eval);
        let before = self.frames[ply].static_eval;
        self.frame(ply).static_eval = eval;
        if let Some(frame) = self.frames.get_mut(BEFORE_ROOT + ply + 2) {
            frame.killer = None;
        }
        let theirs = position.attacks_by(!position.turn(), position.occupied());
        Node {
            position,
            kind,
            alpha,
            beta,
            depth,
            ply,
            raw_eval,
            eval: bounded_eval(eval, entry, position, ply),
            in_check,
            is_threatened: position.is_threatened_with(theirs),
            parries: position.parries(theirs),
            is_improving: !in_check && before != NO_VALUE && eval > before,
            table_move: entry.and_then(|entry| entry.best),
            extension_of_table_move: 0,
            excluded: None,
            context: self.context(position, theirs, ply),
        }
    }

    /// The static evaluation with the correction history.
    #[inline]
    pub(super) fn corrected(&self, position: &Position, eval: Value) -> Value {
        if eval == NO_VALUE {
            return eval;
        }
        (eval + self.corrections.of(position)).clamp(1 - MATE_BOUND, MATE_BOUND - 1)
    }

    /// Updates the correction history where the search has shown an error: not if the best move is
    /// a blast, which no static evaluation foresees, and not from a bound that does not contradict
    /// it.
    fn correct(&mut self, node: &Node<'_>, verdict: &LoopEnd) {
        if node.in_check || is_decisive(verdict.value) {
            return;
        }
        let eval = self.frame(node.ply).static_eval;
        let is_blast = verdict.best.is_some_and(|mv| is_noisy(node.position, mv));
        let is_silent = (verdict.value >= node.beta && verdict.value <= eval)
            || (verdict.value <= node.alpha && verdict.value >= eval);
        if !is_blast && !is_silent {
            self.corrections
                .learn(node.position, verdict.value - eval, node.depth);
        }
    }

    /// Tries the moves of a node but the excluded one.
    pub(super) fn try_moves(&mut self, node: &Node<'_>) -> LoopEnd {
        let (position, ply) = (node.position, node.ply);
        let killer = self.frame(ply).killer;
        let mut picker = MovePicker::new(position, PickMode::All, node.table_move, killer);
        let mut verdict = LoopEnd {
            value: -INFINITE,
            best: None,
            had_moves: false,
        };
        let mut tried: ArrayVec<(Move, MoveClass), 64> = ArrayVec::new();
        let (mut alpha, mut count, mut best) = (node.alpha, 0, None);

        while let Some(picked) = picker.next(position, &self.histories, &node.context) {
            if Some(picked.mv) == node.excluded {
                continue;
            }
            verdict.had_moves = true;
            if !is_lost(verdict.value) && node.skips(&picked, count, &mut picker) {
                continue;
            }
            if self.loses_to_threat(node, &picked) {
                let value = mated_in(ply + 2);
                if node.kind == NodeKind::Pv && value > verdict.value.max(alpha) {
                    // Should no move do better, the line ends with the explosion.
                    self.win_now(&position.play(picked.mv), node.kind, ply + 1);
                    self.update_pv(ply, picked.mv);
                }
                verdict.value = verdict.value.max(value);
                continue;
            }
            count += 1;
            let value = self.try_move(node, &picked, alpha, count);
            if self.is_halted() {
                return verdict;
            }
            if value > verdict.value {
                verdict.value = value;
                if value > alpha {
                    best = Some(picked);
                    if node.kind == NodeKind::Pv {
                        self.update_pv(ply, picked.mv);
                    }
                    if value >= node.beta {
                        break;
                    }
                    alpha = value;
                }
            }
            // A sixty-fifth move without a cutoff gets no penalty.
            let _ = tried.try_push((picked.mv, picked.class));
        }
        if let Some(best) = best {
            verdict.best = Some(best.mv);
            self.learn(node, &best, &tried);
        }
        verdict
    }

    /// Searches one move: in full, or reduced first and in full only if it fails high.
    fn try_move(&mut self, node: &Node<'_>, picked: &Picked, alpha: Value, count: usize) -> Value {
        let (ply, mv) = (node.ply, picked.mv);
        let child = node.position.play(mv);
        self.table.prefetch(self.table_key(&child));
        let gives_check = child.in_check();
        self.descend(&child, piece_on_square(node.position, mv), ply);
        let depth = node.depth - 1 + node.extension(mv);
        let beta = node.beta;

        let mut value = -INFINITE;
        let mut is_open = true;
        if count > 1 {
            let reduced = node.reduced_depth(picked, count, depth, gives_check);
            let narrow = (-alpha - 1, -alpha);
            let kind = if reduced < depth {
                NodeKind::Cut
            } else {
                node.kind.child()
            };
            value = -self.search(&child, kind, narrow, reduced, ply + 1);
            if value > alpha && reduced < depth {
                value = -self.search(&child, node.kind.child(), narrow, depth, ply + 1);
            }
            is_open = value > alpha && value < beta;
        }
        if is_open && (count == 1 || node.kind == NodeKind::Pv) {
            let kind = if node.kind == NodeKind::Pv {
                NodeKind::Pv
            } else {
                node.kind.child()
            };
            value = -self.search(&child, kind, (-beta, -alpha), depth, ply + 1);
        }
        self.ascend();
        value
    }

    /// A move caused a cutoff or is best on the principal variation: raises its histories and lowers
    /// those of the other moves that were tried.
    fn learn(&mut self, node: &Node<'_>, picked: &Picked, tried: &[(Move, MoveClass)]) {
        let bonus = history::bonus(node.depth);
        let position = node.position;
        let others = |wanted| {
            let others = tried
                .iter()
                .filter(move |(mv, class)| *class == wanted && *mv != picked.mv);
            others.map(|(mv, _)| *mv)
        };
        if picked.class == MoveClass::Quiet {
            self.frame(node.ply).killer = Some(picked.mv);
            self.histories
                .reward_quiet(position, &node.context, picked.mv, bonus);
            for mv in others(MoveClass::Quiet) {
                self.histories
                    .reward_quiet(position, &node.context, mv, -bonus);
            }
        } else {
            self.histories.reward_capture(position, picked.mv, bonus);
        }
        for mv in others(MoveClass::Noisy) {
            self.histories.reward_capture(position, mv, -bonus);
        }
    }

    fn remember(&mut self, key: u64, node: &Node<'_>, verdict: &LoopEnd) {
        let bound = if verdict.value >= node.beta {
            Bound::Lower
        } else if verdict.value > node.alpha {
            Bound::Exact
        } else {
            Bound::Upper
        };
        let entry = Entry {
            best: verdict.best,
            value: value_to_store(verdict.value, node.ply),
            eval: node.raw_eval,
            depth: node.depth,
            bound,
        };
        self.table.store(key, entry);
    }
}

/// The stored value, if it causes a cutoff off the principal variation.
#[inline]
pub(super) fn table_cutoff(
    entry: &Entry,
    position: &Position,
    kind: NodeKind,
    (alpha, beta): (Value, Value),
    depth: i32,
    ply: usize,
) -> Option<Value> {
    let value = entry.value_at(ply, position.halfmove_clock());
    // A lower bound must be deeper than the node, and more so where much is left to search.
    let surplus = i32::from(depth > 0) + i32::from(depth >= params::TT_CUTOFF_DEEP);
    let is_lower = value >= beta && entry.bound == Bound::Lower;
    let is_deep = entry.depth >= depth + if is_lower { surplus } else { 0 };
    let settles = kind != NodeKind::Pv
        && is_deep
        && value != NO_VALUE
        && position.halfmove_clock() < params::TT_CUTOFF_CLOCK
        && entry.bound.settles(value, alpha, beta);
    settles.then_some(value)
}

/// The evaluation, improved by what the table has proved.
#[inline]
pub(super) fn bounded_eval(
    eval: Value,
    entry: Option<Entry>,
    position: &Position,
    ply: usize,
) -> Value {
    let stored = entry.map(|entry| (entry.bound, entry.value_at(ply, position.halfmove_clock())));
    let is_usable = |value| eval != NO_VALUE && value != NO_VALUE && !is_decisive(value);
    match stored.filter(|&(_, value)| is_usable(value)) {
        Some((Bound::Exact, value)) => value,
        Some((Bound::Lower, value)) => value.max(eval),
        Some((Bound::Upper, value)) => value.min(eval),
        Some((Bound::None, _)) | None => eval,
    }
}
