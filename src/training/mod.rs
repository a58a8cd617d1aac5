//! The training room: games the engine plays against itself, and what a net learns from them.
//!
//! `selfplay` plays one game, `shard` keeps games in files that survive a kill, `folder` holds those
//! of one process and one evaluator, `generate` runs many workers; `shuffle` turns games into
//! `sample`s, one position each, from which `trainer` makes a net. Nothing here takes part in a game
//! of the bot.

mod filter;
mod folder;
mod generate;
mod opening;
mod record;
mod sample;
mod selfplay;
mod shard;
mod shuffle;
mod stats;
#[cfg(any(test, feature = "train"))]
pub mod trainer;

pub use filter::{Filter, Usable};
pub use generate::{Generation, Goal, Progress, generate};
pub use record::{GameRecord, GameResult, NO_SCORE, RecordedPly};
pub use sample::{Sample, SampleError, SamplePiece, read_samples};
pub use selfplay::SelfPlayRules;
pub use shard::{ShardError, ShardHeader, ShardReader, find_shards};
pub use shuffle::{ShuffleOptions, Shuffled, shuffle};
pub use stats::{Stats, Verified, stats, verify};
