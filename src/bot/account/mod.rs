//! Who comes in: challenges, slots, and which games get a game task.
//!
//! Pure: what happened goes in, what is to be done comes out. Games, accepted challenges and the one
//! challenge of our own share one pool of slots. Whatever holds a slot is tied to an id and runs
//! out, so no slot is ever lost; a game under way is played, or called off while that is possible.
//!
//! * `state`: the account state itself, and what it does about the news; `news`: both as data
//! * `visit`: challenges to us, from the verdict to the accepted challenge
//! * `running`: games, which accepted challenge each belongs to, and the comparison with the server's list
//! * `outgoing`: the one challenge of our own
//! * `correspondence`: games of days a move, which are visited when it is our turn
//! * `accepted`, `queue`, `seats`: what they keep

mod accepted;
mod challenge_queue;
mod correspondence;
mod event;
mod incoming;
mod outgoing_challenge;
mod running_games;
mod slots;
mod state;

pub use event::{AcceptOutcome, AccountEffect, AccountEvent, Decline};
pub use slots::OpponentKind;
pub use state::AccountState;
