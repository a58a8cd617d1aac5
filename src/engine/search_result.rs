//! What came of a search: the final answer and the reports on the way.

use std::time::Duration;

use super::score::Score;
use crate::rules::Move;

/// The answer of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchResult {
    /// The move to play; `None` only where the position has no legal move.
    pub best: Option<Move>,
    pub ponder: Option<Move>,
    /// What the position is worth to the side to move.
    pub score: Score,
    /// The last iteration finished.
    pub depth: u32,
    /// The deepest ply reached.
    pub seldepth: u32,
    pub nodes: u64,
    /// From the call to the answer.
    pub time: Duration,
    /// The line expected, starting with `best`.
    pub line: Vec<Move>,
    /// Where several lines were asked for: their first moves as the last iteration that was
    /// finished ranks them, best first. Empty otherwise.
    pub ranking: Vec<Ranked>,
    /// Whether the answer is that of endgame tables: the move keeps what they say of the position,
    /// and the score is theirs. False where the search proved a mate itself.
    pub by_tables: bool,
    pub ended: StopReason,
}

/// A root move and what it is worth to the side that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    pub mv: Move,
    pub score: Score,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StopReason {
    /// The depth asked for, or the greatest there is.
    Depth,
    /// The nodes asked for.
    Nodes,
    /// Its time or its deadline.
    Time,
    /// The handle stopped it or was dropped.
    Stopped,
    /// A win or a loss is proved: nothing left to find.
    Decided,
    /// On a clock with one legal move: nothing to choose.
    OnlyMove,
    /// The game is over, or none of the moves asked for is legal.
    NoMove,
    /// The search failed; the move is the best known before that, or a safe legal one.
    Failed,
}

/// A report on the way: one line of UCI `info`.
#[derive(Clone, Debug)]
pub struct Info {
    pub depth: u32,
    /// The deepest ply reached.
    pub seldepth: u32,
    /// The rank of this line, from 1.
    pub multipv: usize,
    /// Its score, seen from the side to move.
    pub score: Score,
    /// Whether the score is exact.
    pub bound: ScoreBound,
    /// Positions visited so far.
    pub nodes: u64,
    /// Positions that endgame tables knew so far, as the answering thread has asked them.
    pub table_hits: u64,
    /// Time used so far.
    pub time: Duration,
    /// How full the table is with this search's age, in thousandths.
    pub hashfull: u32,
    pub line: Vec<Move>,
}

/// How a reported score is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScoreBound {
    Exact,
    Lower,
    Upper,
}

/// Receives the reports of a search.
pub(super) type ReportSink = Box<dyn FnMut(&Info) + Send>;
