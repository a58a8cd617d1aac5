//! What one open stream still has to send: a short queue that drops its oldest line when the reader
//! is slow, as Lichess does without a word.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Lines kept for a slow reader.
const ROOM: usize = 32;

/// The queue of one stream.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    queue: Mutex<Queue>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    lines: VecDeque<String>,
    closed: bool,
}

impl Mailbox {
    /// A mailbox that already holds `lines`, however many.
    pub(crate) fn holding(lines: Vec<String>) -> Self {
        let queue = Queue {
            lines: lines.into(),
            closed: false,
        };
        Self {
            queue: Mutex::new(queue),
            news: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, line: String) {
        let mut queue = self.lock();
        if queue.closed {
            return;
        }
        if queue.lines.len() >= ROOM {
            queue.lines.pop_front();
        }
        queue.lines.push_back(line);
        drop(queue);
        self.news.notify_one();
    }

    /// Nothing comes after what lies in it.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_one();
    }

    /// The next line; nothing when the stream is at its end. Has one reader.
    pub(crate) async fn next(&self) -> Option<String> {
        loop {
            {
                let mut queue = self.lock();
                if let Some(line) = queue.lines.pop_front() {
                    return Some(line);
                }
                if queue.closed {
                    return None;
                }
            }
            self.news.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_slow_reader_loses_the_oldest_lines() {
        let mailbox = Mailbox::default();
        for number in 0..40 {
            mailbox.push(number.to_string());
        }
        mailbox.close();
        let mut read = Vec::new();
        while let Some(line) = mailbox.next().await {
            read.push(line);
        }
        assert_eq!(read.len(), 32);
        assert_eq!(read[0], "8");
    }

    #[tokio::test]
    async fn what_lies_in_it_is_read_before_the_end() {
        let mailbox = Mailbox::holding(vec!["first".to_owned()]);
        mailbox.close();
        mailbox.push("too late".to_owned());
        assert_eq!(mailbox.next().await.as_deref(), Some("first"));
        assert_eq!(mailbox.next().await, None);
    }
}
