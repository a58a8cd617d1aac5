//! The state that must survive a restart: one `SQLite` file in the data folder, owned by one thread.
//!
//! Plain rows in and out. The store makes no decisions and makes a caller wait for the disk only on
//! request.
//!
//! * `data`: the rows; `tables`: their schema, written and read
//! * `store`: the handle and the commits; `lock`: the folder's lock

mod data;
mod lock;
#[expect(
    clippy::module_inception,
    reason = "the handle is what the module is about"
)]
mod store;
mod tables;
#[cfg(test)]
mod tests;

pub use crate::sqlite::{Error as StoreError, Timestamp};
pub use data::{
    Change, Cooldown, FinishedGame, GameMemory, GameResult, GuardRow, GuardScope, Interaction,
    InteractionKind, Limit, LimitName, OpponentRow, Origin, QuotaUse, QuotaUseKind, RatedPause,
    State, TimeSpan,
};
pub use store::{OWNER_NOTE, Store};
pub use tables::MAX_OPPONENTS;
