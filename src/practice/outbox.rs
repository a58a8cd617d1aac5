//! The lines that an open stream still has to send: a short queue that drops its oldest line when
//! the reader is slow, silently, as Lichess does.

use std::collections::VecDeque;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::chaos::StreamFault;

/// Lines kept for a slow reader.
const ROOM: usize = 32;

/// The queue of one stream.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    queue: Mutex<OutboxQueue>,
    news: Notify,
}

#[derive(Debug, Default)]
struct OutboxQueue {
    lines: VecDeque<OutboxItem>,
    end: Option<StreamEnd>,
}

/// An item of an outbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutboxItem {
    Line(String),
    /// A fault at this point between the lines.
    Fault(StreamFault),
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// Cleanly, after the queued items.
    Closed,
    /// At once, like a broken connection.
    Broken,
}

impl Outbox {
    /// An outbox with these lines, however many: a stream begins with all that is going on.
    pub(crate) fn holding(lines: Vec<String>) -> Self {
        let queue = OutboxQueue {
            lines: lines.into_iter().map(OutboxItem::Line).collect(),
            end: None,
        };
        Self {
            queue: Mutex::new(queue),
            news: Notify::new(),
        }
    }

    pub(crate) fn push(&self, line: String) {
        self.post(OutboxItem::Line(line));
    }

    /// Queues a fault.
    pub(crate) fn stream_fault(&self, stream_fault: StreamFault) {
        self.post(OutboxItem::Fault(stream_fault));
    }

    fn post(&self, post: OutboxItem) {
        let mut queue = self.queue.lock();
        if queue.end.is_some() {
            return;
        }
        if queue.lines.len() >= ROOM {
            queue.lines.pop_front();
        }
        queue.lines.push_back(post);
        drop(queue);
        self.news.notify_one();
    }

    /// Ends the stream after the queued items.
    pub(crate) fn close(&self) {
        self.queue.lock().end.get_or_insert(StreamEnd::Closed);
        self.news.notify_one();
    }

    /// Breaks the connection.
    pub(crate) fn break_off(&self) {
        self.queue.lock().end = Some(StreamEnd::Broken);
        self.news.notify_one();
    }

    /// The next item, or how the stream ends. Has one reader.
    pub(crate) async fn next(&self) -> Result<OutboxItem, StreamEnd> {
        loop {
            {
                let mut queue = self.queue.lock();
                if queue.end == Some(StreamEnd::Broken) {
                    return Err(StreamEnd::Broken);
                }
                if let Some(post) = queue.lines.pop_front() {
                    return Ok(post);
                }
                if let Some(end) = queue.end {
                    return Err(end);
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
        let outbox = Outbox::default();
        for number in 0..40 {
            outbox.push(number.to_string());
        }
        outbox.close();
        let mut read = Vec::new();
        while let Ok(OutboxItem::Line(line)) = outbox.next().await {
            read.push(line);
        }
        assert_eq!(read.len(), 32);
        assert_eq!(read[0], "8");
    }

    #[tokio::test]
    async fn a_stream_begins_with_all_of_its_first_lines() {
        let outbox = Outbox::holding((0..50).map(|game: u32| game.to_string()).collect());
        outbox.close();
        for game in 0..50 {
            let line = OutboxItem::Line(game.to_string());
            assert_eq!(outbox.next().await, Ok(line));
        }
    }

    #[tokio::test]
    async fn queued_lines_are_read_before_the_end() {
        let outbox = Outbox::holding(vec!["first".to_owned()]);
        outbox.close();
        outbox.push("too late".to_owned());
        assert_eq!(
            outbox.next().await,
            Ok(OutboxItem::Line("first".to_owned()))
        );
        assert_eq!(outbox.next().await, Err(StreamEnd::Closed));
    }

    #[tokio::test]
    async fn a_broken_stream_ends_at_once() {
        let outbox = Outbox::holding(vec!["never read".to_owned()]);
        outbox.break_off();
        assert_eq!(outbox.next().await, Err(StreamEnd::Broken));
    }
}
