//! Endgame tablebases: atomic Syzygy files and the engine's own tables, read for the engine through its
//! trait `TablebaseProbe`.
//!
//! This module makes no decisions. A missing or broken file costs knowledge, never a game.
//!
//! * `layered`: both as one probe; `syzygy`: Syzygy files in folders
//! * `outcomes`: win, draw or loss of every position of at most four pieces, embedded in the
//!   program
//! * `material`: the pieces of a table, as a number and as the name of its file

mod layered;
mod material;
mod outcomes;
mod syzygy;

pub use layered::{BuiltIn, tablebases};
pub use outcomes::{
    Extent, GeneratedTable, OUTCOME_TABLES, OutcomeError, OutcomeFileError, OutcomeTables,
    TableReport, TableRuling, ValueCounts, generate as generate_outcomes,
};
pub use syzygy::{FoundTables, Syzygy, SyzygyError};
