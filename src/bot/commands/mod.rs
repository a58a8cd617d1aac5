//! Runs an operator's commands against the event loop.
//!
//! * `account`: commands about the account: pause, drain, challenge, status
//! * `game`: commands about one game, challenge or opponent: abort, resign, cancel, block

pub(in crate::bot) mod account;
pub(in crate::bot) mod game;
