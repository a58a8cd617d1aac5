//! The whole server as plain data: accounts, challenges, games, and what is to be told to whom.
//!
//! Pure: every call gets the time as data, and what has to go out lies in an outbox afterwards. It
//! opens no socket and starts no task; `shared` does.

mod arena_views;
mod arenas;
mod challenges;
mod exports;
mod games;
mod limits;
mod server_faults;
mod server_state;
mod views;

#[cfg(test)]
mod tests;

pub(crate) use games::GameEntry;
pub use server_state::ServerRules;
pub(crate) use server_state::{GameProgress, OutgoingEvent, ServerState};
