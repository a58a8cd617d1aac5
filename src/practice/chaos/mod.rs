//! Faults on request, to test a client: off by default.
//!
//! A [`Fault`] hits one request, a [`StreamFault`] an open stream, a [`ServerFault`] the whole server; an
//! [`OpponentBehavior`] is an opponent's. A [`Trigger`] injects one of them at a phase of a game. Scripts
//! come from a file, mixes from a seed; every fault is bounded and counted. Whether the client reacted
//! well is decided by `attribution`, not here.

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
pub(super) use injection::{INTO_THOUGHT, ScheduledInjection};
pub use kind::{KindEntry, kinds};
pub use mix::{FaultMix, FaultPlan};
pub use reply::{BodyShape, FaultReply};
pub use store::Faults;
pub use stream_fault::StreamFault;
