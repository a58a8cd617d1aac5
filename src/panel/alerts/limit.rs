//! How many messages there may be. Pure.
//!
//! The same words again within a while say nothing new; beyond so many in an hour the rest are
//! counted, and the next message that goes out says how many they were.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::rules::Message;

/// The span that messages are counted over.
const HOUR: Duration = Duration::from_secs(3600);
/// For so long the same words are not repeated.
const QUIET: Duration = Duration::from_secs(600);

/// Whether a message goes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    No,
    Yes {
        /// So many did not since the last one that did.
        held_back: u64,
    },
}

/// The messages of the last hour.
#[derive(Debug)]
pub(super) struct Limit {
    most: usize,
    sent: VecDeque<(Instant, Message)>,
    held_back: u64,
}

impl Limit {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            sent: VecDeque::new(),
            held_back: 0,
        }
    }

    pub(super) fn pass(&mut self, message: &Message, now: Instant) -> Passed {
        let old = |(at, _): &(Instant, Message)| now.saturating_duration_since(*at) >= HOUR;
        while self.sent.front().is_some_and(old) {
            self.sent.pop_front();
        }
        let same = |(at, it): &(Instant, Message)| {
            it == message && now.saturating_duration_since(*at) < QUIET
        };
        if self.sent.iter().any(same) {
            return Passed::No;
        }
        if self.sent.len() >= self.most {
            self.held_back += 1;
            return Passed::No;
        }
        self.sent.push_back((now, message.clone()));
        Passed::Yes {
            held_back: std::mem::take(&mut self.held_back),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beyond_the_limit_messages_are_counted_and_told_later() {
        let now = Instant::now();
        let mut limit = Limit::new(2);
        let message = |number: u32| Message::new("lost", format!("game {number}"));
        let passed = |held_back| Passed::Yes { held_back };
        assert_eq!(limit.pass(&message(1), now), passed(0));
        assert_eq!(limit.pass(&message(2), now), passed(0));
        assert_eq!(limit.pass(&message(3), now), Passed::No);
        assert_eq!(limit.pass(&message(4), now), Passed::No);
        assert_eq!(limit.pass(&message(5), now + HOUR), passed(2));
        assert_eq!(limit.pass(&message(6), now + HOUR), passed(0));
    }

    #[test]
    fn the_same_words_are_not_repeated_for_a_while() {
        let now = Instant::now();
        let mut limit = Limit::new(9);
        let message = Message::new("deaf", "x");
        assert_ne!(limit.pass(&message, now), Passed::No);
        assert_eq!(limit.pass(&message, now + QUIET / 2), Passed::No);
        let over = Message::over("deaf", "x");
        assert_ne!(
            limit.pass(&over, now + QUIET / 2),
            Passed::No,
            "that is news"
        );
        assert_eq!(
            limit.pass(&message, now + QUIET),
            Passed::Yes { held_back: 0 }
        );
    }
}
