//! Contests between engines: who is stronger, and by how much.
//!
//! A match plays every opening twice, colours turned round, and counts pairs; a sequential test
//! says when enough has been played. Players are this program's own engine, in process, or any UCI
//! program as a child process. Nothing here knows of Lichess, of a config or of a terminal.

mod adjudication;
mod uci_output;
mod uci_engine;
mod error;
mod internal_engine;
mod journal;
mod limit;
mod append_file;
mod opening_generator;
mod opening;
mod pgn;
mod player;
mod record;
mod referee;
mod runner;
mod players;
mod spec;
mod sprt;
mod score;
mod stall_detector;
mod tally;

pub use error::MatchError;
pub use limit::MoveLimit;
pub use opening_generator::{GeneratorOptions, GeneratorProgress, mint};
pub use opening::{Opening, OpeningError, parse_openings};
pub use pgn::pgn;
pub use player::PlayerFault;
pub use record::{GameEnd, GameRecord, Points, MatchSide};
pub use runner::{Match, MatchReport, play};
pub use spec::{PlayerSpec, SpecError};
pub use sprt::{Sprt, SprtVerdict};
pub use score::{Forfeits, SpeedStats, MatchScore};
pub use tally::{Estimate, Tally};
