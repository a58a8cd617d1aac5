//! The full record of what happens, in memory: for the archive, the live page, anyone who looks.
//!
//! Players, the event loop and the alarms write it down here under a lock held for a copy; no one who
//! plays ever waits for someone who reads. A reader takes what changed since it last looked, each
//! game whole: a slow one coalesces, and nothing can overflow but the rings of challenges and events,
//! which count what fell out.
//!
//! * `handle`: the handle that everyone holds
//! * `state`: what stands behind its lock; `buffer`: lists that forget their oldest
//! * `growing`: how a game's record follows the server's list of moves
//! * `thinking`: what a search says on its way
//! * `header`: from the server's words to records

mod handle;
mod header;
mod record_builder;
mod ring_buffer;
mod search_info;
mod state;
#[cfg(test)]
mod tests;

pub use handle::EventLog;
pub use search_info::SearchInfo;
pub use state::{Changes, Clocks, LiveGame};

pub(super) use header::{Header, epoch, millis};
pub(super) use record_builder::MoveNote;
pub(super) use search_info::SearchInfoSlot;
