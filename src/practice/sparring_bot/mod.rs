//! Sparring bots inside the practice server: they accept challenges and play.
//!
//! They act through the server state like any client, so the referee checks their moves too.

mod kind;
mod move_chooser;
mod task;

pub use kind::Partner;
pub(super) use move_chooser::answer;
pub(super) use task::SparringBotSpec;
