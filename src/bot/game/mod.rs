//! One game: a pure state machine, and the task that drives it.
//!
//! The machine does no I/O, reads no clock and calls no engine: times, replies and search results come
//! in as data. It guarantees one thing: once it is our turn, the bot sends a legal move until the server
//! shows it or the game is over, and never two different moves while the first one is in doubt.
//!
//! The machine:
//! * `machine`: `GameMachine`, which handles an input; `event`: inputs and effects
//! * `pending_move`: the move the bot owes, from the start of our turn to its choice
//! * `move_delivery`: the move that was sent, until the server shows it; retries
//! * `delivery_policy`: what a reply to a sent move means: confirm, retry or look again
//! * `move_list`: the server's move list and our board; `params`: what is known before the stream opens
//! * `policy`: draws, resignation, takebacks, absent opponents, unwanted games
//! * `ponder`: search on the opponent's time; `watchdog`: reopens a stream that went quiet
//! * `fallback_move`: a legal move without a search; `opening_variety`: leaves the lines of past games
//! * `summary`: what to remember of a finished game
//!
//! Its time:
//! * `clock`: our clock as the server states it; `move_overhead`: what a move costs on the way
//! * `time_budget`: divides the clock: how long a search may take
//!
//! Its task:
//! * `task`: drives the machine; `stream`: the supervised game stream
//! * `recorder`: writes to the event log; `chat`: the game's chat

pub(in crate::bot) mod chat;
mod delivery_policy;
mod event;
mod machine;
mod move_list;
pub(in crate::bot) mod move_overhead;
mod opening_variety;
mod pending_move;
mod policy;
pub(in crate::bot) mod stream;
pub(in crate::bot) mod task;
pub(in crate::bot) mod time_budget;

pub use self::event::{GameParams, GameSetup, ResumeState, UnconfirmedMove};
pub use self::machine::OPENING;
pub use self::machine::fallback_move;
pub use delivery_policy::{AfterReopen, FailureHistory, NextStep, next_step};
pub use event::{
    Anomaly, CallOutcome, DrawOffer, Ending, GameEffect, GameInput, GameRequest, MovePlayed,
    Notification, Persist, RequestId,
};
pub use machine::GameMachine;
pub use move_list::{IllegalMove, MoveListChange, PlayedMoves};
pub(super) use policy::EvalCache;
pub use policy::EvalHistory;
