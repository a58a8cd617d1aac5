//! Endgame tablebases: atomic Syzygy files, read for the engine through its trait `TablebaseProbe`.
//!
//! This module makes no decisions. A missing or broken file costs knowledge, never a game.

mod material;
mod syzygy;

pub use syzygy::{FoundTables, Syzygy, SyzygyError};
