//! One game: a pure state machine, and the task that drives it.
//!
//! The machine does no I/O, reads no clock and calls no engine: times, replies and search results come
//! in as data. It guarantees one thing: once it is our turn, the bot sends a legal move until the server
//! shows it or the game is over, and never two different moves while the first one is in doubt.
//!
//! The machine:
//! * `machine`: `GameMachine`, which handles an input; `event`: inputs and effects
//! * `pending_move`: chooses the move the bot owes, with or without a search
//! * `move_delivery`: sends the chosen move until the server shows it; `delivery_policy`: the
//!   owed move as data, and what a reply means: confirm, retry or look again
//! * `move_list`: the server's move list and our board
//! * `policy`: draws, resignation, takebacks, absent opponents, unwanted games
//! * `opening_variety`: leaves the lines of past games
//!
//! Its time:
//! * `move_overhead`: our clock as the server states it, and what a move costs on the way
//! * `time_budget`: caps a search, and holds time back for the move's way; `engine::time` divides
//!   the rest
//!
//! Its task:
//! * `task`: drives the machine and writes to the event log; `stream`: the supervised game stream
//! * `chat`: the game's chat

pub(in crate::bot) mod chat;
mod delivery_policy;
mod event;
mod machine;
mod move_delivery;
mod move_list;
pub(in crate::bot) mod move_overhead;
mod opening_variety;
mod pending_move;
mod policy;
pub(in crate::bot) mod stream;
pub(in crate::bot) mod task;
pub(in crate::bot) mod time_budget;

pub use self::event::{GameParams, GameSetup, ResumeState, UnconfirmedMove};
pub use delivery_policy::{AfterReopen, FailureHistory, NextStep, next_step};
pub use event::{
    Anomaly, CallOutcome, Ending, GameEffect, GameInput, GameRequest, MovePlayed, Notification,
    Persist, RequestId,
};
pub use machine::GameMachine;
pub(super) use machine::{FIRST_PLIES, opening};
pub use move_list::{IllegalMove, MoveListChange, PlayedMoves};
pub use pending_move::fallback_move;
pub(super) use policy::EvalCache;
pub use policy::EvalHistory;
