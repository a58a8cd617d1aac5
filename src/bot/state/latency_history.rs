//! What our last moves cost beside our thinking, kept for the next start.
//!
//! A few moves, each with its moment: what is old by then says nothing about the line of today. They
//! are a beginning and no more; moves made since outvote them soon.

use std::collections::VecDeque;
use std::time::Duration;

use super::bot_state::BotState;
use crate::store::{Change, Timestamp};

/// Moves kept. Few, so that a line that got worse meanwhile is believed after two moves.
const KEPT: usize = 32;
/// How long a cost is worth anything.
const LIFE: Duration = Duration::from_secs(48 * 3600);
/// The least time between two writings.
const PAUSE: Duration = Duration::from_secs(60);
/// The note that holds them.
pub(super) const NOTE: &str = "overhead.costs";

/// The costs of the last moves.
#[derive(Debug, Default)]
pub(super) struct LatencyHistory {
    last: VecDeque<(Timestamp, Duration)>,
    written: Timestamp,
}

impl LatencyHistory {
    /// As a note has them; what cannot be read is left out.
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

    /// Takes one in; the note to be written, if it is time for that.
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
    /// What the last moves cost, of this run and of those before it, oldest first.
    pub fn move_costs(&self) -> Vec<Duration> {
        self.look(|inner, now| inner.costs.recent(now))
    }

    /// What a move of ours cost.
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
    fn what_a_note_holds_comes_back_and_what_is_old_does_not() {
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
        // A clock that was set back does not silence it.
        assert!(costs.push(begun, ms(1)).is_some());
    }

    #[test]
    fn a_note_that_makes_no_sense_is_no_harm() {
        let read = LatencyHistory::read("x 1:2:3 :: -1:5 99999999999999999999:1 7: 5:6");
        assert_eq!(read.last.len(), 1);
    }
}
