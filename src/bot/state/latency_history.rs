//! The overhead of the bot's last moves, stored for the next start.
//!
//! A few moves, each with its time: an old cost says nothing about today's connection. They are
//! only a starting point, soon outvoted by new moves.

use std::collections::VecDeque;
use std::time::Duration;

use super::bot_state::BotState;
use crate::store::{Change, Timestamp};

/// Moves stored. Few, so that a connection that got worse meanwhile is believed after two moves.
const KEPT: usize = 32;
/// How long a cost stays relevant.
const LIFE: Duration = Duration::from_secs(48 * 3600);
/// The minimum time between two writes.
const PAUSE: Duration = Duration::from_secs(60);
/// Note key of the stored costs.
pub(super) const NOTE: &str = "overhead.costs";

#[derive(Debug, Default)]
pub(super) struct LatencyHistory {
    last: VecDeque<(Timestamp, Duration)>,
    written: Timestamp,
}

impl LatencyHistory {
    /// Parses a note; unreadable entries are skipped.
    pub(super) fn read(note: &str) -> Self {
        let read = |entry: &str| {
            let (at, cost) = entry.split_once(':')?;
            let at = Timestamp::from_millis(at.parse().ok()?);
            Some((at, Duration::from_millis(cost.parse().ok()?)))
        };
        let entries: Vec<_> = note.split_ascii_whitespace().filter_map(read).collect();
        let excess = entries.len().saturating_sub(KEPT);
        Self {
            last: entries.into_iter().skip(excess).collect(),
            written: Timestamp::default(),
        }
    }

    /// Adds a cost; returns the note to store when a write is due.
    fn push(&mut self, now: Timestamp, cost: Duration) -> Option<String> {
        self.last.push_back((now, cost));
        while self.last.len() > KEPT {
            self.last.pop_front();
        }
        if now.since(self.written) < PAUSE && now >= self.written {
            return None;
        }
        self.written = now;
        let entry =
            |(at, cost): &(Timestamp, Duration)| format!("{}:{}", at.as_millis(), cost.as_millis());
        let entries: Vec<String> = self.last.iter().map(entry).collect();
        Some(entries.join(" "))
    }

    fn recent(&self, now: Timestamp) -> Vec<Duration> {
        let recent = self.last.iter().filter(|(at, _)| now.since(*at) < LIFE);
        recent.map(|(_, cost)| *cost).collect()
    }
}

impl BotState {
    /// The costs of the last moves, of this run and earlier ones, oldest first.
    pub fn move_costs(&self) -> Vec<Duration> {
        self.look(|inner, now| inner.costs.recent(now))
    }

    /// Adds the overhead of one of the bot's moves.
    pub fn move_cost(&self, cost: Duration) {
        self.change(|inner, now, changes| {
            if let Some(note) = inner.costs.push(now, cost) {
                inner.notes.insert(NOTE.to_owned(), note.clone());
                changes.push(Change::Note(NOTE.to_owned(), Some(note)));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_note_restores_its_costs_except_old_ones() {
        let mut costs = LatencyHistory::default();
        let begun = Timestamp::from_millis(1_800_000_000_000);
        for n in 0..100 {
            costs.push(begun, ms(n));
        }
        let later = begun + Duration::from_secs(3600);
        let note = costs.push(later, ms(700)).expect("it is time");
        let read = LatencyHistory::read(&note);
        let recent = read.recent(later);
        assert_eq!((recent.len(), recent[31]), (KEPT, ms(700)));
        assert_eq!(read.recent(begun + LIFE), [ms(700)]);
        assert!(read.recent(later + LIFE).is_empty());
    }

    #[test]
    fn it_is_not_written_for_every_move() {
        let mut costs = LatencyHistory::default();
        let begun = Timestamp::from_millis(1_800_000_000_000);
        assert!(costs.push(begun, ms(1)).is_some());
        assert!(costs.push(begun + ms(59_000), ms(1)).is_none());
        assert!(costs.push(begun + PAUSE, ms(1)).is_some());
        // A clock that was set back does not stop the writes.
        assert!(costs.push(begun, ms(1)).is_some());
    }

    #[test]
    fn an_invalid_note_is_harmless() {
        let read = LatencyHistory::read("x 1:2:3 :: -1:5 99999999999999999999:1 7: 5:6");
        assert_eq!(read.last.len(), 1);
    }
}
