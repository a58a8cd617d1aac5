//! The Bot API client against bytes: recorded shapes of the wire, and a server that misbehaves.
//!
//! Nothing here leaves the loopback. The server of these tests is written by hand, so that no
//! library can be kinder to the client than a network is.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

#[path = "lichess/arenas.rs"]
mod arenas;
#[path = "lichess/calls.rs"]
mod calls;
#[path = "lichess/connections.rs"]
mod connections;
#[path = "fuzz/src/streams.rs"]
mod fuzz_targets;
#[path = "lichess/recorded.rs"]
mod recorded;
#[path = "lichess/replay.rs"]
mod replay;
#[path = "lichess/scheduling.rs"]
mod scheduling;
#[path = "lichess/schema.rs"]
mod schema;
#[path = "lichess/server.rs"]
mod server;
#[path = "lichess/streams.rs"]
mod streams;
