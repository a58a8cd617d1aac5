//! Arenas: which are joined, when, and how long we say that we are still there.
//!
//! * `rule`: what an arena must be like, and whom it lets in
//! * `effect`: what the calendar is told and what it wants done
//! * `calendar`: the arenas ahead and those we are in, told the time
//! * `steward`: the calls, and the event loop's end of all this

mod eligibility;
mod event;
mod schedule;
mod service;

pub use eligibility::{Eligibility, Ineligible, admits, suits};
pub use event::{ArenaEffect, ArenaEvent, JoinOutcome};
pub use schedule::ArenaSchedule;
pub(super) use service::ArenaService;
