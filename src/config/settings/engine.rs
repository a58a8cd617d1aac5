//! Resources and limits of the engine, and how far it may deviate from the best move.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[engine]`: resources and limits of the engine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Transposition table in megabytes, shared by all games.
    pub hash: usize,
    /// Threads of all searches together; 0 for every core ([`Engine::cores`]).
    pub threads: usize,
    /// The evaluation: a net file, `classical`, or the default. A relative path in a config file starts
    /// at that file's folder.
    #[serde(with = "units::path")]
    pub eval_file: Option<PathBuf>,
    /// Folders with atomic Syzygy tablebases. A relative path in a config file starts at that file's
    /// folder.
    pub syzygy_path: Vec<PathBuf>,
    /// Search on the opponent's time on cores that no other game needs.
    pub ponder: bool,
    /// For tests: node limit per move.
    #[serde(with = "units::limit")]
    pub nodes: Option<NonZeroU64>,
    /// For tests: depth limit in plies.
    #[serde(with = "units::limit")]
    pub depth: Option<NonZeroU64>,
    /// For tests: time per move, instead of a share of the clock.
    #[serde(with = "units::millis_limit")]
    pub movetime: Option<Duration>,
}

/// `[variety]`: how rated games against a bot deviate from the lines of the last ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variety {
    /// Deviate from them at all.
    pub enabled: bool,
    pub plies: u32,
    /// Centipawns that another move may cost.
    pub loss: u32,
    /// Random seed; 0 for a new one at each start.
    pub seed: u64,
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            hash: 256,
            threads: 0,
            eval_file: None,
            syzygy_path: Vec::new(),
            ponder: false,
            nodes: None,
            depth: None,
            movetime: None,
        }
    }
}

impl Default for Variety {
    fn default() -> Self {
        Self {
            enabled: true,
            plies: 20,
            loss: 25,
            seed: 0,
        }
    }
}

impl Engine {
    /// The threads of all searches: the setting, or every core of the machine.
    pub fn cores(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        thread::available_parallelism().map_or(1, usize::from)
    }
}
