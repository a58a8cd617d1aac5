//! The state of one search thread, which outlives single searches.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use arrayvec::ArrayVec;

use super::control::Control;
use super::team::{Team, ThreadVote};
use super::thread_evaluator::ThreadEvaluator;
use crate::engine::core_scheduler::{CorePermit, CorePermits};
use crate::engine::correction::Corrections;
use crate::engine::helper_threads::{HelperRun, HelperState, HelperThreads, PostedRequest};
use crate::engine::history::{Context, Histories, NO_CONTEXT, PieceSquare};
use crate::engine::limits::Limits;
use crate::engine::options::EngineOptions;
use crate::engine::params;
use crate::engine::score::{DRAW, MAX_PLY, NO_VALUE, Value};
use crate::engine::search_handle::SearchShared;
use crate::engine::search_result::{ReportSink, StopReason};
use crate::engine::see;
use crate::engine::tablebase::Tablebases;
use crate::engine::tt::TranspositionTable;
use crate::engine::tunables::SearchParams;
use crate::rules::{Bitboard, Game, Move, Position};

/// Frames before the root, so that "two plies before" always exists.
pub(super) const BEFORE_ROOT: usize = 2;

/// A search to do.
pub(in crate::engine) struct Task {
    pub(super) root: Position,
    /// The keys of the game so far, the current position last.
    pub(super) keys: Vec<u64>,
    pub(super) limits: Limits,
    pub(super) report: Option<ReportSink>,
    pub(in crate::engine) search_shared: Arc<SearchShared>,
}

impl Task {
    pub(in crate::engine) fn new(
        game: &Game,
        limits: Limits,
        report: Option<ReportSink>,
        search_shared: Arc<SearchShared>,
    ) -> Task {
        let root = *game.position();
        let reach = root.halfmove_clock() as usize + 1;
        let keys = game.keys();
        let keys = keys[keys.len().saturating_sub(reach)..].to_vec();
        Task {
            root,
            keys,
            limits,
            report,
            search_shared,
        }
    }
}

/// The search's state of one ply.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) static_eval: Value,
    pub(super) killer: Option<Move>,
    /// The piece moved from this ply and its target square.
    pub(super) moved: PieceSquare,
    /// Plies since the last null move; repetitions reach back no further.
    pub(super) since_null: u32,
    pub(super) pv: ArrayVec<Move, MAX_PLY>,
}

impl Frame {
    pub(super) const fn new() -> Frame {
        Frame {
            static_eval: NO_VALUE,
            killer: None,
            moved: NO_CONTEXT,
            since_null: 0,
            pv: ArrayVec::new_const(),
        }
    }
}

/// A thread's search state. The histories outlive single searches.
pub(in crate::engine) struct Searcher {
    pub(super) table: Arc<TranspositionTable>,
    pub(super) core: CorePermit,
    pub(super) evaluator: ThreadEvaluator,
    pub(super) histories: Histories,
    pub(super) corrections: Corrections,
    pub(super) frames: Vec<Frame>,
    pub(super) keys: Vec<u64>,
    pub(super) control: Control,
    params: SearchParams,
    /// Helper threads to ask.
    pub(super) helpers: Option<Arc<HelperThreads<Searcher>>>,
    pub(super) role: ThreadRole,
    pub(super) nodes: u64,
    pub(super) seldepth: usize,
    /// The age of the table's entries in the last search.
    pub(super) age: u8,
    /// The depth of the iteration.
    pub(super) root_depth: i32,
    /// No null moves before this ply: a verification search is in progress.
    pub(super) null_from: usize,
    /// Endgame tables, if there are any.
    pub(super) tables: Option<Tablebases>,
    /// Positions with at most this many pieces are probed in this search; 0 for none.
    pub(super) table_pieces: usize,
    /// The tables' results, without distances, say that the root is won.
    pub(super) keeps_table_win: bool,
    /// Tablebase hits of this search.
    pub(super) table_hits: u64,
    /// The value of a draw for each side.
    draw: [Value; 2],
}

impl Searcher {
    pub(in crate::engine) fn new(
        table: Arc<TranspositionTable>,
        permits: Arc<CorePermits>,
        options: &EngineOptions,
    ) -> Searcher {
        Searcher {
            table,
            core: CorePermit::new(permits),
            evaluator: ThreadEvaluator::new(&options.evaluator),
            histories: Histories::new(),
            corrections: Corrections::new(),
            frames: vec![Frame::new(); BEFORE_ROOT + MAX_PLY + 2],
            keys: Vec::with_capacity(1024),
            control: Control::idle(),
            params: options.params.clone(),
            helpers: None,
            role: ThreadRole::Answering,
            nodes: 0,
            seldepth: 0,
            age: 0,
            root_depth: 0,
            null_from: 0,
            tables: options.tables.clone(),
            table_pieces: 0,
            keeps_table_win: false,
            table_hits: 0,
            draw: [DRAW; 2],
        }
    }

