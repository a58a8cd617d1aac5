//! Contests between engines: who is stronger, and by how much.
//!
//! A match plays every opening twice, colours turned round, and counts pairs; a sequential test
//! says when enough has been played. Players are this program's own engine, in process, or any UCI
//! program as a child process. Nothing here knows of Lichess, of a config or of a terminal.

mod adjudication;
mod append_file;
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
mod stall_detector;
mod tally;
mod uci_engine;
mod uci_output;

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
pub use tally::{Estimate, Tally};
