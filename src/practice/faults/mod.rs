//! Misbehaviour on request, for proving a client: off unless somebody asks.
//!
//! A [`Fault`] is what goes wrong with one request, a [`Mess`] what goes wrong on an open stream, a
//! [`Havoc`] what the whole server does, a [`Mood`] how an opponent behaves. A [`Strike`] brings one
//! of them down at a phase of a game. Scripts come from a file, mixes from a seed; every fault is
//! bounded, and each that strikes is counted. Nothing here decides what is right: that is `blame`.

mod blow;
mod fault;
mod file;
mod kind;
mod mess;
mod mix;
mod reply;
mod store;

pub use blow::{Announcement, Blow, Channel, Havoc, Mood, Phase, Strike};
pub use fault::{Fault, Place};
pub use file::{Script, ScriptError};
pub use kind::{Kind, kinds};
pub use mess::Mess;
pub use mix::{Mix, Plan};
pub use reply::{Reply, Shape};
pub use store::Faults;
