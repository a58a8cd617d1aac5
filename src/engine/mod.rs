//! The engine: searches a position and returns a move.
//!
//! A plain threaded library that knows only the rules: no network, no config file, no output. The rest
//! of the program sees a [`Pool`] of cores, a game's lease on it ([`Engine`]), the request ([`Limits`])
//! and the answer ([`SearchResult`]).
//!
//! ```
//! use megaton::engine::{EngineOptions, Limits, Pool};
//! use megaton::rules::Game;
//!
//! let pool = Pool::new(&EngineOptions { hash_mb: 1, ..EngineOptions::default() });
//! let engine = pool.lease();
//! let game = Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5").expect("a line of legal moves");
//! let result = engine.think(&game, Limits::nodes(1000)).wait();
//! assert_eq!(result.best.expect("the game continues").to_string(), "g5f7");
//! ```

pub mod bench;
mod core_scheduler;
mod correction;
mod eval;
mod evaluator;
mod helper_threads;
mod history;
mod level;
mod limits;
mod lmr;
mod movepick;
pub mod nnue;
mod options;
mod params;
mod pool;
mod score;
mod search;
mod search_handle;
mod search_result;
mod see;
mod single_thread;
pub mod suite;
mod tablebase;
mod time;
mod tt;
mod tunables;

pub use bench::{BenchReport, bench};
pub use evaluator::{CLASSICAL, Evaluator};
pub use level::{LEVELS, Level};
pub use limits::{Clock, Limits};
pub use options::EngineOptions;
pub use pool::{Engine, Pool};
pub use score::Score;
pub use search_handle::{OnDone, Search};
pub use search_result::{Info, Ranked, ScoreBound, SearchResult, StopReason};
pub use single_thread::SingleThread;
pub use tablebase::{Dtz, TablebaseProbe, TablebaseState, Tablebases, Wdl};
pub use tunables::{SearchParams, TUNABLES, Tunable};

use crate::rules::{Move, Position};

/// What a legal move wins (positive) or loses in the blasts it makes and allows, in centipawns.
pub fn blast_exchange(position: &Position, mv: Move) -> i32 {
    see::exchange(position, mv)
}
