//! The referee of the practice server: one game between two accounts.
//!
//! Pure: the time comes in as data, announcements go out as a list. It knows no stream, no request and
//! no other game.

mod endings;
mod first_move;
mod presence;
mod record;
mod referee;
mod refusal;

#[cfg(test)]
mod tests;

pub(crate) use record::Played;
pub(crate) use referee::{GameChange, GameSpec, PlayerSide, ServerGame, color_name};
pub(crate) use refusal::Refusal;
