//! Look-ups at the services of Lichess: endgame tables online, and the opening explorer.
//!
//! Replies are checked before they count. Nothing here is ever in the path of a move: the caller
//! continues without an answer.
//!
//! * `breaker`, `cache`: when a service may be asked, and what is kept of its replies; pure
//! * `explorer`: reads openings while no game runs; `explorer_plan`: what to read next; `candidates`: what
//!   is known of a position, and which moves our search approves; both pure; `candidate_file`: its file
//! * `online_tables`: the tables, asked beside a search; `table_verdict`: what a reply means; pure

mod breaker;
mod cache;
mod candidate_file;
mod candidates;
mod explorer;
mod explorer_plan;
mod online_tables;
mod table_verdict;

pub use breaker::{BreakerSettings, CircuitBreaker};
pub use cache::AgedCache;
pub use candidates::{
    CandidateSet, CheckedMoves, ExploredKey, ExploredPosition, PlayedMove, WrongExplorerReply,
    is_approved, played_moves,
};
pub use explorer::{EXPLORER_FILE, Explorer, ExplorerHost, ExplorerTask};
pub use explorer_plan::ExplorerRules;
pub use online_tables::{LookupCounts, OnlineTables, TableLookup};
pub use table_verdict::{TableVerdict, WrongReply, table_verdict};
