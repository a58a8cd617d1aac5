//! One look at the bot a second, for everyone who wants to know how it is.
//!
//! Anyone who looks here asks no one: however many scrapes, probes and pages there are, the bot answers
//! one question a second, and one that does not answer is known by the age of its last answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::bot::restart_on_panic;
use crate::bot::{Command, ControlHandle, Disconnected, Reply, Status};

/// From one look to the next.
const EVERY: Duration = Duration::from_secs(1);
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How the bot was when it last answered.
#[derive(Clone, Debug)]
pub struct LastStatus {
    pub status: Arc<Status>,
    pub at: Instant,
}

/// What was last seen of the bot. Clones see the same.
#[derive(Clone, Debug)]
pub struct StatusWatch {
    begun: Instant,
    seen: watch::Receiver<Option<LastStatus>>,
    control: ControlHandle,
}

/// Looks at the bot.
#[derive(Debug)]
pub struct StatusPoller {
    control: ControlHandle,
    seen: watch::Sender<Option<LastStatus>>,
}

impl StatusWatch {
    /// A watch, and who keeps it.
    pub fn new(control: ControlHandle) -> (Self, StatusPoller) {
        let (sender, seen) = watch::channel(None);
        let begun = Instant::now();
        let watch = Self {
            begun,
            seen,
            control: control.clone(),
        };
        let watcher = StatusPoller {
            control,
            seen: sender,
        };
        (watch, watcher)
    }

    /// The last answer, if there was any.
    pub fn seen(&self) -> Option<LastStatus> {
        self.seen.borrow().clone()
    }

    /// How the bot was when it last answered.
    pub fn status(&self) -> Option<Arc<Status>> {
        self.seen().map(|seen| seen.status)
    }

    /// How long ago it last answered, or has been asked in vain.
    pub fn age(&self) -> Duration {
        self.seen().map_or(self.begun, |seen| seen.at).elapsed()
    }

    /// Wakes at each new answer.
    pub fn changes(&self) -> watch::Receiver<Option<LastStatus>> {
        self.seen.clone()
    }

    /// Has the bot tell those who listen that its engine fails its test. Never waits.
    pub(super) fn engine_failed(&self, reason: &str) {
        self.control.engine_failed(reason);
    }

    /// The same of a bot that has been asked in vain for so long.
    #[cfg(test)]
    pub(super) fn in_vain_for(mut self, time: Duration) -> Self {
        self.begun = self.begun.checked_sub(time).unwrap();
        self
    }
}

impl StatusPoller {
    /// Looks for as long as there is a bot.
    pub async fn run(self) {
        restart_on_panic("the look at the bot", EVERY, || self.look()).await;
    }

    async fn look(&self) {
        loop {
            match self.control.ask(Command::Status, PATIENCE).await {
                Ok(Reply::Status(status)) => {
                    let seen = LastStatus {
                        status: Arc::from(status),
                        at: Instant::now(),
                    };
                    self.seen.send_replace(Some(seen));
                }
                Ok(_) | Err(Disconnected::Busy | Disconnected::Silent) => {}
                Err(Disconnected::Gone) => return,
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bot::channel;

    #[tokio::test]
    async fn the_last_answer_is_there_for_everybody() {
        let (control, mut commands) = channel();
        let (watch, watcher) = StatusWatch::new(control);
        assert!(watch.status().is_none());
        let task = tokio::spawn(watcher.run());
        let mut changes = watch.changes();
        let order = commands.next().await;
        let status = Status {
            uptime: 7,
            ..Status::default()
        };
        order.answer(Reply::Status(Box::new(status)));
        changes.changed().await.unwrap();
        assert_eq!(watch.status().unwrap().uptime, 7);
        assert!(watch.age() < Duration::from_secs(60));
        drop(commands);
        task.await.unwrap();
        assert_eq!(watch.status().unwrap().uptime, 7);
    }
}
