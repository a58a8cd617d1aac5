//! What the bot knows beyond one game: kept in memory, written through to the store.
//!
//! One shared handle. A call waits for the disk only if the caller asks for it; every answer comes from
//! memory.
//!
//! * `bot_state`: the handle; cooldowns, notes, single games
//! * `latency_history`: what the last moves cost
//! * `unfinished_games`: games whose end is still to be counted
//! * `opponents`: opponents, interactions, results
//! * `indexed_queue`: events in order and by key
//! * `quota_use`: quota use, reserved before the call that spends it

mod bot_state;
mod indexed_queue;
mod latency_history;
mod opponents;
mod quota_use;
#[cfg(test)]
mod tests;
mod unfinished_games;

pub use bot_state::{BotState, StateRules, WallClock};
pub use opponents::{KnownGame, OpponentRecord, StartedGame};
pub use quota_use::QuotaCall;
pub use unfinished_games::UnfinishedGame;
