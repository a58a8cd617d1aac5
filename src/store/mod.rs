//! Keeps what the bot must not forget: one file of rows in the data folder.
//!
//! Plain rows in and out. The room decides nothing, never makes a caller wait for the disk unless it
//! asks to, and never deletes or replaces a file that it cannot read.
//!
//! * `data`: what is kept; `moment`: times that survive a restart
//! * `store`: the handle and the thread that writes; `disk`: the file, `lock`: the folder
//! * `schema`: the tables, `rows`: how they are written, `load`: how they are read
//! * `error`: what can be wrong, in the operator's words

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
