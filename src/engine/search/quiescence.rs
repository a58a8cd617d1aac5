//! Quiescence: resolves blasts until the static evaluation is reliable.
//!
//! In check there is no standing pat: every move is tried. Otherwise only captures and promotions
//! with a good blast balance.

use super::node::{NodeKind, table_cutoff, table_key};
use super::searcher::Searcher;
use crate::engine::history::man_on_square;
use crate::engine::movepick::{MovePicker, PickMode};
use crate::engine::params;
use crate::engine::score::{DRAW, INFINITE, MAX_PLY, NO_VALUE, Value, mated_in};
use crate::engine::tt::{Bound, Entry, value_to_store};
use crate::engine::tunables;
use crate::rules::{Move, Position};

impl Searcher {
    /// The value of a position once its captures are resolved.
    pub(super) fn quiescence(
        &mut self,
        position: &Position,
        kind: NodeKind,
        (mut alpha, beta): (Value, Value),
        ply: usize,
    ) -> Value {
        if self.enter_node() {
            return DRAW;
        }
        self.seldepth = self.seldepth.max(ply);
        if self.is_draw(position, ply) {
            return DRAW;
        }
        let attacks = self.judge.attacks(position);
        if ply >= MAX_PLY - 1 {
            return self.judge.evaluate(position, &attacks, ply);
        }
        if let Some(value) = self.win_now(position, &attacks, kind, ply) {
            return value;
        }
        let key = table_key(position);
        let entry = self.table.probe(key);
        if let Some(value) =
            entry.and_then(|entry| table_cutoff(&entry, position, kind, (alpha, beta), 0, ply))
        {
            return value;
        }

        let in_check = position.in_check();
        let raw_eval = if in_check {
            NO_VALUE
        } else {
            self.static_eval(position, &attacks, entry, ply)
        };
        let eval = self.corrected(position, raw_eval);
        let mut best = if in_check { -INFINITE } else { eval };
        if best >= beta {
            if entry.is_none() {
                self.remember_quiet(key, ply, [raw_eval, best], None, Bound::Lower);
            }
            return best;
        }
        let alpha_before = alpha;
        alpha = alpha.max(best);

        let context = self.context(position, attacks.by(!position.turn()), ply);
        let wanted = if in_check {
            PickMode::All
        } else {
            PickMode::Noisy
        };
        let table_move = entry.and_then(|entry| entry.best);
        let mut picker = MovePicker::new(position, wanted, table_move, None);
        let (mut count, mut best_move) = (0, None);
        while let Some(picked) = picker.next(position, &self.histories, &context) {
            if !in_check {
                if picked.worth < -params::QS_SEE_MARGIN || count >= tunables::qs_captures() {
                    break;
                }
                let hoped = eval + picked.worth + tunables::qs_margin();
                if hoped <= alpha {
                    best = best.max(hoped);
                    continue;
                }
            }
            count += 1;
            let child = position.play(picked.mv);
            self.table.prefetch(table_key(&child));
            self.descend(&child, man_on_square(position, picked.mv), ply);
            self.frame(ply + 1).pv.clear();
            let value = -self.quiescence(&child, kind, (-beta, -alpha), ply + 1);
            self.ascend();
            if self.is_halted() {
                return DRAW;
            }
            if value > best {
                best = value;
                if value > alpha {
                    best_move = Some(picked.mv);
                    alpha = value;
                    if kind == NodeKind::Pv {
                        self.update_pv(ply, picked.mv);
                    }
                    if value >= beta {
                        break;
                    }
                }
            }
        }
        if in_check && best == -INFINITE {
            return mated_in(ply);
        }
        let bound = if best >= beta {
            Bound::Lower
        } else if kind == NodeKind::Pv && best > alpha_before {
            Bound::Exact
        } else {
            Bound::Upper
        };
        self.remember_quiet(key, ply, [raw_eval, best], best_move, bound);
        best
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
