//! Arenas: which are joined, when, and how long we say that we are still there.
//!
//! * `rule`: what an arena must be like, and whom it lets in
//! * `duty`: what the calendar is told and what it wants done
//! * `calendar`: the arenas ahead and those we are in, told the time
//! * `steward`: the calls, and the porter's end of all this

mod calendar;
mod duty;
mod rule;
mod steward;

pub use calendar::Calendar;
pub use duty::{Duty, Heard, Joined};
pub use rule::{Us, WhyNot, admits, suits};
pub(super) use steward::Steward;
