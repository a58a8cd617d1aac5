//! Arenas: tournaments in which players who are there are paired again and again until it is over.
//!
//! * `plan`: what an arena is like
//! * `entry`: whom it lets in
//! * `field`: who is in it, who is paired with whom, what they scored; told the time
//! * `host`: opens arenas and asks partners in, for anyone who holds the server

mod eligibility;
mod plan;
mod report;
mod tournament;

pub(super) use eligibility::{Applicant, EntryRequest};
pub use plan::ArenaPlan;
pub use report::{ArenaPlayer, ArenaReport};
pub(super) use tournament::{ArenaStage, Tournament};
