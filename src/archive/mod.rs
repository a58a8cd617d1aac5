//! The archive: every game, challenge and notable event, in a `SQLite` file of its own.
//!
//! Plain records in and out. It is separate from the bot's state (`store`), so a broken archive
//! never costs the quota. It makes no decisions and never blocks a game.
//!
//! * `record`: the record types; `dates`: timestamps as UTC dates
//! * `database`: the file opened for writing; `reader`: the file opened for reading, by `filter`;
//!   `event_queries`: pages of challenges and events
//! * `schema`: the tables and their migrations; `rows`, `move_codec`, `sql_enums`: records as columns
//! * `stats`: totals; `opponents`: totals per opponent; `time_loss`: why a game was lost on time
//! * `pgn`: PGN in and out; `merge`: importing a game that is already known
//! * `writer`: the thread that owns the file; `review`: results of the analysis; `day`: daily summary
//! * `prune`: deletes old data in short steps

mod database;
pub mod dates;
mod day;
mod event_queries;
mod filter;
mod merge;
mod move_codec;
mod opponents;
mod pgn;
mod prune;
mod reader;
mod record;
mod review;
mod rows;
mod schema;
mod sql_enums;
mod stats;
#[cfg(test)]
mod tests;
mod time_loss;
mod writer;

pub use crate::sqlite::Error as ArchiveError;
pub use database::{ArchiveEntry, Database, FILE_NAME};
pub use day::{Day, Speeds};
pub use event_queries::{ChallengeFilter, Cursor, EventFilter, PageItem};
pub use filter::{Filter, Order, ResultFilter};
pub use merge::{Merge, merge, side_of};
pub use opponents::{Opponent, opponents_of};
pub use pgn::{
    PgnFault, PgnGames, PgnOptions, move_number, pgn, pgn_reviewed, write_tag, write_words,
};
pub use prune::{Prune, PrunePlace, Pruned};
pub use reader::{ArchiveReader, GameCursor, GameLine, write_san};
pub use record::{
    ChallengeRecord, ChallengeVerdict, Direction, EndingRecord, EventRecord, GameRecord, Millis,
    MoveRecord, Origin, Outcome, PlayerRecord, ResultCounts, Source, TimeControlRecord, WireRecord,
};
pub use review::{AT_LEVEL, LESSONS, LESSONS_AT_ONCE, LESSONS_SHOWN, Mistake, ReviewRecord};
pub use rows::OPENING_PLIES;
pub use stats::{Group, OpeningGroup, RatedGame, RatingDay, Stats, TimeTrouble, follow};
pub use time_loss::{Cause, TimeLoss, time_loss};
pub use writer::Writer;
