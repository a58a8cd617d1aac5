//! The account's state: incoming challenges, slots, and which games get a game task.
//!
//! Pure: events in, effects out. Games, accepted challenges and our one outgoing challenge share one
//! pool of slots. Every slot is tied to an id and expires, so none can leak. A running game is played,
//! or aborted while that is still possible.
//!
//! * `state`: `AccountState`, which handles an `event`; `event` also has the effects
//! * `incoming`: challenges to us, from the policy's decision to the accepted challenge
//! * `running_games`: games, the challenge each came from, and reconciliation with the server's list
//! * `outgoing_challenge`: our one open challenge
//! * `correspondence`: games of days a move, visited when it is our turn
//! * `accepted`, `challenge_queue`, `slots`: the data behind them

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
