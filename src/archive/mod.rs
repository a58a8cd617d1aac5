//! Keeps what was: every game, every challenge, every event that mattered, for good.
//!
//! Plain records in and out, apart from what the bot must not forget (`store`), so that a broken
//! archive never costs the ledger. The room decides nothing, no game ever waits for it, and it never
//! deletes or replaces a file that it cannot read.
//!
//! * `record`: what is kept

mod record;

pub use record::{
    ChallengeRecord, Control, Direction, EndingRecord, EventRecord, GameRecord, Millis, MoveRecord,
    Origin, Outcome, PlayerRecord, ScoreRecord, Source, Verdict,
};
