//! Misbehaviour on request, for proving a client: off unless someone asks.
//!
//! A [`PlayerFault`] is what goes wrong with one request, a [`StreamFault`] what goes wrong on an open stream, a
//! [`ServerFault`] what the whole server does, a [`OpponentBehavior`] how an opponent behaves. A [`Trigger`] brings one
//! of them down at a phase of a game. Scripts come from a file, mixes from a seed; every fault is
//! bounded, and each that strikes is counted. Nothing here decides what is right: that is `attribution`.

mod fault;
mod file;
mod injection;
mod kind;
mod mix;
mod reply;
mod store;
mod stream_fault;

pub use fault::{Endpoint, Fault};
pub use file::{FaultScript, ScriptError};
pub use injection::{
    Announcement, Channel, GamePhase, Injection, OpponentBehavior, ServerFault, Trigger,
};
pub use kind::{FaultKind, kinds};
pub use mix::{FaultMix, FaultPlan};
pub use reply::{BodyShape, FaultReply};
pub use store::Faults;
pub use stream_fault::StreamFault;
