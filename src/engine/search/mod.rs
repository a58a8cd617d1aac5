//! The search of one thread, from a task to its answer.
//!
//! `root` deepens iteratively, `node` searches one position, `pruning` holds the techniques that cut a
//! node short, `quiescence` resolves captures, `thread_evaluator` keeps the evaluation, `tablebase` and
//! `root_tablebase` probe endgame tables, `control` decides when to stop, `team` joins the threads of
//! one search. With one thread and no clock the same task always gives the same answer and node count;
//! with more, the order of their transposition table accesses decides.

mod control;
mod node;
mod pruning;
mod quiescence;
mod root;
mod root_tablebase;
mod tablebase;
mod team;
mod thread_evaluator;

use std::sync::Arc;

use arrayvec::ArrayVec;

use super::core_scheduler::{CorePermit, CorePermits};
use super::correction::Corrections;
use super::evaluator::Evaluator;
use super::helper_threads::{HelperRun, HelperThreads};
use super::history::{Context, Histories, NO_CONTEXT, PieceSquare};
use super::limits::Limits;
use super::pool::ReportSink;
use super::score::{MAX_PLY, NO_VALUE, Value};
use super::search_handle::SearchShared;
use super::search_result::SearchResult;
use super::see;
use super::tablebase::Tablebases;
use super::tt::TranspositionTable;
use crate::rules::{Bitboard, Game, Move, Position};
use control::Control;
use team::ThreadRole;
use thread_evaluator::ThreadEvaluator;

/// Frames before the root, so that "two plies before" always exists.
const BEFORE_ROOT: usize = 2;

/// One search to do.
pub(super) struct Task {
    root: Position,
    /// The keys of the game so far, the present position last.
    keys: Vec<u64>,
    limits: Limits,
    report: Option<ReportSink>,
    pub(super) search_shared: Arc<SearchShared>,
}

