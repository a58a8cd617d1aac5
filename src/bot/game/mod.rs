//! One game as a pure state machine: what happened goes in, what is to be done comes out.
//!
//! The game state machine does no I/O, reads no clock and calls no engine: moments, answers and thoughts come in
//! as data. Its one promise is the owed move: once it is our turn a legal move is sent until the
//! server shows it or the game is over, and never two different ones on a doubt.
//!
//! * `event`: what comes in and what goes out
//! * `play`: the game state machine itself; the lines of the game's stream
//! * `pending`: the move we owe, from the turn's coming to the choice
//! * `sent`: the move we have sent, until the server shows it
//! * `ponder`: thinking on the opponent's time
//! * `verdict`: what the answer to a sent move means
//! * `policies`: offers, claims, and games we do not want, a file a subject
//! * `watch`: whether something was missed while we wait
//! * `record`: the move list and the board behind it
//! * `params`: what a game state machine is told about its game
//! * `safe`: a move without a search
//! * `variety`: off the lines of earlier games
//! * `summary`: what is remembered of a finished game

pub(in crate::bot) mod chat;
pub(in crate::bot) mod clock;
mod delivery_policy;
mod event;
mod fallback_move;
mod machine;
mod move_delivery;
mod move_list;
pub(in crate::bot) mod move_overhead;
mod opening_variety;
mod params;
mod pending_move;
mod policy;
mod ponder;
pub(in crate::bot) mod recorder;
pub(in crate::bot) mod stream;
mod summary;
pub(in crate::bot) mod task;
pub(in crate::bot) mod time_budget;
mod watchdog;

pub use delivery_policy::{AfterReopen, FailureHistory, NextStep, next_step};
pub use event::{
    Anomaly, CallOutcome, DrawOffer, Ending, GameEffect, GameInput, GameRequest, MovePlayed,
    Notification, Persist, RequestId,
};
pub use fallback_move::fallback_move;
pub use machine::GameMachine;
pub use move_list::{IllegalMove, MoveListChange, PlayedMoves};
pub use params::{GameParams, GameSetup, ResumeState, UnconfirmedMove};
pub use policy::EvalHistory;
pub use summary::OPENING;
