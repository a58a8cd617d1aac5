//! The record of everything that happens, in memory, for the archive and the operator's page.
//!
//! Game tasks, the event loop and alerts write to it; the lock is held only while copying, so a reader
//! never delays a game. A reader asks for what changed since a version and gets each changed game
//! whole: slow readers coalesce. Only the rings of challenges and events can overflow; they count what
//! they drop.
//!
//! * `handle`: the shared handle
//! * `state`: the data behind its lock; `ring_buffer`: lists that drop their oldest entry
//! * `record_builder`: builds a game's record from the server's move list
//! * `search_info`: the running search
//! * `header`: from the server's types to records

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
