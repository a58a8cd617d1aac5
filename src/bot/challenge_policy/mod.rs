//! The verdict on a challenge: taken, declined with the one reason that helps most, or ignored.
//!
//! Pure: the challenge, the operator's rules and what is going on go in; every objection comes out,
//! the one that decides first. What is not told is unknown, never "no".
//!
//! * `rule`: every reason for which a challenge is not taken, in the order of their weight
//! * `verdict`: all rules asked, and the answer made of their objections
//! * `person`, `game`, `time`, `often`: the rules themselves, by what they look at
//! * `standing`: what is going on while a challenge is judged

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
