//! What the bot knows beyond one game: in memory, and written through to the store.
//!
//! One handle for everybody. Nothing here waits for a disk unless its caller asks for that, and no
//! answer needs more than a look into memory.
//!
//! * `handle`: the handle, cool-downs, notes, single games
//! * `costs`: what the last moves cost
//! * `open`: games whose end is still to be counted
//! * `people`: opponents, encounters, results
//! * `timeline`: what happened, in order and by key
//! * `spending`: the ledger's calls, on disk before what they spend is spent

mod costs;
mod handle;
mod open;
mod people;
mod spending;
#[cfg(test)]
mod tests;
mod timeline;

pub use handle::{Clock, Memory, MemoryRules};
pub use open::OpenGame;
pub use people::{KnownGame, OpponentRecord, Started};
pub use spending::{Call, Writing};
