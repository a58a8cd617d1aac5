//! Games that ended while no one looked: found, looked up, and counted as if their end had been seen.
//!
//! What is missing is known from `state`: every game leaves a note when it begins, and the note goes
//! when its end is counted. Nothing here plays, and nothing here is urgent.
//!
//! * `retry_queue`: which games are looked up and when, and when that is given up
//! * `account`: what an exported game counts as
//! * `seeker`: the calls, one at a time

mod fetch;
mod result;
mod retry_queue;

pub(super) use fetch::Backfill;