impl Task {
    pub(super) fn new(
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

/// What the search remembers of one ply of the line it is looking at.
#[derive(Clone, Debug)]
struct Frame {
    static_eval: Value,
    killer: Option<Move>,
    /// The piece moved from this ply and where to.
    moved: PieceSquare,
    /// Plies since the last null move; repetitions reach back no further.
    since_null: u32,
    pv: ArrayVec<Move, MAX_PLY>,
}

impl Frame {
    const fn new() -> Frame {
        Frame {
            static_eval: NO_VALUE,
            killer: None,
            moved: NO_CONTEXT,
            since_null: 0,
            pv: ArrayVec::new_const(),
        }
    }
}

/// A thread's search state. The histories and the table outlive one search.
pub(super) struct Searcher {
    table: Arc<TranspositionTable>,
    turn: CorePermit,
    judge: ThreadEvaluator,
    histories: Histories,
    corrections: Corrections,
    frames: Vec<Frame>,
    keys: Vec<u64>,
    control: Control,
    /// Whom to ask for help.
    helpers: Option<Arc<HelperThreads>>,
    role: ThreadRole,
    nodes: u64,
    seldepth: usize,
    /// No null moves before this ply: a verification is under way.
    null_from: usize,
    /// Endgame tables, if there are any.
    tables: Option<Tablebases>,
    /// Positions of so many pieces are asked about in the search under way; 0 for none.
    table_men: usize,
    /// Answers of tables in this search.
    table_hits: u64,
}

impl Searcher {
    pub(super) fn new(
        table: Arc<TranspositionTable>,
        permits: Arc<CorePermits>,
        evaluator: &Evaluator,
    ) -> Searcher {
        Searcher {
            table,
            turn: CorePermit::new(permits),
            judge: ThreadEvaluator::new(evaluator),
            histories: Histories::new(),
            corrections: Corrections::new(),
            frames: vec![Frame::new(); BEFORE_ROOT + MAX_PLY + 2],
            keys: Vec::with_capacity(1024),
            control: Control::idle(),
            helpers: None,
            role: ThreadRole::Answering,
            nodes: 0,
            seldepth: 0,
            null_from: 0,
            tables: None,
            table_men: 0,
            table_hits: 0,
        }
    }

    /// One whose searches this crew helps with.
    pub(super) fn with_crew(mut self, helpers: Option<Arc<HelperThreads>>) -> Searcher {
        self.helpers = helpers;
        self
    }

    /// A helper's wait for something to do and a core to do it with.
    pub(super) fn take_spare(
        &mut self,
        pick: &dyn Fn() -> Option<HelperRun>,
        is_closed: &dyn Fn() -> bool,
    ) -> Option<HelperRun> {
        self.turn.take_spare(pick, is_closed)
    }

    /// Give the core back.
    pub(super) fn release(&mut self) {
        self.turn.release();
    }

    /// With endgame tables to ask.
    pub(super) fn with_tables(mut self, tables: Option<Tablebases>) -> Searcher {
        self.tables = tables;
        self
    }

    /// Forget what was learnt about the last game.
    pub(super) fn forget(&mut self) {
        self.histories.clear();
        self.corrections.clear();
    }

    /// Think. Blocks until the task's limits, or its flight, end it.
    pub(super) fn run(&mut self, task: Task) -> SearchResult {
        self.begin(&task.keys, &task.limits, Arc::clone(&task.search_shared));
        self.table.new_search();
        let result = root::think(self, task);
        self.turn.release();
        self.role = ThreadRole::Answering;
        result
    }

    /// Forget the last search.
    fn begin(&mut self, keys: &[u64], limits: &Limits, search_shared: Arc<SearchShared>) {
        self.nodes = 0;
        self.seldepth = 0;
        self.null_from = 0;
        for frame in &mut self.frames {
            frame.killer = None;
            frame.moved = NO_CONTEXT;
            frame.static_eval = NO_VALUE;
            frame.pv.clear();
        }
        self.keys.clear();
        self.keys.extend_from_slice(keys);
        self.frame(0).since_null = u32::MAX / 2;
        self.control = Control::new(limits, search_shared);
    }

    #[inline]
    fn frame(&mut self, ply: usize) -> &mut Frame {
        &mut self.frames[BEFORE_ROOT + ply]
    }

    /// The histories' view of a node.
    #[inline]
    fn context(&self, position: &Position, attacked: Bitboard, ply: usize) -> Context {
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

    /// Step to the child of a ply.
    #[inline]
    fn descend(&mut self, child: &Position, moved: PieceSquare, ply: usize) {
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
    fn ascend(&mut self) {
        self.keys.pop();
    }

    /// Extend the child's line by the move that leads to it.
    fn update_pv(&mut self, ply: usize, mv: Move) {
        let (before, after) = self.frames.split_at_mut(BEFORE_ROOT + ply + 1);
        let (Some(frame), Some(child)) = (before.last_mut(), after.first()) else {
            return;
        };
        frame.pv.clear();
        frame.pv.push(mv);
        let room = frame.pv.remaining_capacity().min(child.pv.len());
        frame.pv.extend(child.pv[..room].iter().copied());
    }

    /// Has the present position stood before, so that it counts as a draw: once within the tree, or
    /// twice if before the root?
    fn is_repetition(&self, position: &Position, ply: usize) -> bool {
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

/// Whether only kings, bishops and pawns, or very few pieces, are left: then the rules may call the
/// position drawn by itself.
#[inline]
fn may_be_insufficient(position: &Position) -> bool {
    use crate::rules::Role::{Knight, Queen, Rook};
    let heavy = position.by_role(Knight) | position.by_role(Rook) | position.by_role(Queen);
    heavy.is_empty() || position.occupied().count() <= 4
}

/// A legal move that is sound at first sight: an explosion, else the best blast exchange.
pub(super) fn safe_move(position: &Position, searchmoves: &[Move]) -> Option<Move> {
    position
        .legal_moves()
        .into_iter()
        .filter(|mv| searchmoves.is_empty() || searchmoves.contains(mv))
        .max_by_key(|&mv| see::exchange(position, mv))
}

/// A capture that explodes the enemy king.
fn winning_move(position: &Position) -> Option<Move> {
    position
        .legal_moves()
        .into_iter()
        .find(|&mv| position.explodes_king(mv))
}
