//! PGN in and out, as other chess programs and Lichess read and write it.
//!
//! Pure: text and records. The reader accepts only whole games: it reports a broken game with its line,
//! skips it, and continues with the next.
//!
//! * `write`: record to PGN; `read`: one PGN game to a record
//! * `split`: a file into games
//! * `comment`: clocks and scores in comments; `tags`: the tag section

mod comment;
mod read;
mod split;
mod tags;
#[cfg(test)]
mod tests;
mod write;

pub use read::{PgnFault, PgnGames};
pub(super) use write::board;
pub use write::{PgnOptions, move_number, pgn, pgn_reviewed, write_tag, write_words};
