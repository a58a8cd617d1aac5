//! The referee: one game between two accounts, from the first move to its end.
//!
//! Pure: it is told the time, and what it has to say it leaves in a list. It knows no stream, no
//! request and no other game.

mod endings;
mod first_move;
mod offers;
mod presence;
mod record;
mod referee;
mod refusal;

#[cfg(test)]
mod tests;

pub(crate) use record::Played;
pub(crate) use referee::{GameChange, GameSpec, PlayerSide, ServerGame, color_name};
pub(crate) use refusal::Refusal;
