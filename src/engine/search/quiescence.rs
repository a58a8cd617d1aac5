//! Quiescence: resolves blasts until the static evaluation is reliable.
//!
//! In check there is no standing pat: every move is tried. Otherwise only captures and promotions
//! with a good blast balance.

use super::node::{NodeKind, bounded_eval, table_cutoff};
use super::searcher::Searcher;
use crate::engine::history::{Context, piece_on_square};
use crate::engine::movepick::{MovePicker, PickMode, Picked};
use crate::engine::score::{DRAW, INFINITE, MAX_PLY, NO_VALUE, Value, mated_in};
use crate::engine::tt::{Bound, Entry, value_to_store};
use crate::engine::tunables;
use crate::rules::{Bitboard, Move, Position};

/// What is known of a node of quiescence before its moves are tried.
struct QuietNode<'a> {
    position: &'a Position,
    kind: NodeKind,
    alpha: Value,
    beta: Value,
    ply: usize,
    in_check: bool,
    /// The evaluation with corrections and the transposition table's bound; `NO_VALUE` in check.
    eval: Value,
    table_move: Option<Move>,
    context: Context,
}

/// What to do with a move.
enum Choice {
    Try,
    /// It cannot raise the value above this.
    Skip(Value),
    /// Neither it nor any later one.
    Stop,
}

impl Searcher {
    /// The value of a position once its captures are resolved.
    pub(super) fn quiescence(
        &mut self,
        position: &Position,
        kind: NodeKind,
        (alpha, beta): (Value, Value),
        ply: usize,
    ) -> Value {
        debug_assert!(-INFINITE <= alpha && alpha < beta && beta <= INFINITE);
        debug_assert!(kind == NodeKind::Pv || alpha == beta - 1);
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
        let key = self.table_key(position);
        let entry = self.table.probe(key);
        if let Some(value) =
            entry.and_then(|entry| table_cutoff(&entry, position, kind, (alpha, beta), 0, ply))
        {
            return value;
        }
        if let Some(value) = self.win_now(position, kind, ply) {
            return value;
        }

        let in_check = position.in_check();
        let raw_eval = if in_check {
            NO_VALUE
        } else {
            self.static_eval(position, entry, ply)
        };
        let eval = bounded_eval(self.corrected(position, raw_eval), entry, position, ply);
        if !in_check && eval >= beta {
            if entry.is_none() {
                self.remember_quiet(key, ply, [raw_eval, eval], None, Bound::Lower);
            }
            return eval;
        }
        // They matter to quiet moves only.
        let attacked = if in_check {
            position.attacks_by(!position.turn(), position.occupied())
        } else {
            Bitboard::EMPTY
        };
        let node = QuietNode {
            position,
            kind,
            alpha,
            beta,
            ply,
            in_check,
            eval,
            table_move: entry.and_then(|entry| entry.best),
            context: self.context(position, attacked, ply),
        };
        let (value, best) = self.resolve(&node);
        if self.is_halted() {
            return DRAW;
        }
        if in_check && value == -INFINITE {
            return mated_in(ply);
        }
        let bound = if value >= beta {
            Bound::Lower
        } else if kind == NodeKind::Pv && value > alpha {
            Bound::Exact
        } else {
            Bound::Upper
        };
        self.remember_quiet(key, ply, [raw_eval, value], best, bound);
        value
    }

    /// Stands pat or tries the captures, in check all moves: the value, and the move that raised
    /// alpha last.
    fn resolve(&mut self, node: &QuietNode<'_>) -> (Value, Option<Move>) {
        let (position, ply) = (node.position, node.ply);
        let (wanted, mut value) = if node.in_check {
            (PickMode::All, -INFINITE)
        } else {
            (PickMode::Noisy, node.eval)
        };
        let mut alpha = node.alpha.max(value);
        let mut picker = MovePicker::new(position, wanted, node.table_move, None);
        let mut best = None;
        while let Some(picked) = picker.next(position, &self.histories, &node.context) {
            match node.choose(&picked, alpha) {
                Choice::Try => {}
                Choice::Skip(hoped) => {
                    value = value.max(hoped);
                    continue;
                }
                Choice::Stop => break,
            }
            let child = position.play(picked.mv);
            self.table.prefetch(self.table_key(&child));
            self.descend(&child, piece_on_square(position, picked.mv), ply);
            self.frame(ply + 1).pv.clear();
            let found = -self.quiescence(&child, node.kind, (-node.beta, -alpha), ply + 1);
            self.ascend();
            if self.is_halted() {
                break;
            }
            value = value.max(found);
            if found > alpha {
                (alpha, best) = (found, Some(picked.mv));
                if node.kind == NodeKind::Pv {
                    self.update_pv(ply, picked.mv);
                }
                if found >= node.beta {
                    break;
                }
            }
        }
        (value, best)
    }

    fn remember_quiet(
        &self,
        key: u64,
        ply: usize,
        [eval, value]: [Value; 2],
        best: Option<Move>,
        bound: Bound,
    ) {
        let value = value_to_store(value, ply);
        self.table.store(
            key,
            Entry {
                best,
                value,
                eval,
                depth: 0,
                bound,
            },
        );
    }
}

impl QuietNode<'_> {
    /// Out of check only captures that lose nothing and can reach alpha are tried.
    #[inline]
    fn choose(&self, picked: &Picked, alpha: Value) -> Choice {
        if self.in_check {
            return Choice::Try;
        }
        if picked.balance < 0 {
            return Choice::Stop;
        }
        let hoped = self.eval + picked.balance + tunables::qs_margin();
        if hoped <= alpha {
            Choice::Skip(hoped)
        } else {
            Choice::Try
        }
    }
}
