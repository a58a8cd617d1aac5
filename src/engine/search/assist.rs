//! How a search gets help from other threads, and how a helper gives it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;

use super::root::{MOST_DEPTH, Root};
use super::searcher::{Help, HelperPart, Searcher, ThreadRole};
use super::team::Team;
use crate::engine::helper_threads::Unfinished;
use crate::engine::limits::Limits;
use crate::engine::params;
use crate::engine::search_handle::SearchShared;
use crate::engine::search_result::StopReason;
use crate::rules::Position;

impl Searcher {
    /// Offers the search of a root to the helpers, if there are any and it is long enough, for as long as the
    /// result lives.
    pub(super) fn call_help(&mut self, root: &Position, limits: &Limits) -> Option<Help> {
        let is_long = self.control.node_limit > params::NODES_WITHOUT_HELP;
        let helpers = self.helpers.as_ref().filter(|_| is_long)?;
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
            contempt: limits.contempt,
            ..Limits::default()
        };
        let (shared, search_shared) = (Arc::clone(&team), Arc::clone(&self.control.search_shared));
        let work = move |searcher: &mut Searcher, run| {
            let part = HelperPart {
                team: Arc::clone(&shared),
                run,
                reported: 0,
            };
            searcher.assist(&root, &keys, &limits, part)
        };
        let request = helpers.post(search_shared, self.control.background, Box::new(work));
        Some(Help {
            team,
            _posted: request,
        })
    }

    /// Helps with a search until called away or nothing is left to find: searches the same root, to fill the
    /// table.
    fn assist(
        &mut self,
        root: &Position,
        keys: &[u64],
        limits: &Limits,
        part: HelperPart,
    ) -> Unfinished {
        self.begin(root, keys, limits, Arc::clone(&part.team.search_shared));
        // Threads should differ.
        let first = 1 + (part.run.number as i32 + 1) % 2;
        self.role = ThreadRole::Helping(part);
        let ended = Root::new(self, *root, limits, None).map_or(StopReason::Depth, |mut it| {
            it.deepen(first..=MOST_DEPTH, None)
        });
        let nodes = self.nodes;
        if let ThreadRole::Helping(part) = &mut self.role {
            part.count(nodes);
        }
        // The run ends with the role.
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
            ThreadRole::Leading(team) => self.nodes + team.nodes.load(Relaxed),
            ThreadRole::Answering | ThreadRole::Helping(_) => self.nodes,
        }
    }
}
