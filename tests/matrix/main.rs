//! Every fault in every phase of a game, against the whole bot.
//!
//! Each cell is a server with one fault, on which the bot plays a game of three minutes thirty
//! times as fast. Each asserts that the fault was injected, that no game was lost on time, by an
//! illegal move, by leaving or by a changed move, that rate limits were respected, and that streams
//! were reopened in time. `tests/bot` tests the pure state machines for the same.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

mod account;
mod arenas;
mod calls;
#[path = "../app/certificate_authority.rs"]
mod certificate_authority;
mod challengers;
mod chat;
mod crossing_challenges;
mod ending_calls;
mod guest;
mod harness;
mod network;
mod outgoing;
mod repetition;
mod restarts;
mod server_faults;
mod shutdown;
mod streams;
mod tls_front;
mod warm_connections;
