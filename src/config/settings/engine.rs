//! What the engine may use, and how far it may leave the best move for another.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::units;

/// `[engine]`: what the engine may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Transposition table in megabytes, shared by all games.
    pub hash: usize,
    /// Cores that searches may use together; 0 for all the machine has ([`Engine::cores`]).
    pub threads: usize,
    /// What judges positions: a net's file, `classical`, or the default. A relative path in a file
    /// is read from that file's folder.
    #[serde(with = "units::path")]
    pub eval_file: Option<PathBuf>,
    /// Folders with atomic Syzygy tables. A relative path in a file is read from that file's folder.
    pub syzygy_path: Vec<PathBuf>,
    /// Think on the opponent's time with cores that no other game needs.
    pub ponder: bool,
    /// For tests: nodes a move.
    #[serde(with = "units::limit")]
    pub nodes: Option<NonZeroU64>,
    /// For tests: depth of a move's search in plies.
    #[serde(with = "units::limit")]
    pub depth: Option<NonZeroU64>,
    /// For tests: time a move, instead of the clock's share.
    #[serde(with = "units::millis_limit")]
    pub movetime: Option<Duration>,
}

/// `[variety]`: how rated games against a bot leave the lines of the last ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Variety {
    /// Leave them at all.
    pub enabled: bool,
    pub plies: u32,
    /// What another move may cost, in centipawns.
    pub loss: u32,
    /// What draws the choice; 0 for a draw of its own each start.
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
    /// The cores that searches may use: what was set, or all that the machine has.
    pub fn cores(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        thread::available_parallelism().map_or(1, usize::from)
    }
}
