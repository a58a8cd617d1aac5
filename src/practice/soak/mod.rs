//! A soak: thousands of games in a hurry between a bot and the partners, under random faults, and
//! what came of them.
//!
//! Server and partners live here; the bot is put on by anyone who soaks one. Nothing leaves the
//! loopback.

mod memory;
mod run;
mod summary;

pub use memory::resident_kilobytes;
pub use run::{SoakError, SoakOptions, SoakTarget, soak};
pub use summary::SoakReport;