    /// A searcher whose searches these helpers join.
    pub(in crate::engine) fn with_helpers(
        mut self,
        helpers: Option<Arc<HelperThreads<Searcher>>>,
    ) -> Searcher {
        self.helpers = helpers;
        self
    }

    /// Clears what was learnt about the last game.
    pub(in crate::engine) fn forget(&mut self) {
        self.age = 0;
        self.histories.clear();
        self.corrections.clear();
    }

    /// Resets the state of the last search.
    pub(super) fn begin(
        &mut self,
        root: &Position,
        keys: &[u64],
        limits: &Limits,
        search_shared: Arc<SearchShared>,
    ) {
        self.params.install();
        self.nodes = 0;
        self.seldepth = 0;
        self.null_from = 0;
        self.frames.fill(Frame::new());
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.frame(0).since_null = u32::MAX / 2;
        let contempt = limits
            .contempt
            .clamp(-params::CONTEMPT_MOST, params::CONTEMPT_MOST);
        self.draw[root.turn().index()] = DRAW - contempt;
        self.draw[(!root.turn()).index()] = DRAW + contempt;
        self.control = Control::new(limits, search_shared);
    }

    /// The value of a draw in this position, with contempt.
    #[inline]
    pub(super) const fn draw_value(&self, position: &Position) -> Value {
        self.draw[position.turn().index()]
    }

    /// The table key of a position: near the fifty-move draw it depends on the count, and with contempt on what
    /// a draw is worth.
    #[inline]
    pub(super) fn table_key(&self, position: &Position) -> u64 {
        let stage = u64::from(position.halfmove_clock() / params::TT_CLOCK_STEP);
        let draw = (self.draw[0] as u64).wrapping_mul(params::TT_DRAW_KEY);
        position.key() ^ stage.wrapping_mul(params::TT_CLOCK_KEY) ^ draw
    }

    #[inline]
    pub(super) fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[BEFORE_ROOT + ply]
    }

    /// The histories' view of a node.
    #[inline]
    pub(super) fn context(&self, position: &Position, attacked: Bitboard, ply: usize) -> Context {
        let before = [
            self.frames[BEFORE_ROOT + ply - 1].moved,
            self.frames[ply].moved,
        ];
        Context {
            turn: position.turn(),
            attacked,
            before,
        }
    }

    /// Steps to the child of a ply.
    #[inline]
    pub(super) fn descend(&mut self, child: &Position, moved: PieceSquare, ply: usize) {
        #[cfg(feature = "self-check")]
        assert_eq!(child.flaw(), None, "after a move to {}", child.fen());
        let since_null = if moved == NO_CONTEXT {
            0
        } else {
            self.frame(ply).since_null + 1
        };
        self.frame(ply).moved = moved;
        self.frame(ply + 1).since_null = since_null;
        self.keys.push(child.key());
    }

    #[inline]
    pub(super) fn ascend(&mut self) {
        self.keys.pop();
    }

    /// Prepends the move to the child's principal variation.
    pub(super) fn update_pv(&mut self, ply: usize, mv: Move) {
        let (before, after) = self.frames.split_at_mut(BEFORE_ROOT + ply + 1);
        let (Some(frame), Some(child)) = (before.last_mut(), after.first()) else {
            return;
        };
        frame.pv.clear();
        frame.pv.push(mv);
        let room = frame.pv.remaining_capacity().min(child.pv.len());
        frame.pv.extend(child.pv[..room].iter().copied());
    }

    /// Whether the current position repeats an earlier one so that it counts as a draw: once within
    /// the tree, or twice before the root.
    pub(super) fn is_repetition(&self, position: &Position, ply: usize) -> bool {
        let since_null = self.frames[BEFORE_ROOT + ply].since_null;
        let reach = position.halfmove_clock().min(since_null) as usize;
        let (key, last) = (position.key(), self.keys.len() - 1);
        let mut seen_before_root = false;
        let mut back = 4;
        while back <= reach && back <= last {
            if self.keys[last - back] == key {
                if back < ply || seen_before_root {
                    return true;
                }
                seen_before_root = true;
            }
            back += 2;
        }
        false
    }
}

/// Ends the help for a search when dropped.
pub(super) struct Help {
    pub(super) team: Arc<Team>,
    /// Withdrawn when dropped.
    pub(super) _posted: PostedRequest<Searcher>,
}

impl Drop for Help {
    fn drop(&mut self) {
        self.team.search_shared.stop();
    }
}

/// A helper's part in a search.
pub(super) struct HelperPart {
    pub(super) team: Arc<Team>,
    pub(super) run: HelperRun<Searcher>,
    /// Nodes added to the count of the team so far.
    pub(super) reported: u64,
}

impl HelperPart {
    pub(super) fn count(&mut self, nodes: u64) {
        self.team.nodes.fetch_add(nodes - self.reported, Relaxed);
        self.reported = nodes;
    }

