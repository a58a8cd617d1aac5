//! The verdict on a challenge: taken, declined with the one reason that helps most, or ignored.
//!
//! Pure: the challenge, the operator's rules and what is going on go in; every objection comes out,
//! the one that decides first. What is not told is unknown, never "no".
//!
//! * `rule`: every reason for which a challenge is not taken, in the order of their weight
//! * `verdict`: all rules asked, and the answer made of their objections
//! * `person`, `game`, `time`, `often`: the rules themselves, by what they look at
//! * `standing`: what is going on while a challenge is judged

mod game;
mod often;
mod person;
mod rule;
mod standing;
mod time;
mod verdict;

pub use rule::{Objection, Rule};
pub use standing::{Openness, Past, Standing};
pub use verdict::{Decision, Verdict, consider};
