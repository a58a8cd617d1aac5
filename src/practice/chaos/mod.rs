//! Fault injection and soak tests: everything the practice server does that Lichess does not. Off by
//! default.
//!
//! A [`Fault`] hits one request, a [`StreamFault`] an open stream, a [`ServerFault`] the whole server; an
//! [`OpponentBehavior`] is an opponent's. A [`Trigger`] injects one of them at a phase of a game. Scripts
//! come from a file, mixes from a seed; every fault is bounded and counted. Whether the client reacted
//! well is decided by `attribution`, not here.
//!
//! * `kind`: every kind of fault by name; `file`, `mix`: scripts and random mixes of them
//! * `fault`, `reply`, `stream_fault`, `injection`: the faults; `store`: those planned and due
//! * `middleware`, `stream_sender`, `server_faults`, `injector`: inject them into calls, streams, state
//! * `soak`: many games under faults

mod fault;
mod file;
mod injection;
pub(super) mod injector;
mod kind;
pub(super) mod middleware;
mod mix;
mod reply;
mod server_faults;
pub(super) mod soak;
mod store;
mod stream_fault;
pub(super) mod stream_sender;

pub use fault::{Endpoint, Fault};
pub use file::{FaultScript, ScriptError};
pub use injection::{
    Announcement, Channel, GamePhase, Injection, OpponentBehavior, ServerFault, Trigger,
};
pub(super) use injection::{MID_SEARCH_DELAY, ScheduledInjection};
pub use kind::{KindEntry, kinds};
pub use mix::{FaultMix, FaultPlan};
pub use reply::{BodyShape, FaultReply};
pub use store::Faults;
pub use stream_fault::StreamFault;
