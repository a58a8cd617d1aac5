//! Matches between engines, to measure their difference in strength.
//!
//! A match plays every opening twice with colours reversed and counts pairs; a sequential test (SPRT) ends
//! it after enough games. Players are the built-in engine or any UCI program as a child process. This module
//! knows nothing about Lichess, the config or terminals.
//!
//! * `runner`: the plan and the workers; `referee`: one game; `player`, `players`: the opponents
//! * `internal_engine`, `uci_engine`, `uci_output`: the two kinds of players; `limit`, `spec`: their settings
//! * `book_grower`: searches the positions of an opening book
//! * `tally`, `sprt`, `score`: the statistics; `adjudication`; `opening`, `opening_generator`
//! * `tuner`, `spsa`: tuning of the search's parameters by games, in a `tune` build
//! * `journal`, `append_file`, `record`, `pgn`: files that survive a kill; `stall_detector`: machine stalls
//! * `error`: why a match fails

mod adjudication;
mod append_file;
mod book_grower;
mod error;
mod internal_engine;
mod journal;
mod limit;
mod opening;
mod opening_generator;
mod pgn;
mod player;
mod players;
mod record;
mod referee;
mod runner;
mod score;
mod spec;
mod sprt;
#[cfg(any(test, feature = "tune"))]
mod spsa;
mod stall_detector;
mod tally;
#[cfg(any(test, feature = "tune"))]
mod tuner;
mod uci_engine;
mod uci_output;

pub use book_grower::{GrowOptions, GrowProgress, grow, import, read_graph};
pub use error::MatchError;
pub use limit::MoveLimit;
pub use opening::{Opening, OpeningError, parse_openings};
pub use opening_generator::{GeneratorOptions, GeneratorProgress, generate};
pub use pgn::pgn;
pub use player::PlayerFault;
pub use record::{GameEnd, GameRecord, MatchSide, Points};
pub use runner::{Match, MatchReport, play};
pub use score::{Forfeits, MatchScore, SpeedStats};
pub use spec::{PlayerSpec, SpecError};
pub use sprt::{Sprt, SprtVerdict};
#[cfg(any(test, feature = "tune"))]
pub use spsa::{Spsa, SpsaOptions, TunedParameter};
pub use tally::{Estimate, Tally};
#[cfg(any(test, feature = "tune"))]
pub use tuner::{Tuning, tune};
