//! Training data and nets: self-play games of the engine, and training of a net on them.
//!
//! `selfplay` plays one game, `shard` stores games in files that survive a kill, `packed` compresses them,
//! `folder` holds the files of one process and one evaluator, `generate` runs many workers; `shuffle` turns games into `sample`s of
//! one position each, from which `trainer` makes a net. The bot's games use none of this.

mod beginnings;
mod buckets;
mod filter;
mod folder;
mod generate;
mod opening;
mod pack;
mod packed;
mod record;
mod sample;
mod selfplay;
mod shard;
mod shuffle;
mod stats;
#[cfg(test)]
mod tests;
#[cfg(any(test, feature = "train"))]
pub mod trainer;

pub use beginnings::Beginnings;
pub use filter::{Filter, Usable};
pub use generate::{Generation, Goal, Progress, generate};
pub use pack::{Packed, pack};
pub use record::{GameRecord, GameResult, NO_SCORE, RecordedPly};
pub use sample::{Sample, SampleError, SamplePiece, read_samples};
pub use selfplay::SelfPlayRules;
pub use shard::{ShardError, ShardHeader, ShardReader, find_shards};
pub use shuffle::{ShuffleOptions, Shuffled, shuffle};
pub use stats::{Stats, Verified, stats, verify};
