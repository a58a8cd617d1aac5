//! Misbehaviour on request, for proving a client: off unless somebody asks.
//!
//! A [`Fault`] is what goes wrong with one request, a [`Mess`] what goes wrong on an open stream, a
//! [`Havoc`] what the whole server does, a [`Mood`] how an opponent behaves. A [`Strike`] brings one
//! of them down at a phase of a game. Scripts come from a file, mixes from a seed; every fault is
//! bounded, and each that strikes is counted. Nothing here decides what is right: that is `blame`.

mod injection;
mod fault;
mod file;
mod kind;
mod stream_fault;
mod mix;
mod reply;
mod store;

pub use injection::{Announcement, Injection, Channel, ServerFault, OpponentBehavior, GamePhase, Trigger};
pub use fault::{Fault, Endpoint};
pub use file::{FaultScript, ScriptError};
pub use kind::{FaultKind, kinds};
pub use stream_fault::StreamFault;
pub use mix::{FaultMix, FaultPlan};
pub use reply::{FaultReply, BodyShape};
pub use store::Faults;
