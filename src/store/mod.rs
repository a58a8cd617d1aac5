//! What the bot must not forget: one `SQLite` file in the data folder, owned by one thread.
//!
//! Plain rows in and out. It makes no decisions, makes a caller wait for the disk only on request, and
//! never deletes or replaces a file that it cannot read.
//!
//! * `data`: the rows; `timestamp`: times that survive a restart
//! * `store`: the handle and the writer thread; `disk`: the file; `lock`: the folder's lock
//! * `schema`: the tables; `rows`: writing them; `load`: reading them
//! * `error`: errors in the operator's words

mod data;
mod disk;
mod error;
mod load;
mod lock;
mod rows;
mod schema;
#[expect(
    clippy::module_inception,
    reason = "the handle is what the room is about"
)]
mod store;
#[cfg(test)]
mod tests;
mod timestamp;

pub use data::{
    Change, Cooldown, FinishedGame, GameMemory, GameResult, GuardRow, GuardScope, Interaction,
    InteractionKind, Limit, LimitName, OpponentRow, Origin, QuotaUse, QuotaUseKind, RatedPause,
    State, TimeSpan,
};
pub use error::StoreError;
pub use store::Store;
pub use timestamp::Timestamp;
