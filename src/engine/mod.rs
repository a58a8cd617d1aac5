//! The engine room: thinks about a position and says what to play.
//!
//! A plain threaded library that knows the rules and nothing else: no network, no configuration
//! file, no output. The rest of the program sees a [`Pool`] of cores, a game's lease on it
//! ([`Engine`]), what is asked ([`Limits`]) and what came of it ([`Thought`]).
//!
//! ```
//! use megaton::engine::{EngineOptions, Limits, Pool};
//! use megaton::rules::Game;
//!
//! let pool = Pool::new(&EngineOptions { hash_mb: 1, ..EngineOptions::default() });
//! let engine = pool.lease();
//! let game = Game::from_uci_moves("g1f3 a7a6 f3g5 a6a5").expect("a line of legal moves");
//! let thought = engine.think(&game, Limits::nodes(1000)).wait();
//! assert_eq!(thought.best.expect("the game goes on").to_string(), "g5f7");
//! ```

pub mod bench;
mod correction;
mod crew;
mod eval;
mod evaluator;
mod flight;
mod gate;
mod history;
mod limits;
mod lmr;
mod movepick;
pub mod nnue;
mod params;
mod pool;
mod score;
mod search;
mod see;
mod solo;
pub mod suite;
mod tables;
mod thought;
mod time;
mod tt;

pub use bench::{BenchReport, bench};
pub use evaluator::{CLASSICAL, Evaluator};
pub use flight::{OnDone, Search};
pub use limits::{Clock, Limits};
pub use pool::{Engine, EngineOptions, Pool};
pub use score::Score;
pub use solo::Solo;
pub use tables::{Dtz, TableProbe, TableState, Tables, Wdl};
pub use thought::{Ended, Info, Ranked, ScoreBound, Thought};

use crate::rules::{Move, Position};

/// What a legal move wins (positive) or loses in the blasts it makes and allows, in centipawns.
pub fn blast_exchange(position: &Position, mv: Move) -> i32 {
    see::exchange(position, mv)
}
