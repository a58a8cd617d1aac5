//! Keeps what was: every game, every challenge, every event that mattered, for good.
//!
//! Plain records in and out, apart from what the bot must not forget (`store`), so that a broken
//! archive never costs the ledger. The room decides nothing, no game ever waits for it, and it never
//! deletes or replaces a file that it cannot read.
//!
//! * `record`: what is kept; `calendar`: its moments as dates
//! * `disk`: the file, for anyone who writes; `reader`: the same for anyone who looks things up, by a
//!   `filter`; `notes`: challenges and events among it
//! * `schema`: the tables; `rows`, `packed` and `words`: how records stand in them
//! * `stats`: what games add up to; `rating`: ours from game to game; `opponents`: against whom; `why`:
//!   what games were lost on the clock through
//! * `pgn`: games as other programs read and write them; `merge`: one that is known already
//! * `clerk`: the thread at the file; `review`: what a second look found; `day`: a day in numbers
//! * `prune`: what is let go of, a step at a time
//! * `error`: what can be wrong, in the operator's words

mod database;
pub mod dates;
mod day;
mod error;
mod event_queries;
mod filter;
mod merge;
mod move_codec;
mod opponents;
mod pgn;
mod prune;
mod rating;
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

pub use database::{ArchiveEntry, Database, FILE_NAME};
pub use day::{Day, Speeds};
pub use error::ArchiveError;
pub use event_queries::{ChallengeFilter, Cursor, EventFilter, PageItem};
pub use filter::{Filter, ResultFilter};
pub use merge::{Merge, merge, side_of};
pub use opponents::{Opponent, opponents_of};
pub use pgn::{PgnFault, PgnGames, PgnOptions, pgn, pgn_reviewed, write_tag, write_words};
pub use prune::{Prune, PrunePlace, Pruned};
pub use rating::{RatedGame, follow};
pub use reader::{ArchiveReader, GameCursor, GameLine, Order, write_san};
pub use record::{
    ChallengeRecord, ChallengeVerdict, Direction, EndingRecord, EventRecord, GameRecord, Millis,
    MoveRecord, Origin, Outcome, PlayerRecord, ScoreRecord, Source, TimeControlRecord,
};
pub use review::{Mistake, ReviewRecord};
pub use rows::OPENING_PLIES;
pub use sql_enums::of_outcome;
pub use stats::{Group, OpeningGroup, RatingDay, ResultCounts, Stats, TimeTrouble};
pub use time_loss::{Cause, TimeLoss, time_loss};
pub use writer::Writer;
