//! The whole practice server as plain data: accounts, challenges, games, and outgoing events.
//!
//! Pure: every call gets the time as data, and outgoing events are left in an outbox. It opens no socket
//! and starts no task; `shared` does.

mod arena_views;
mod arenas;
mod challenges;
mod exports;
mod games;
mod limits;
mod server_state;
mod views;

#[cfg(test)]
mod tests;

pub use server_state::ServerRules;
pub(crate) use server_state::{GameEntry, GameProgress, OutgoingEvent, ServerState};
