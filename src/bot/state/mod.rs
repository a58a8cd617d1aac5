//! What the bot knows beyond one game: in memory, and written through to the store.
//!
//! One handle for everyone. Nothing here waits for a disk unless its caller asks for that, and no
//! answer needs more than a look into memory.
//!
//! * `handle`: the handle, cool-downs, notes, single games
//! * `costs`: what the last moves cost
//! * `open`: games whose end is still to be counted
//! * `opponents`: opponents, encounters, results
//! * `timeline`: what happened, in order and by key
//! * `spending`: the quota's calls, on disk before what they spend is spent

mod bot_state;
mod durable_write;
mod indexed_queue;
mod latency_history;
mod opponents;
#[cfg(test)]
mod tests;
mod unfinished_games;

pub use bot_state::{BotState, StateRules, WallClock};
pub use durable_write::{DurableWrite, QuotaCall};
pub use opponents::{KnownGame, OpponentRecord, StartedGame};
pub use unfinished_games::UnfinishedGame;
