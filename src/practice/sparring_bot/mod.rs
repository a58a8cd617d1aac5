//! Sparring partners inside the practice server: they accept challenges and move.
//!
//! They act through the server state like any client, so the referee judges their moves too.

mod kind;
mod move_chooser;
mod task;

pub use kind::Partner;
pub(super) use task::SparringBotSpec;
