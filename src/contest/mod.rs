//! Contests between engines: who is stronger, and by how much.
//!
//! A match plays every opening twice, colours turned round, and counts pairs; a sequential test
//! says when enough has been played. Players are this program's own engine, in process, or any UCI
//! program as a child process. Nothing here knows of Lichess, of a config or of a terminal.

mod adjudication;
mod answers;
mod child;
mod error;
mod inside;
mod journal;
mod limit;
mod lines;
mod mint;
mod opening;
mod pgn;
mod player;
mod record;
mod referee;
mod runner;
mod seats;
mod spec;
mod sprt;
mod standing;
mod stillness;
mod tally;

pub use error::ContestError;
pub use limit::Allowance;
pub use mint::{MintOptions, Minted, mint};
pub use opening::{Opening, OpeningError, parse_openings};
pub use pgn::pgn;
pub use player::Fault;
pub use record::{End, GameRecord, Points, Side};
pub use runner::{Match, Report, play};
pub use spec::{PlayerSpec, SpecError};
pub use sprt::{Sprt, Verdict};
pub use standing::{Forfeits, Speed, Standing};
pub use tally::{Estimate, Tally};
