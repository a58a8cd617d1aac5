//! Arenas: tournaments in which players who are there are paired again and again until it is over.
//!
//! * `plan`: what an arena is like
//! * `entry`: whom it lets in
//! * `field`: who is in it, who is paired with whom, what they scored; told the time
//! * `host`: opens arenas and asks partners in, for whoever holds the server

mod eligibility;
mod tournament;
mod report;
mod plan;

pub(super) use eligibility::{EntryRequest, Applicant};
pub(super) use tournament::{Tournament, ArenaStage};
pub use report::{ArenaPlayer, ArenaReport};
pub use plan::ArenaPlan;
