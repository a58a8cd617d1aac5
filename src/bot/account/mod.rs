//! Who comes in: challenges, seats, and which games get a player.
//!
//! Pure: what happened goes in, what is to be done comes out. Games, accepted challenges and the one
//! challenge of our own share one pool of seats. Whatever holds a seat is tied to an id and runs
//! out, so no seat is ever lost; a game under way is played, or called off while that is possible.
//!
//! * `state`: the lobby itself, and what it does about the news; `news`: both as data
//! * `visit`: challenges to us, from the verdict to the permit
//! * `running`: games, which permit each belongs to, and the comparison with the server's list
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