    /// Reports a finished iteration.
    pub(super) fn say(&self, vote: ThreadVote) {
        let mut best = self.team.vote.lock();
        if best
            .as_ref()
            .is_none_or(|best| vote.is_better_than(best.depth, best.value))
        {
            *best = Some(vote);
        }
    }
}

/// A thread's role in a search.
pub(super) enum ThreadRole {
    Answering,
    /// It answers, and may have helpers.
    Leading(Arc<Team>),
    Helping(HelperPart),
}

impl HelperState for Searcher {
    fn core(&mut self) -> &mut CorePermit {
        &mut self.core
    }
}

/// Whether only kings, bishops and pawns, or very few pieces, are left: then the position may be
/// drawn by insufficient material.
#[inline]
pub(super) fn may_be_insufficient(position: &Position) -> bool {
    use crate::rules::Role::{Knight, Queen, Rook};
    let heavy = position.by_role(Knight) | position.by_role(Rook) | position.by_role(Queen);
    heavy.is_empty() || position.occupied().count() <= 4
}

/// A legal move that looks sound: an explosion, else one that allows none, with the best blast exchange.
pub(in crate::engine) fn safe_move(position: &Position, searchmoves: &[Move]) -> Option<Move> {
    position
        .legal_moves()
        .into_iter()
        .filter(|mv| searchmoves.is_empty() || searchmoves.contains(mv))
        .max_by_key(|&mv| {
            let is_safe = position.explodes_king(mv) || !position.play(mv).can_explode();
            (is_safe, see::exchange(position, mv))
        })
}

/// A capture that explodes the enemy king.
pub(super) fn winning_move(position: &Position) -> Option<Move> {
    position
        .legal_moves()
        .into_iter()
        .find(|&mv| position.explodes_king(mv))
}

// Checks of the limits.

impl Searcher {
    /// Counts a node; true if the search must unwind.
    #[inline]
    pub(super) fn enter_node(&mut self) -> bool {
        if self.is_halted() {
            return true;
        }
        self.nodes += 1;
        if self.nodes >= self.control.next_check || self.control.search_shared.is_stopped() {
            self.checkpoint();
        }
        self.is_halted()
    }

    /// Whether the search must unwind.
    #[inline]
    pub(super) fn is_halted(&self) -> bool {
        self.control.halted.is_some()
    }

    /// Waits for a core before the first node.
    pub(super) fn take_core(&mut self) {
        let control = &self.control;
        let begun = Instant::now();
        let need = || control.need(Instant::now());
        // In the background the wait does not count: only the deadline ends it.
        let until = if control.background {
            control.deadline
        } else {
            control.hard_end()
        };
        let late = || until.is_some_and(|until| Instant::now() >= until);
        let gives_up = || {
            if control.background {
                control.search_shared.is_stopped() || late()
            } else {
                control.is_over()
            }
        };
        let taken = self.core.take(&need, until, &gives_up);
        let now = Instant::now();
        self.control.checked = now;
        if self.control.background {
            self.control.waited += now.saturating_duration_since(begun);
        }
        if !taken {
            self.control.halted = self.control.verdict(now).or(Some(StopReason::Stopped));
        }
    }

    #[cold]
    fn checkpoint(&mut self) {
        let now = Instant::now();
        let nodes = self.nodes;
        if let ThreadRole::Helping(part) = &mut self.role {
            part.count(nodes);
        }
        let left = self.control.node_limit.saturating_sub(self.all_nodes());
        let is_slow = now - self.control.checked > params::SLOW_CHECK;
        let pause = [params::CHECK_EVERY, params::CHECK_OFTEN][usize::from(is_slow)];
        let is_spent = left == 0 && self.root_depth >= self.control.limited_from;
        self.control.next_check = nodes + if left == 0 { pause } else { left.min(pause) };
        self.control.checked = now;
        self.control.halted = if is_spent {
            Some(StopReason::Nodes)
        } else {
            self.control.verdict(now)
        };
        if self.control.halted.is_none() && self.is_slice_over(now) {
            self.core.release();
            if matches!(self.role, ThreadRole::Helping(_)) {
                self.control.halted = Some(StopReason::Stopped);
            } else {
                self.take_core();
            }
        }
    }

    fn is_slice_over(&self, now: Instant) -> bool {
        if let ThreadRole::Helping(part) = &self.role {
            return part.run.is_over(now);
        }
        let idle = self.control.is_idle();
        self.core.is_over(now, params::TIME_SLICE, idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_safe_move_parries_an_explosion_before_it_wins_a_queen() {
        // Rxd2 would explode the king; Rxa7 wins the queen and does not parry it.
        let position = Position::from_fen("3r3k/q7/8/8/8/8/3P4/R3K3 w - - 0 1").unwrap();
        let safe = safe_move(&position, &[]).unwrap();
        assert!(!position.play(safe).can_explode(), "{safe}");
        let wanted = position.parse_uci("a1a7").unwrap();
        assert_eq!(safe_move(&position, &[wanted]), Some(wanted));
    }
}
