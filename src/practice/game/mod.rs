//! The referee of the practice server: one game between two accounts.
//!
//! Pure: time comes in as data, announcements go out as a list. It knows no streams, no requests
//! and no other games.

mod endings;
mod first_move;
mod presence;
mod record;
mod referee;
mod refusal;

#[cfg(test)]
mod tests;

pub(crate) use record::Played;
pub(crate) use referee::{GameChange, GameSpec, PlayerSide, ServerGame};
pub(crate) use refusal::Refusal;
