//! The practice server over real HTTP: the Bot API's semantics, its bodies and its streams.
//!
//! The client here is a bare one on purpose: it shares no type with the server or with the bot.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

#[path = "practice/arenas.rs"]
mod arenas;
#[path = "practice/challenges.rs"]
mod challenges;
#[path = "practice/client.rs"]
mod client;
#[path = "practice/faults.rs"]
mod faults;
#[path = "practice/games.rs"]
mod games;
#[path = "practice/page.rs"]
mod page;
#[path = "practice/refusals.rs"]
mod refusals;
#[path = "practice/replay.rs"]
mod replay;
#[path = "practice/schema.rs"]
mod schema;
#[path = "practice/sparring.rs"]
mod sparring;
#[path = "practice/streams.rs"]
mod streams;
