//! What the answering thread and its helpers share in one search, besides the transposition table.
//!
//! Helpers search the same root with their own histories and store results in the table. Their best
//! line is read when the search ends. The answering thread never waits for them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use parking_lot::Mutex;

use crate::engine::score::{MATE_BOUND, Value};
use crate::engine::search_handle::SearchShared;
use crate::rules::Move;

/// The threads of one search.
pub(super) struct Team {
    /// Stopped when the search is over.
    pub(super) search_shared: Arc<SearchShared>,
    /// Positions visited by the helpers so far.
    pub(super) nodes: AtomicU64,
    /// The best line of a helper.
    pub(super) vote: Mutex<Option<ThreadVote>>,
}

/// A thread's result at the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadVote {
    pub(super) depth: i32,
    pub(super) value: Value,
    pub(super) line: Vec<Move>,
}

impl ThreadVote {
    /// The faster of two wins, else the deeper search, else the higher score.
    pub(super) fn is_better_than(&self, depth: i32, value: Value) -> bool {
        if self.value.max(value) >= MATE_BOUND {
            return self.value > value;
        }
        (self.depth, self.value) > (depth, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::score::mate_in;

    #[test]
    fn the_deeper_thread_wins_the_vote_unless_a_win_is_known() {
        let vote = |depth, value| ThreadVote {
            depth,
            value,
            line: Vec::new(),
        };
        assert!(vote(9, -50).is_better_than(8, 10));
        assert!(vote(8, 11).is_better_than(8, 10) && !vote(8, 10).is_better_than(8, 10));
        let (quick, slow) = (mate_in(3), mate_in(9));
        assert!(vote(4, quick).is_better_than(9, slow));
        assert!(!vote(9, slow).is_better_than(4, quick));
        assert!(!vote(20, 300).is_better_than(4, slow));
        assert!(vote(9, -quick).is_better_than(8, 10));
    }
}
