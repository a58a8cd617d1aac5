//! Detects stalls of the machine: a thread sleeps and measures how late it wakes.
//!
//! It is a thread of its own, so that a runtime blocked by the program itself does not count as a
//! stalled machine. It only records stalls.

use std::sync::Weak;
use std::time::{Duration, Instant};

use super::shared::SharedServer;

/// How long it sleeps.
const HEARTBEAT: Duration = Duration::from_millis(20);

/// Watches for stalls until the shared server is dropped or ends.
pub(super) fn start_stall_detector(shared: Weak<SharedServer>) -> std::io::Result<()> {
    let watch = std::thread::Builder::new().name("practice-pulse".to_owned());
    watch.spawn(move || {
        let mut late = Duration::ZERO;
        while let Some(shared) = shared
            .upgrade()
            .filter(|shared| !shared.stop.is_cancelled())
        {
            let now = shared.now();
            shared.log.heartbeat(late, now + HEARTBEAT, now);
            drop(shared);
            let asleep = Instant::now();
            std::thread::sleep(HEARTBEAT);
            late = asleep.elapsed().saturating_sub(HEARTBEAT);
        }
    })?;
    Ok(())
}
