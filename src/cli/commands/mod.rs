//! One file per command or family of commands: its arguments, its help and what it does.
//!
//! * `control`: everything that talks to a running bot; `records`: everything about the archive

pub(super) mod bench;
pub(super) mod book;
pub(super) mod check;
pub(super) mod control;
pub(super) mod data;
pub(super) mod datagen;
pub(super) mod engine_match;
pub(super) mod explain;
pub(super) mod init;
pub(super) mod manpage;
pub(super) mod openings;
pub(super) mod perft;
pub(super) mod practice;
pub(super) mod records;
pub(super) mod run;
pub(super) mod soak;
pub(super) mod tables;
pub(super) mod team;
#[cfg(feature = "train")]
pub(super) mod train;
#[cfg(feature = "tune")]
pub(super) mod tune;
pub(super) mod uci;
pub(super) mod upgrade;
