//! Search results: the final answer and the reports on the way.

use std::time::Duration;

use super::score::{MAX_PLY, Score, TABLE_WIN};
use super::tablebase::Wdl;
use crate::rules::Move;

/// Half-moves without progress that are a draw.
const FIFTY_MOVES: i64 = 100;

/// The answer of a search.
#[derive(Clone, Debug, Default, PartialEq)]
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

impl SearchResult {
    /// What endgame tables prove of the searched position, whose fifty-move count is
    /// `halfmove_clock`. A loss that the count may still save is a blessed one.
    pub fn proved(&self, halfmove_clock: u32) -> Option<Wdl> {
        let Score::Cp(score) = self.score else {
            return None;
        };
        let proved = match score {
            0 => Wdl::Draw,
            1 => Wdl::CursedWin,
            -1 => Wdl::BlessedLoss,
            2.. => Wdl::Win,
            // Without a distance, a table's loss is exact only if the count has just restarted.
            ..-1 => match (TABLE_WIN + score, i64::from(halfmove_clock)) {
                (0, 0) => Wdl::Loss,
                (plies, clock) if plies > 0 && i64::from(plies) + clock < FIFTY_MOVES => Wdl::Loss,
                _ => Wdl::BlessedLoss,
            },
        };
        self.by_tables.then_some(proved)
    }

    /// The answer with the result that other tables prove, `plies` plies before the next capture, pawn
    /// move or mate (0: unknown): among the moves that keep it the search's choice stands, else the first
    /// is played. A mate that the search has found stands too.
    #[must_use]
    pub fn by_other_tables(mut self, wdl: Wdl, plies: u32, kept: &[Move]) -> SearchResult {
        let is_kept = self.best.is_some_and(|best| kept.contains(&best));
        if is_kept && self.score.is_win() && wdl == Wdl::Win {
            return self;
        }
        if !is_kept {
            let Some(&best) = kept.first() else {
                return self;
            };
            self.best = Some(best);
            self.ponder = None;
            self.line = vec![best];
        }
        let win = TABLE_WIN - i32::try_from(plies).map_or(0, |plies| plies.min(MAX_PLY as i32));
        self.score = Score::Cp(match wdl {
            Wdl::Loss => -win,
            Wdl::BlessedLoss => -1,
            Wdl::Draw => 0,
            Wdl::CursedWin => 1,
            Wdl::Win => win,
        });
        self.ranking.clear();
        self.by_tables = true;
        self
    }
}

/// A root move and its score for the side that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    pub mv: Move,
    pub score: Score,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
    #[default]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tables_prove_follows_from_score_and_fifty_move_count() {
        let proved = |score, by_tables, clock| {
            let result = SearchResult {
                best: None,
                ponder: None,
                score,
                depth: 0,
                seldepth: 0,
                nodes: 0,
                time: Duration::ZERO,
                line: Vec::new(),
                ranking: Vec::new(),
                by_tables,
                ended: StopReason::OnlyMove,
            };
            result.proved(clock)
        };
        for (score, clock, expected) in [
            (0, 99, Wdl::Draw),
            (1, 0, Wdl::CursedWin),
            (-1, 0, Wdl::BlessedLoss),
            (TABLE_WIN, 80, Wdl::Win),
            (TABLE_WIN - 40, 0, Wdl::Win),
            // No distance is known.
            (-TABLE_WIN, 0, Wdl::Loss),
            (-TABLE_WIN, 1, Wdl::BlessedLoss),
            // Forty plies to the end; a rounded one may be one more.
            (40 - TABLE_WIN, 0, Wdl::Loss),
            (40 - TABLE_WIN, 59, Wdl::Loss),
            (40 - TABLE_WIN, 60, Wdl::BlessedLoss),
        ] {
            assert_eq!(
                proved(Score::Cp(score), true, clock),
                Some(expected),
                "{score} {clock}"
            );
            assert_eq!(proved(Score::Cp(score), false, clock), None);
        }
        assert_eq!(proved(Score::Mate(-3), true, 0), None);
    }
}
