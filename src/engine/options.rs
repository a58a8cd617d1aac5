//! The options of a pool or of a single searcher: plain data that both and the search threads read.

use super::evaluator::Evaluator;
use super::params;
use super::tablebase::Tablebases;
use super::tunables::SearchParams;

/// Options of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Size of the transposition table, in megabytes.
    pub hash_mb: usize,
    /// Maximum threads that compute at once. A single search uses all of them. With one thread the
    /// same search always gives the same answer, with several it does not.
    pub threads: usize,
    pub evaluator: Evaluator,
    /// Parameters of the search; settable in a `tune` build only.
    pub params: SearchParams,
    /// Endgame tables to ask.
    pub tables: Option<Tablebases>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        EngineOptions {
            hash_mb: params::DEFAULT_HASH_MB,
            threads: 1,
            evaluator: Evaluator::default(),
            params: SearchParams::default(),
            tables: None,
        }
    }
}
