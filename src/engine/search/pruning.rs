//! The techniques that prune a node or a move, one function each.
//!
//! None trusts a static score in check, and none cuts a whole node under a threatened explosion.

use super::node::{Node, NodeKind};
use super::searcher::{Searcher, may_be_insufficient};
use crate::engine::history::{NO_CONTEXT, piece_on_square};
use crate::engine::lmr::{self, MoveClass};
use crate::engine::movepick::{MovePicker, Picked};
use crate::engine::params;
use crate::engine::score::{MATE_BOUND, MAX_PLY, Value, is_decisive};
use crate::engine::see;
use crate::engine::tunables;
use crate::rules::{Move, Role};

impl Node<'_> {
    /// Neither in check nor about to be exploded: the static evaluation is reliable enough to cut the
    /// node by it.
    #[inline]
    pub(super) fn is_calm(&self) -> bool {
        !self.in_check && !self.is_threatened
    }

    /// Reverse futility: far enough above beta that no reply is expected to lower it.
    #[inline]
    pub(super) fn reverse_futility(&self) -> Option<Value> {
        let depth = self.depth - params::RFP_IMPROVING * i32::from(self.is_improving);
        let deep = params::RFP_DEEP_MARGIN * (depth - params::RFP_DEEP).max(0).pow(2);
        let holds = self.kind != NodeKind::Pv
            && self.is_calm()
            && self.depth <= tunables::rfp_depth()
            && !is_decisive(self.beta)
            && !is_decisive(self.eval)
            && self.eval - tunables::rfp_margin() * depth - deep >= self.beta;
        holds.then(|| i32::midpoint(self.eval, self.beta))
    }

    /// Internal iterative reduction: without a hash move a deep search is not worth its price.
    #[inline]
    pub(super) fn internal_reduction(&self) -> i32 {
        let reduces = self.table_move.is_none()
            && self.kind != NodeKind::All
            && self.depth >= tunables::iir_depth();
        i32::from(reduces)
    }

    /// The plies by which a move is searched deeper: answers to a check, which are forced, and a
    /// singular table move.
    #[inline]
    pub(super) fn extension(&self, mv: Move) -> i32 {
        if self.table_move == Some(mv) && self.excluded.is_none() && !self.in_check {
            return self.extension_of_table_move;
        }
        i32::from(self.in_check && self.ply < 2 * MAX_PLY / 3)
    }

    /// Whether to skip this move, once a move that does not lose at once is known. May also skip
    /// all quiet moves.
    #[inline]
    pub(super) fn skips(&self, picked: &Picked, count: usize, moves: &mut MovePicker) -> bool {
        if self.in_check || count == 0 {
            return false;
        }
        match picked.class {
            MoveClass::Noisy => self.loses_by_capture(picked) && !self.attacks_king(picked.mv),
            MoveClass::Quiet => {
                if self.kind != NodeKind::Pv && self.is_late(count) {
                    moves.skip_quiets();
                }
                !picked.threatens && (self.has_bad_history(picked) || self.loses_by_step(picked))
            }
        }
    }

    #[inline]
    fn is_late(&self, count: usize) -> bool {
        let squared = (self.depth * self.depth) as usize;
        let most = (tunables::lmp_base() as usize + squared) / (2 - usize::from(self.is_improving));
        self.depth <= tunables::lmp_depth() && count > most
    }

    #[inline]
    fn has_bad_history(&self, picked: &Picked) -> bool {
        self.kind != NodeKind::Pv
            && self.depth <= tunables::history_prune_depth()
            && picked.history < tunables::history_prune_margin() * self.depth
    }

    #[inline]
    fn loses_by_capture(&self, picked: &Picked) -> bool {
        self.depth <= tunables::see_prune_depth()
            && picked.balance < -tunables::see_capture_margin() * self.depth
    }

    /// Whether a capture gives check or threatens to explode the enemy king.
    fn attacks_king(&self, mv: Move) -> bool {
        let child = self.position.play(mv);
        child.in_check() || child.is_threatened()
    }

    #[inline]
    fn loses_by_step(&self, picked: &Picked) -> bool {
        let (attacked, mv) = (self.context.attacked, picked.mv);
        self.depth <= tunables::see_prune_depth()
            // Neither from nor to an attacked square: no piece can capture it there.
            && (attacked.contains(mv.from()) || attacked.contains(mv.to()))
            && see::quiet(self.position, mv) < -tunables::see_quiet_margin() * self.depth
    }

    /// Whether a quiet move certainly leaves the threatened explosion possible, and does not draw: that
    /// takes the fifty-move count, little material, or a position that was there twice before the root.
    #[inline]
    fn cannot_parry(&self, mv: Move) -> bool {
        let ([from, to], clock) = (self.parries, self.position.halfmove_clock());
        !from.contains(mv.from())
            && !to.contains(mv.to())
            && !self.position.by_role(Role::King).contains(mv.from())
            && (clock as usize) < (self.ply + 4).min(99)
            && !may_be_insufficient(self.position)
    }

    /// The depth of a late move's first search.
    pub(super) fn reduced_depth(
        &self,
        picked: &Picked,
        count: usize,
        depth: i32,
        gives_check: bool,
    ) -> i32 {
        if self.depth < params::LMR_DEPTH || count <= tunables::lmr_moves() as usize {
            return depth;
        }
        let mut reduction = lmr::base(picked.class, self.depth, count);
        reduction += tunables::lmr_cut_node() * i32::from(self.kind == NodeKind::Cut);
        reduction -= tunables::lmr_pv() * i32::from(self.kind == NodeKind::Pv);
        reduction += tunables::lmr_not_improving() * i32::from(!self.is_improving);
        reduction -= tunables::lmr_check() * i32::from(gives_check);
        reduction -= tunables::lmr_pressed() * i32::from(self.in_check || self.is_threatened);
        reduction -= tunables::lmr_creates_threat() * i32::from(picked.threatens);
        reduction -= tunables::lmr_killer() * i32::from(picked.is_killer);
        if picked.class == MoveClass::Quiet {
            reduction -= picked.history * lmr::PLY / tunables::lmr_history_divisor();
        }
        (depth - reduction / lmr::PLY).clamp(1.min(depth), depth)
    }
}

