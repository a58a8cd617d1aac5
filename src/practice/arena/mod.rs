//! Arenas: tournaments in which players who are there are paired again and again until it is over.
//!
//! * `plan`: what an arena is like
//! * `entry`: whom it lets in
//! * `field`: who is in it, who is paired with whom, what they scored; told the time
//! * `host`: opens arenas and asks partners in, for whoever holds the server

mod entry;
mod field;
mod host;
mod plan;

pub(super) use entry::{Entrance, Newcomer};
pub(super) use field::{Field, Stage};
pub use host::{ArenaPlayer, ArenaReport};
pub use plan::ArenaPlan;
