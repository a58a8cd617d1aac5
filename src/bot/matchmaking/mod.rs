//! Matchmaking: whom the bot challenges, to what, and how often. Off unless the operator enables
//! it.
//!
//! Pure. At most one challenge of the bot is open; the bot always withdraws a challenge it gives up, and
//! leaves an opponent who declined alone for a while. The account state runs the matchmaker and gives it
//! a slot.
//!
//! * `matchmaker`: one attempt after another; `opponent_selection`: how one starts; `outcome`: how
//!   it ends
//! * `online_bots`: which bots are online and fit; `cooldown`: which opponents to leave alone, and
//!   how long
//! * `challenge_request`: what to offer, by the rules or by command

mod challenge_request;
mod cooldown;
mod matchmaker;
mod online_bots;
mod opponent_selection;
mod outcome;

pub use self::challenge_request::ManualChallengeError;
pub use self::matchmaker::{Directory, MatchContext, MatchmakingEffect};
pub use challenge_request::{ChallengeRequest, Initiator, Series};
pub use cooldown::{AttemptOutcome, Cooldown, keys, lesson, refusals};
pub use matchmaker::Matchmaker;
pub use online_bots::{Candidate, OnlineBots};
