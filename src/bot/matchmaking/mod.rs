//! Games that the bot looks for itself: whom it challenges, to what, and how often.
//!
//! A pure core that is told the time and what happened, and a shell that makes the calls. One
//! challenge of ours is open at a time; it is always withdrawn when it is given up; no one is asked
//! again soon who said no. Off unless the operator turns it on.
//!
//! * `matchmaker`: one attempt after the other; `choice`: how one begins; `outcome`: what becomes of it
//! * `bots`: who is there, who fits, who comes first; `rest`: who is left in peace, and how long
//! * `offer`: what is asked of whom; `order`: what the operator asks for by command
//! * `calls`: the calls; `service`: the core, the calls and the account state joined together

mod calls;
mod challenge_request;
mod cooldown;
mod event;
mod manual_challenge;
mod matchmaker;
mod online_bots;
mod opponent_selection;
mod outcome;
mod service;

pub use challenge_request::{ChallengeRequest, Initiator, speed_of};
pub use cooldown::{AttemptOutcome, Cooldown, all_keys, keys, lesson};
pub use event::{Directory, MatchContext, MatchmakingEffect, MatchmakingEvent, NotCreated};
pub use manual_challenge::{ManualChallenge, ManualChallengeError};
pub use matchmaker::Matchmaker;
pub use online_bots::{Candidate, OnlineBots};
pub(super) use service::MatchmakingService;
