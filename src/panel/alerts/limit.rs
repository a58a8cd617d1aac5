//! Limits the number of messages. Pure.
//!
//! A repeated message is suppressed for a while, unless the opposite was sent in between. Messages beyond
//! the hourly limit are counted, and the next one sent says how many there were. For a lasting condition
//! the first message of an hour is always sent, and the last one is kept until there is room, so that the
//! operator never misses how it ended. A condition that comes and goes may use only part of the limit.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::rules::AlertMessage;

const HOUR: Duration = Duration::from_secs(3600);
/// How long a repeated message is suppressed.
const QUIET: Duration = Duration::from_secs(600);

/// Most beginnings, and most ends, of one lasting condition in an hour.
const MOST_ALIKE: usize = 3;

/// The messages sent in the last hour.
#[derive(Debug)]
pub(super) struct MessageLimit {
    pub(super) most: usize,
    sent: VecDeque<(Instant, AlertMessage)>,
    held_back: u64,
    /// The last messages about lasting conditions, if they were held back.
    unsent: VecDeque<AlertMessage>,
}

impl MessageLimit {
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            sent: VecDeque::new(),
            held_back: 0,
            unsent: VecDeque::new(),
        }
    }

    /// Whether to send a message: if so, the number of messages suppressed since the last one sent.
    pub(super) fn pass(&mut self, message: &AlertMessage, now: Instant) -> Option<u64> {
        self.forget(now);
        self.unsent.retain(|it| it.kind != message.kind);
        let same = |(at, it): &(Instant, AlertMessage)| {
            it == message && now.saturating_duration_since(*at) < QUIET
        };
        let contrary = |it: &AlertMessage| it.kind == message.kind && it.over != message.over;
        let mut since = self.sent.iter().rev().take_while(|(_, it)| !contrary(it));
        if since.any(same) {
            return None;
        }
        if !self.has_room(message) {
            self.held_back += 1;
            if message.lasts() {
                self.unsent.push_back(message.clone());
            }
            return None;
        }
        self.sent.push_back((now, message.clone()));
        Some(std::mem::take(&mut self.held_back))
    }

    /// A message that was held back, once there is room.
    pub(super) fn overdue(&mut self, now: Instant) -> Option<AlertMessage> {
        self.forget(now);
        if self.sent.len() >= self.most {
            return None;
        }
        let next = self.unsent.iter().position(|it| self.has_room(it))?;
        let message = self.unsent.remove(next)?;
        self.held_back = self.held_back.saturating_sub(1);
        Some(message)
    }

    fn forget(&mut self, now: Instant) {
        let old = |(at, _): &(Instant, AlertMessage)| now.saturating_duration_since(*at) >= HOUR;
        while self.sent.front().is_some_and(old) {
            self.sent.pop_front();
        }
    }

    fn has_room(&self, message: &AlertMessage) -> bool {
        if !message.lasts() {
            return self.sent.len() < self.most;
        }
        let alike = |it: &AlertMessage| it.kind == message.kind && it.over == message.over;
        match self.sent.iter().filter(|(_, it)| alike(it)).count() {
            0 => true,
            told => told < MOST_ALIKE && self.sent.len() < self.most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_beyond_the_limit_are_counted_and_summarized_later() {
        let now = Instant::now();
        let mut limit = MessageLimit::new(2);
        let message = |number: u32| AlertMessage::new("lost", format!("game {number}"));
        let passed = Some;
        assert_eq!(limit.pass(&message(1), now), passed(0));
        assert_eq!(limit.pass(&message(2), now), passed(0));
        assert_eq!(limit.pass(&message(3), now), None);
        assert_eq!(limit.pass(&message(4), now), None);
        assert_eq!(limit.pass(&message(5), now + HOUR), passed(2));
        assert_eq!(limit.pass(&message(6), now + HOUR), passed(0));
    }

    #[test]
    fn the_same_text_is_not_repeated_for_a_while() {
        let now = Instant::now();
        let mut limit = MessageLimit::new(9);
        let message = AlertMessage::new("deaf", "x");
        assert_ne!(limit.pass(&message, now), None);
        assert_eq!(limit.pass(&message, now + QUIET / 2), None);
        let over = AlertMessage::over("deaf", "x");
        assert_ne!(limit.pass(&over, now + QUIET / 2), None, "that is news");
        assert_eq!(limit.pass(&message, now + QUIET), Some(0));
    }

    #[test]
    fn an_alert_that_returns_is_sent_again() {
        let now = Instant::now();
        let mut limit = MessageLimit::new(9);
        let (deaf, over) = (
            AlertMessage::new("deaf", "x"),
            AlertMessage::over("deaf", "y"),
        );
        let passed = Some(0);
        assert_eq!(limit.pass(&deaf, now), passed);
        let aside = AlertMessage::over("token", "z");
        assert_eq!(limit.pass(&aside, now), passed);
        assert_eq!(limit.pass(&deaf, now), None, "that was about the token");
        assert_eq!(limit.pass(&over, now), passed);
        assert_eq!(limit.pass(&deaf, now), passed, "it is the last word");
        assert_eq!(limit.pass(&deaf, now), None);
        assert_eq!(limit.pass(&over, now), passed);
    }

    #[test]
    fn flapping_alerts_leave_room_for_others() {
        let now = Instant::now();
        let mut limit = MessageLimit::new(12);
        let (slow, over) = (
            AlertMessage::new("archive", "x"),
            AlertMessage::over("archive", "y"),
        );
        let mut told = Vec::new();
        for turn in 0..41 {
            let message = if turn % 2 == 0 { &slow } else { &over };
            let passed = limit.pass(message, now + Duration::from_secs(turn));
            told.push(passed.is_some());
        }
        let count = told.iter().filter(|told| **told).count();
        assert_eq!(count, 2 * MOST_ALIKE);
        let lost = AlertMessage::new("time", "a game lost on time");
        assert_ne!(limit.pass(&lost, now + HOUR / 2), None);
        assert_eq!(limit.overdue(now + HOUR / 2), None);
        assert_eq!(
            limit.overdue(now + HOUR + QUIET),
            Some(slow),
            "the last word"
        );
    }

    #[test]
    fn beyond_the_limit_the_start_of_a_lasting_alert_is_sent_and_its_end_when_there_is_room() {
        let now = Instant::now();
        let mut limit = MessageLimit::new(1);
        let engine = AlertMessage::new("engine", "x");
        let (token, over) = (
            AlertMessage::new("token", "x"),
            AlertMessage::over("token", "y"),
        );
        let passed = Some;
        assert_eq!(limit.pass(&engine, now), passed(0));
        let many = AlertMessage::new("engine", "y");
        assert_eq!(limit.pass(&many, now), None, "a fault is no lasting thing");
        assert_eq!(limit.pass(&token, now), passed(1));
        assert_eq!(limit.pass(&over, now), passed(0));
        assert_eq!(limit.pass(&token, now), None);
        assert_eq!(
            limit.pass(&over, now),
            None,
            "the last message said the same"
        );
        assert_eq!(limit.overdue(now + HOUR), None);
        assert_eq!(limit.pass(&engine, now + HOUR), passed(1));
        assert_eq!(limit.pass(&token, now + HOUR), passed(0));
        assert_eq!(limit.pass(&over, now + HOUR), passed(0));
        assert_eq!(limit.pass(&token, now + HOUR), None);
        assert_eq!(limit.overdue(now + HOUR), None, "there is no room");
        assert_eq!(limit.overdue(now + 2 * HOUR), Some(token.clone()));
        assert_eq!(limit.pass(&token, now + 2 * HOUR), passed(0));
        assert_eq!(limit.overdue(now + 2 * HOUR), None);
    }
}
