//! What the thread that answers and its helpers share of one search, besides the table.
//!
//! Helpers search the same root with histories of their own and leave what they find in the table.
//! What they settle on is heard when the search ends. The answering thread never waits for them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::{Searcher, root};
use crate::engine::helper_threads::{HelperRun, PostedRequest, Unfinished};
use crate::engine::limits::Limits;
use crate::engine::score::{MATE_BOUND, Value};
use crate::engine::search_handle::SearchShared;
use crate::engine::search_result::StopReason;
use crate::rules::{Move, Position};

/// The threads of one search.
pub(super) struct Team {
    /// Stopped when the search is over.
    search_shared: Arc<SearchShared>,
    /// Positions visited by the helpers.
    nodes: AtomicU64,
    /// The best that a helper has found.
    vote: Mutex<Option<ThreadVote>>,
}

/// What a thread makes of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadVote {
    pub(super) depth: i32,
    pub(super) value: Value,
    pub(super) line: Vec<Move>,
}

impl ThreadVote {
    /// The quicker of two wins, else the deeper look, else the higher score.
    pub(super) fn is_better_than(&self, depth: i32, value: Value) -> bool {
        if self.value.max(value) >= MATE_BOUND {
            return self.value > value;
        }
        (self.depth, self.value) > (depth, value)
    }
}

/// What is left to the thread that answers to say when its search ends.
pub(super) struct Help {
    team: Arc<Team>,
    /// Off the board when this goes.
    _posted: PostedRequest,
}

impl Drop for Help {
    fn drop(&mut self) {
        self.team.search_shared.stop();
    }
}

/// A helper's part in a search.
pub(super) struct HelperPart {
    team: Arc<Team>,
    run: HelperRun,
    /// How many of its nodes the team has heard of.
    told: u64,
}

impl HelperPart {
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.run.is_over(now)
    }

    /// Where its iterations begin: the threads should not walk in step.
    pub(super) const fn first_depth(&self) -> i32 {
        1 + (self.run.number() as i32 + 1) % 2
    }

    pub(super) fn count(&mut self, nodes: u64) {
        self.team.nodes.fetch_add(nodes - self.told, Relaxed);
        self.told = nodes;
    }

    /// An iteration is finished.
    pub(super) fn say(&self, vote: ThreadVote) {
        let mut best = self.team.lock();
        if best
            .as_ref()
            .is_none_or(|best| vote.is_better_than(best.depth, best.value))
        {
            *best = Some(vote);
        }
    }
}

impl Team {
    /// Positions visited by the helpers so far.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }

    /// What the helpers say.
    pub(super) fn vote(&self) -> Option<ThreadVote> {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Option<ThreadVote>> {
        self.vote.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread's place in a search.
pub(super) enum ThreadRole {
    Answering,
    /// It answers, and may have helpers.
    Leading(Arc<Team>),
    Helping(HelperPart),
}

impl Searcher {
    /// Offer the search of a root to the crew, if there is one, for as long as the result lives.
    pub(super) fn call_help(&mut self, root: &Position, limits: &Limits) -> Option<Help> {
        let helpers = self.helpers.as_ref()?;
        let team = Arc::new(Team {
            search_shared: Arc::new(SearchShared::new(false, None)),
            nodes: AtomicU64::new(0),
            vote: Mutex::new(None),
        });
        self.role = ThreadRole::Leading(Arc::clone(&team));
        let (root, keys) = (*root, self.keys.clone());
        let limits = Limits {
            searchmoves: limits.searchmoves.clone(),
            multipv: limits.multipv,
            ..Limits::default()
        };
        let (shared, search_shared) = (Arc::clone(&team), Arc::clone(&self.control.search_shared));
        let work = move |searcher: &mut Searcher, run| {
            let part = HelperPart {
                team: Arc::clone(&shared),
                run,
                told: 0,
            };
            searcher.assist(&root, &keys, &limits, part)
        };
        let request = helpers.post(
            search_shared,
            self.control.is_in_background(),
            Box::new(work),
        );
        Some(Help {
            team,
            _posted: request,
        })
    }

    /// Help with a search until called away.
    fn assist(
        &mut self,
        root: &Position,
        keys: &[u64],
        limits: &Limits,
        part: HelperPart,
    ) -> Unfinished {
        self.begin(keys, limits, Arc::clone(&part.team.search_shared));
        self.role = ThreadRole::Helping(part);
        let ended = root::help(self, root, limits);
        let nodes = self.nodes;
        if let ThreadRole::Helping(part) = &mut self.role {
            part.count(nodes);
        }
        // The stint ends with the role.
        self.role = ThreadRole::Answering;
        if ended == StopReason::Depth {
            Unfinished::Nothing
        } else {
            Unfinished::More
        }
    }

    /// Positions visited by all threads of the search.
    pub(super) fn all_nodes(&self) -> u64 {
        match &self.role {
            ThreadRole::Leading(team) => self.nodes + team.nodes(),
            ThreadRole::Answering | ThreadRole::Helping(_) => self.nodes,
        }
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
