//! Every fault in every phase of a game, against the whole bot: no one can knock it over.
//!
//! Each cell is a server of its own with one fault, on which the bot plays a game of three minutes
//! thirty times as fast. Each asserts that the fault struck, that no game was lost on time, by an
//! illegal move, by leaving or by doubling, that the limits of requests were kept, and that streams
//! were found again in time. The pure cores are tested for the same in `tests/bot`.

#![expect(clippy::unwrap_used, reason = "the steps of a test may fail")]

mod account;
mod arenas;
#[path = "../app/authority.rs"]
mod authority;
mod calls;
mod closing;
mod crossing;
mod ending;
mod front;
mod ground;
mod guest;
mod outgoing;
mod people;
mod repeating;
mod rows;
mod streams;
mod talking;
mod warm;
mod world;
