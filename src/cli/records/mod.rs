//! Commands that read the archive or add to it, one file a command.
//!
//! * `games`, `game`, `stats`: games; `challenges`, `events`: everything else; `export`, `import`: PGN;
//!   `backup`, `prune`
//! * `place`: where the archive is; `filters`: which games a command is about
//! * `listing`: lists as table, JSON or CSV; `table`, `chart`, `board`: drawing on a terminal

pub(super) mod backup;
mod board;
pub(super) mod challenges;
mod chart;
pub(super) mod events;
pub(super) mod export;
mod filters;
pub(super) mod game;
pub(super) mod games;
pub(super) mod import;
mod listing;
mod place;
pub(super) mod prune;
pub(super) mod stats;
mod table;
