//! Endgame tables at a node: what they prove, as bounds of its value.
//!
//! Probed where the fifty-move count has just restarted, where their answer is exact. A draw is exact
//! at any count, so where tables know the root to be won, every node is probed for one: that leaves the
//! lines that keep the win. Without tables this costs one comparison per node.

use std::ops::ControlFlow;

use super::searcher::Searcher;
use crate::engine::params;
use crate::engine::score::{INFINITE, NO_VALUE, Value, table_win_in};
use crate::engine::tablebase::Wdl;
use crate::engine::tt::{Bound, Entry, value_to_store};
use crate::rules::{CastlingRights, Position};

/// What is proved of a node's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TbBound {
    pub(super) least: Value,
    pub(super) most: Value,
}

impl TbBound {
    const NOTHING: TbBound = TbBound {
        least: -INFINITE,
        most: INFINITE,
    };

    const fn exactly(value: Value) -> TbBound {
        TbBound {
            least: value,
            most: value,
        }
    }

    /// The value of a table result `ply` plies from the root, where a draw is worth `draw`. A win may
    /// still be a mate, and so may a loss.
    const fn by(wdl: Wdl, ply: usize, fifty_moves: bool, draw: Value) -> TbBound {
        let win = table_win_in(ply);
        match wdl {
            Wdl::CursedWin if fifty_moves => TbBound::exactly(draw + 1),
            Wdl::BlessedLoss if fifty_moves => TbBound::exactly(draw - 1),
            Wdl::Draw => TbBound::exactly(draw),
            Wdl::Win | Wdl::CursedWin => TbBound {
                least: win,
                most: INFINITE,
            },
            Wdl::Loss | Wdl::BlessedLoss => TbBound {
                least: -INFINITE,
                most: -win,
            },
        }
    }

    /// The value with its kind of bound, if it decides the window.
    const fn settles(self, alpha: Value, beta: Value) -> Option<(Value, Bound)> {
        if self.least == self.most {
            Some((self.least, Bound::Exact))
        } else if self.least >= beta {
            Some((self.least, Bound::Lower))
        } else if self.most <= alpha {
            Some((self.most, Bound::Upper))
        } else {
            None
        }
    }

    /// The search's value, within what is proved.
    #[inline]
    pub(super) fn clamp(self, value: Value) -> Value {
        value.clamp(self.least, self.most)
    }
}

impl Searcher {
    /// Probes a node: its value, if that causes a cutoff, or what is proved.
    #[inline]
    pub(super) fn ask_tables(
        &mut self,
        position: &Position,
        key: u64,
        window: (Value, Value),
        depth: i32,
        ply: usize,
    ) -> ControlFlow<Value, TbBound> {
        if self.table_pieces < position.occupied().count()
            || (position.halfmove_clock() > 0 && !self.keeps_table_win)
        {
            return ControlFlow::Continue(TbBound::NOTHING);
        }
        self.probe_tables(position, key, window, depth, ply)
    }

    #[cold]
    fn probe_tables(
        &mut self,
        position: &Position,
        key: u64,
        (alpha, beta): (Value, Value),
        depth: i32,
        ply: usize,
    ) -> ControlFlow<Value, TbBound> {
        let nothing = ControlFlow::Continue(TbBound::NOTHING);
        let Some(tables) = &self.tables else {
            return nothing;
        };
        let is_largest = position.occupied().count() == self.table_pieces;
        if position.castling_rights() != CastlingRights::NONE
            || (is_largest && depth < tables.depth)
        {
            return nothing;
        }
        let Some(wdl) = tables.probe.wdl(position) else {
            return nothing;
        };
        if position.halfmove_clock() > 0 && wdl != Wdl::Draw {
            return nothing;
        }
        self.table_hits += 1;
        let tb_bound = TbBound::by(wdl, ply, tables.fifty_moves, self.draw_value(position));
        let Some((value, bound)) = tb_bound.settles(alpha, beta) else {
            return ControlFlow::Continue(tb_bound);
        };
        let entry = Entry {
            best: None,
            value: value_to_store(value, ply),
            eval: NO_VALUE,
            depth: depth + params::TABLE_DEPTH_BONUS,
            bound,
        };
        self.table.store(key, entry);
        ControlFlow::Break(value)
    }
}

#[cfg(test)]
mod tests;
