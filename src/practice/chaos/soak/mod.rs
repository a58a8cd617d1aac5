//! A soak test: thousands of fast games between a bot and the sparring partners, under random faults.
//!
//! Server and partners live here; the caller supplies the bot. Nothing leaves the loopback.

mod memory;
mod run;
mod summary;

pub use memory::resident_kilobytes;
pub use run::{SoakError, SoakOptions, SoakTarget, soak};
pub use summary::SoakReport;