impl Searcher {
    /// Whether a move leaves the threatened explosion possible. The opponent wins with it, even if the
    /// move gives check: the value is known without a child, and the move does not count as tried.
    #[inline]
    pub(super) fn loses_to_threat(&mut self, node: &Node<'_>, picked: &Picked) -> bool {
        if !node.is_threatened {
            return false;
        }
        let mv = picked.mv;
        if picked.class == MoveClass::Quiet && node.cannot_parry(mv) {
            debug_assert!(node.position.play(mv).can_explode());
            return true;
        }
        let child = node.position.play(mv);
        if !child.can_explode() {
            return false;
        }
        self.descend(&child, piece_on_square(node.position, mv), node.ply);
        let is_draw = self.is_draw(&child, node.ply + 1);
        self.ascend();
        !is_draw
    }

    /// Null move: if passing is good enough, some move will be too. Not with few pieces, where
    /// zugzwang is likely.
    pub(super) fn null_move(&mut self, node: &Node<'_>) -> Option<Value> {
        let position = node.position;
        let simple = position.by_role(Role::King) | position.by_role(Role::Pawn);
        let may_pass = node.kind == NodeKind::Cut
            && node.depth >= params::NULL_DEPTH
            && node.is_calm()
            && node.eval >= node.beta
            && node.beta > -MATE_BOUND
            && node.ply >= self.null_from
            && node.context.before[0] != NO_CONTEXT
            && (position.us() - simple).count() >= params::NULL_PIECES;
        if !may_pass {
            return None;
        }
        let lead = (node.eval - node.beta) / tunables::null_eval_divisor();
        let reduction = tunables::null_base()
            + node.depth / tunables::null_depth_divisor()
            + lead.min(tunables::null_eval_most());
        let depth = node.depth - reduction;
        let window = (-node.beta, 1 - node.beta);
        let child = position.pass();
        self.descend(&child, NO_CONTEXT, node.ply);
        let value = -self.search(&child, NodeKind::All, window, depth, node.ply + 1);
        self.ascend();
        if self.is_halted() || value < node.beta {
            return None;
        }
        let value = if is_decisive(value) { node.beta } else { value };
        if node.depth < tunables::null_verify_depth() {
            return Some(value);
        }
        self.verify_null(node, depth).then_some(value)
    }

    /// Whether a search with the same reduction still reaches beta.
    fn verify_null(&mut self, node: &Node<'_>, depth: i32) -> bool {
        let before = self.null_from;
        self.null_from = node.ply + (depth.max(0) as usize) * 3 / 4 + 1;
        let window = (node.beta - 1, node.beta);
        let value = self.search(node.position, NodeKind::Cut, window, depth, node.ply);
        self.null_from = before;
        !self.is_halted() && value >= node.beta
    }
}
