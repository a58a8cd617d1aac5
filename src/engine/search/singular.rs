//! Singular extension: is the table move alone in being good?
//!
//! A reduced search of all other moves, in a window below the stored value, decides: if they fail, the
//! table move is searched deeper; if they reach beta without it, the node is cut (multicut); and if
//! the table move is one of several good ones, it is searched less deeply. Not in check, where every
//! answer is extended already.

use std::ops::ControlFlow;

use super::node::{Node, NodeKind};
use super::searcher::Searcher;
use crate::engine::params;
use crate::engine::score::{NO_VALUE, Value, is_decisive};
use crate::engine::tt::{Bound, Entry};
use crate::engine::tunables;

impl Searcher {
    /// The plies by which the table move is extended, or the value that cuts the node.
    pub(super) fn singular(
        &mut self,
        node: &Node<'_>,
        entry: Option<Entry>,
    ) -> ControlFlow<Value, i32> {
        let unchanged = ControlFlow::Continue(0);
        let Some(value) = self.value_to_beat(node, entry) else {
            return unchanged;
        };
        let margin = tunables::singular_margin() * node.depth / params::SINGULAR_MARGIN_UNIT;
        let beta = value - margin;
        let others = Node {
            kind: match node.kind {
                NodeKind::Pv => NodeKind::Cut,
                kind => kind,
            },
            alpha: beta - 1,
            beta,
            depth: (node.depth - 1) / 2,
            excluded: node.table_move,
            ..*node
        };
        let found = self.try_moves(&others).value;
        if self.is_halted() {
            return unchanged;
        }
        let is_pv = node.kind == NodeKind::Pv;
        if found < beta {
            let is_alone = !is_pv && found < beta - tunables::singular_double();
            ControlFlow::Continue(1 + i32::from(is_alone))
        } else if found >= node.beta && !is_decisive(found) {
            ControlFlow::Break(found)
        } else if value >= node.beta {
            ControlFlow::Continue(-tunables::singular_negative())
        } else {
            unchanged
        }
    }

    /// The stored value of the table move, if it is worth the question.
    fn value_to_beat(&self, node: &Node<'_>, entry: Option<Entry>) -> Option<Value> {
        let entry = entry?;
        let value = entry.value_at(node.ply, node.position.halfmove_clock());
        let is_asked = node.depth >= tunables::singular_depth()
            && !node.in_check
            && node.ply < params::SINGULAR_REACH * self.root_depth as usize
            && matches!(entry.bound, Bound::Lower | Bound::Exact)
            && entry.depth >= node.depth - params::SINGULAR_DEPTH_BEHIND
            && value != NO_VALUE
            && !is_decisive(value)
            && node.table_move.is_some_and(|mv| node.position.is_legal(mv));
        is_asked.then_some(value)
    }
}
