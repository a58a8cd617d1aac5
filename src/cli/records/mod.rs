//! The commands that look into the archive, or add to it: one file a command.
//!
//! * `games`, `game`, `stats`: what was played; `challenges` and `events`: what happened beside;
//!   `export` and `import`: as PGN; `backup` and `prune`
//! * `place`: where the archive is; `wanted`: which games are meant, and of when
//! * `listed`: lists in every form; `table`, `chart` and `board`: how things are drawn on a terminal

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
