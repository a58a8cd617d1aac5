//! What is done about a task that panicked: it is begun anew, slower and slower while that goes on.

use std::any::Any;
use std::time::{Duration, Instant};

/// The longest pause before another life, in multiples of the first.
const LONGEST: u32 = 32;

/// The lives of a task.
#[derive(Debug)]
pub(super) struct Revival {
    first: Duration,
    next: u32,
    began: Instant,
}

impl Revival {
    /// The task begins; `first` is the pause after its first failure, doubled with every other.
    pub(super) fn new(first: Duration) -> Self {
        Self {
            first,
            next: 1,
            began: Instant::now(),
        }
    }

    /// Waits until it is time for another life. One that was long forgives those before it.
    pub(super) async fn wait(&mut self) {
        if self.began.elapsed() > self.first * LONGEST {
            self.next = 1;
        }
        tokio::time::sleep(self.first * self.next).await;
        self.next = (self.next * 2).min(LONGEST);
        self.began = Instant::now();
    }
}

/// What a panic says of itself.
pub(super) fn reason_of(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}
