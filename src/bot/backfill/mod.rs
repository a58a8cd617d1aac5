//! Games that ended unseen: looked up and counted as if the bot had seen their end.
//!
//! `state` marks a game when it starts and removes the mark once its end is counted; what is still
//! marked is looked up here. None of this is urgent, and nothing here plays.
//!
//! * `retry_queue`: which games to look up, when, and when to give up
//! * `result`: what an exported game counts as
//! * `fetch`: the calls, one at a time

mod fetch;
mod result;
mod retry_queue;

pub(super) use fetch::Backfill;
