//! Polls the status of the bot once a second, for all readers.
//!
//! However many scrapes, probes and pages there are, the bot answers one request a second. The age of the
//! last answer tells whether it still answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use crate::bot::{Command, ControlHandle, Disconnected, Reply, Status};

/// Time between two polls.
const EVERY: Duration = Duration::from_secs(1);
/// Time for the bot to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The last status and its time.
#[derive(Clone, Debug)]
pub struct LastStatus {
    pub status: Arc<Status>,
    pub at: Instant,
}

/// Reads the last status. Clones share it.
#[derive(Clone, Debug)]
pub struct StatusWatch {
    begun: Instant,
    seen: watch::Receiver<Option<LastStatus>>,
    control: ControlHandle,
}

/// The polling task.
#[derive(Debug)]
pub struct StatusPoller {
    control: ControlHandle,
    seen: watch::Sender<Option<LastStatus>>,
}

impl StatusWatch {
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

    /// The last status, if the bot has answered yet.
    pub fn seen(&self) -> Option<LastStatus> {
        self.seen.borrow().clone()
    }

    pub fn status(&self) -> Option<Arc<Status>> {
        self.seen().map(|seen| seen.status)
    }

    /// Time since the last answer, or since the start.
    pub fn age(&self) -> Duration {
        self.seen().map_or(self.begun, |seen| seen.at).elapsed()
    }

    /// Notifies of each new status.
    pub fn changes(&self) -> watch::Receiver<Option<LastStatus>> {
        self.seen.clone()
    }

    /// Reaches the bot.
    pub(super) fn control(&self) -> &ControlHandle {
        &self.control
    }

    /// A watch whose bot has not answered for so long.
    #[cfg(test)]
    pub(super) fn in_vain_for(mut self, time: Duration) -> Self {
        self.begun = self.begun.checked_sub(time).unwrap();
        self
    }
}

impl StatusPoller {
    /// Polls until the bot has exited.
    pub async fn run(self) {
        let poll = || self.poll();
        self.control
            .keep_running("the status poller", EVERY, poll)
            .await;
    }

    async fn poll(&self) {
        loop {
            match self.control.ask(Command::Status, PATIENCE).await {
                Ok(Reply::Status(status)) => {
                    let seen = LastStatus {
                        status: Arc::from(status),
                        at: Instant::now(),
                    };
                    self.seen.send_replace(Some(seen));
                }
                Ok(_) | Err(Disconnected::Busy | Disconnected::Silent | Disconnected::Dropped) => {}
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
    async fn all_readers_share_the_last_answer() {
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

    #[tokio::test]
    async fn a_dropped_answer_does_not_end_the_poller() {
        let (control, mut commands) = channel();
        let (watch, poller) = StatusWatch::new(control);
        let task = tokio::spawn(poller.run());
        let mut changes = watch.changes();
        drop(commands.next().await);
        let envelope = tokio::time::timeout(Duration::from_secs(60), commands.next());
        let envelope = envelope.await.expect("the poller asks again");
        envelope.answer(Reply::Status(Box::default()));
        changes.changed().await.unwrap();
        assert!(watch.status().is_some());
        drop(commands);
        task.await.unwrap();
    }
}
