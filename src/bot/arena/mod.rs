//! Arena tournaments: which to join, when, and when to leave.
//!
//! * `eligibility`: what the operator wants of an arena, and what the arena wants of the bot
//! * `schedule`: upcoming and current arenas; pure

mod eligibility;
mod schedule;

pub use eligibility::{Eligibility, Ineligible, admits, suits};
pub use schedule::ArenaSchedule;
