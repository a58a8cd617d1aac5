//! The Bot API over HTTP: reads requests, asks the server state, writes what it says.
//!
//! Decides nothing about chess or challenges.

mod account;
mod arena;
mod auth;
mod body;
mod challenge;
mod export;
mod fault_middleware;
mod fields;
mod game;
mod reply;
mod router;
mod stream_faults;
mod users;

pub(super) use router::{App, router};
