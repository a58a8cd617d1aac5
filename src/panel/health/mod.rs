//! Whether the bot is alive and ready for games, with reasons.
//!
//! Alive is about the process: one that is not alive should be restarted. Ready is about the world too:
//! a bot without a network is alive but not ready, and a restart would not help.
//!
//! * `checks`: what the inputs mean; pure
//! * `selftest`: a move that the engine must find
//! * `disk_space`: free space

mod checks;
mod disk_space;
mod selftest;

pub use checks::{Check, HealthReport};
pub use selftest::SelfTest;

use std::path::PathBuf;

use self::checks::HealthInputs;
use self::disk_space::{DiskMonitor, FreeSpace};
use super::status_poller::StatusWatch;

/// The health of a running bot. Reading it never waits. Clones share it.
#[derive(Clone, Debug)]
pub struct Health {
    watch: StatusWatch,
    engine: SelfTest,
    disk: Option<DiskMonitor>,
}

impl Health {
    /// For a bot with this data folder.
    pub fn new(watch: StatusWatch, engine: SelfTest, home: Option<PathBuf>) -> Self {
        Self {
            watch,
            engine,
            disk: home.map(DiskMonitor::of),
        }
    }

    /// The health from what is known already.
    pub fn report(&self) -> HealthReport {
        let inputs = HealthInputs {
            status: self.watch.status(),
            age: self.watch.age(),
            engine: self.engine.last(),
            room: self.room(),
        };
        checks::evaluate(&inputs)
    }

    /// Free space of the data folder at the last reading, in bytes.
    pub fn free(&self) -> Option<u64> {
        match self.room() {
            FreeSpace::Free(free) => Some(free),
            FreeSpace::Unknown | FreeSpace::Silent(_) => None,
        }
    }

    fn room(&self) -> FreeSpace {
        self.disk
            .as_ref()
            .map_or(FreeSpace::Unknown, DiskMonitor::room)
    }
}
