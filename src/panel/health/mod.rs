//! Whether the bot lives, and whether it would take a game: with reasons.
//!
//! Alive is a matter of the process: who is not should be started anew. Ready is a matter of the
//! world too: a bot without a network is alive and not ready, and a new start would not help it.
//!
//! * `judge`: what the evidence means; pure
//! * `selftest`: the engine asked for a move that it must find
//! * `disk`: how much room there is

mod disk;
mod judge;
mod selftest;

pub use judge::{Check, Report};
pub use selftest::SelfTest;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::judge::Evidence;
use super::watch::Watch;

/// Looks after the health of a running bot. Clones look after the same.
#[derive(Clone, Debug)]
pub struct Health {
    watch: Watch,
    engine: SelfTest,
    home: Option<Arc<Path>>,
}

impl Health {
    /// For a bot that is watched and keeps its things in this folder.
    pub fn new(watch: Watch, engine: SelfTest, home: Option<PathBuf>) -> Self {
        let home = home.map(Arc::from);
        Self {
            watch,
            engine,
            home,
        }
    }

    /// How it is now.
    pub fn report(&self) -> Report {
        let evidence = Evidence {
            status: self.watch.status(),
            age: self.watch.age(),
            engine: self.engine.last(),
            free: self.free(),
        };
        judge::judge(&evidence)
    }

    /// How much room there is where it keeps its things, in bytes.
    pub fn free(&self) -> Option<u64> {
        disk::free(self.home.as_deref()?)
    }
}
