//! Decides on a challenge: accept it, decline it with the most helpful reason, or ignore it.
//!
//! Pure: the challenge, the operator's rules and the context go in; every violation comes out, the
//! decisive one first. A fact that the server did not state counts as unknown, never as "no".
//!
//! * `verdict`: asks all rules and decides
//! * `rule`: every reason to refuse a challenge, in order of weight
//! * `opponent`, `variant`, `time_control`, `rate_limits`: the rules by subject
//! * `context`: the state of the bot that a decision depends on

mod context;
mod opponent;
mod rate_limits;
mod rule;
mod time_control;
mod variant;
mod verdict;

pub use context::{Availability, ChallengeContext, OpponentHistory};
pub use rule::{ChallengeRule, Violation};
pub use verdict::{Decision, PolicyVerdict, judge_challenge};
