//! Arena tournaments: which to join, when, and when to leave.
//!
//! * `eligibility`: what the operator wants of an arena, and what the arena wants of the bot
//! * `event`: events and effects of the schedule
//! * `schedule`: upcoming and current arenas; pure
//! * `service`: makes the calls for the event loop

mod eligibility;
mod event;
mod schedule;
mod service;

pub use eligibility::{Eligibility, Ineligible, admits, suits};
pub use event::{ArenaEffect, ArenaEvent, JoinOutcome};
pub use schedule::ArenaSchedule;
pub(super) use service::ArenaService;
