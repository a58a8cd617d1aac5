//! Arenas of the practice server: players are paired repeatedly until time is up.
//!
//! * `plan`: an arena's settings
//! * `eligibility`: who may join
//! * `tournament`: players, pairings and scores; pure
//! * `report`: opens arenas and shows their standings to the server's owner

mod eligibility;
mod plan;
mod report;
mod tournament;

pub(super) use eligibility::{Applicant, EntryRequest};
pub use plan::ArenaPlan;
pub use report::{ArenaPlayer, ArenaReport};
pub(super) use tournament::{ArenaStage, Tournament};
