//! The knowledge room: what need not be thought.
//!
//! Endgame tables of the Syzygy format, read for the engine, which knows only its own trait. It
//! decides nothing, and a file that is missing or broken costs knowledge, never a game.

mod material;
mod syzygy;

pub use syzygy::{FoundTables, Syzygy, SyzygyError};
