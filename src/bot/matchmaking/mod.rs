//! Matchmaking: whom the bot challenges, to what, and how often. Off unless the operator enables
//! it.
//!
//! A pure core and a shell that makes the calls. At most one challenge of the bot is open; the bot
//! always withdraws a challenge it gives up, and leaves an opponent who declined alone for a while.
//!
//! * `matchmaker`: one attempt after another; `opponent_selection`: how one starts; `outcome`: how
//!   it ends
//! * `online_bots`: which bots are online and fit; `cooldown`: which opponents to leave alone, and
//!   how long
//! * `challenge_request`: what to offer; `manual_challenge`: challenges by command
//! * `event`: events and effects; `calls`: the API calls; `service`: joins them for the event loop

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

pub use challenge_request::{ChallengeRequest, Initiator};
pub use cooldown::{AttemptOutcome, Cooldown, all_keys, keys, lesson};
pub use event::{Directory, MatchContext, MatchmakingEffect, MatchmakingEvent, NotCreated};
pub use manual_challenge::{ManualChallenge, ManualChallengeError};
pub use matchmaker::Matchmaker;
pub use online_bots::{Candidate, OnlineBots};
pub(super) use service::MatchmakingService;
