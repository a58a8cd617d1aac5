//! Sparring partners that live inside the server: they accept what they can play, and move.
//!
//! They act through the server state like everyone else, so the referee judges their moves too.

mod kind;
mod move_chooser;
mod task;

pub use kind::Partner;
pub(super) use task::Invitation;
