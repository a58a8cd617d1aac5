//! The account's state: incoming challenges, slots, and which games get a game task.
//!
//! Pure: events in, effects out. Games, accepted challenges and the bot's one outgoing challenge
//! share one pool of slots. Every slot is tied to an id and expires, so none can leak. A running
//! game is played, or aborted while that is still possible.
//!
//! * `state`: `AccountState`, which handles an [`AccountEvent`](super::AccountEvent)
//! * `incoming`: incoming challenges, from the policy's decision to the accepted challenge
//! * `running_games`: games, the challenge each came from, and reconciliation with the server's
//!   list
//! * `outgoing_challenge`: the bot's one open challenge; `own_challenges`: runs the matchmaker
//! * `correspondence`: correspondence games, visited when it is the bot's turn
//! * `accepted`, `challenge_queue`, `slots`: the data behind them

mod accepted;
mod challenge_queue;
mod correspondence;
mod incoming;
mod outgoing_challenge;
mod own_challenges;
mod running_games;
mod slots;
mod state;

pub use slots::OpponentKind;
pub use state::AccountState;
