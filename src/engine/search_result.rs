//! Search results: the final answer and the reports on the way.

use std::time::Duration;

use super::score::Score;
use crate::rules::Move;

/// The answer of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The move to play; `None` only if the position has no legal move.
    pub best: Option<Move>,
    pub ponder: Option<Move>,
    /// The score for the side to move.
    pub score: Score,
    /// The last finished iteration.
    pub depth: u32,
    /// The deepest ply reached.
    pub seldepth: u32,
    pub nodes: u64,
    /// From the call to the answer.
    pub time: Duration,
    /// The principal variation, starting with `best`.
    pub line: Vec<Move>,
    /// With several lines: their first moves as the last finished iteration ranks them, best first.
    /// Empty otherwise.
    pub ranking: Vec<Ranked>,
    /// Whether the answer comes from endgame tables: the move keeps the table result, and the score
    /// is the tables'. False if the search itself proved a mate.
    pub by_tables: bool,
    pub ended: StopReason,
}

/// A root move and its score for the side that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    pub mv: Move,
    pub score: Score,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The requested or the maximum depth.
    Depth,
    /// The requested nodes.
    Nodes,
    /// Its time or its deadline.
    Time,
    /// The handle stopped it or was dropped.
    Stopped,
    /// A win or a loss is proved: nothing is left to find.
    Decided,
    /// On a clock with one legal move: there is no choice.
    OnlyMove,
    /// The move is from an opening book: nothing was searched.
    Book,
    /// The game is over, or none of the requested moves is legal.
    NoMove,
    /// The search failed; the move is the best so far, or a safe legal one.
    Failed,
}

/// A report on the way: one `info` line of UCI.
#[derive(Clone, Debug)]
pub struct Info {
    pub depth: u32,
    /// The deepest ply reached.
    pub seldepth: u32,
    /// The rank of this line, from 1.
    pub multipv: usize,
    /// Its score for the side to move.
    pub score: Score,
    /// Whether the score is exact.
    pub bound: ScoreBound,
    /// Positions visited so far.
    pub nodes: u64,
    /// Positions so far that endgame tables answered for the answering thread.
    pub table_hits: u64,
    /// Time used so far.
    pub time: Duration,
    /// How full the transposition table is with entries of this search, in permille.
    pub hashfull: u32,
    pub line: Vec<Move>,
}

/// How a reported score bounds the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScoreBound {
    Exact,
    Lower,
    Upper,
}

/// Receives the reports of a search.
pub(super) type ReportSink = Box<dyn FnMut(&Info) + Send>;
