//! Sparring partners that live inside the server: they accept what they can play, and move.
//!
//! They act through the house like everybody else, so the referee judges their moves too.

mod kind;
mod mind;
mod resident;

pub use kind::Partner;
pub(super) use resident::Invitation;
