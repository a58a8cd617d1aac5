//! The Bot API over HTTP: parses requests, calls the server state, writes responses.
//!
//! It decides nothing about chess or challenges.

mod account;
mod arena;
pub(super) mod auth;
mod body;
mod challenge;
mod explorer;
mod export;
mod fields;
mod game;
pub(super) mod reply;
mod router;
mod tables;
mod users;

pub(super) use router::router;
