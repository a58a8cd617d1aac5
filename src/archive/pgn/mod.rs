//! Games as PGN, out and in: what other chess programs and Lichess itself read and write.
//!
//! Pure: text and records. Out comes what is known; in goes only what is whole: a game with garbage
//! in it is named with its line and left out, and the next one is read as if nothing had been.
//!
//! * `write`: a record as PGN; `read`: one game of PGN as a record
//! * `split`: a file in games, whatever stands between them
//! * `comment`: clocks and scores in comments; `tags`: what stands above a game

mod comment;
mod read;
mod split;
mod tags;
#[cfg(test)]
mod tests;
mod write;

pub use read::{PgnFault, PgnGames};
pub use write::{PgnOptions, pgn, pgn_reviewed, write_tag, write_words};
