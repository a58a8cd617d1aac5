//! A bounded list that drops its oldest entries and counts those dropped unread.
//!
//! Plain data; every entry carries the version of its last change.

use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct RingBuffer<T> {
    entries: VecDeque<RingEntry<T>>,
    most: usize,
    /// Entries up to this version have been read and are not counted when dropped.
    read: u64,
    lost: u64,
}

#[derive(Debug)]
struct RingEntry<T> {
    value: Arc<T>,
    revision: u64,
}

impl<T: Clone> RingBuffer<T> {
    /// A ring buffer of this capacity.
    pub(super) fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            most: most.max(1),
            read: 0,
            lost: 0,
        }
    }

    /// Adds an entry at this version.
    pub(super) fn push(&mut self, value: T, revision: u64) {
        if self.entries.len() >= self.most
            && let Some(gone) = self.entries.pop_front()
        {
            self.lost += u64::from(gone.revision > self.read);
        }
        let value = Arc::new(value);
        self.entries.push_back(RingEntry { value, revision });
    }

    /// Changes the latest matching entry; false if there is none.
    pub(super) fn change(
        &mut self,
        fits: impl Fn(&T) -> bool,
        revision: u64,
        change: impl FnOnce(&mut T),
    ) -> bool {
        let found = self.entries.iter_mut().rev().find(|it| fits(&it.value));
        let Some(found) = found else { return false };
        change(Arc::make_mut(&mut found.value));
        found.revision = revision;
        true
    }

    /// The latest matching entry.
    pub(super) fn find(&self, fits: impl Fn(&T) -> bool) -> Option<&T> {
        let mut found = self.entries.iter().rev().map(|it| it.value.as_ref());
        found.find(|value| fits(value))
    }

    /// Entries changed after a version, oldest first.
    pub(super) fn since(&self, version: u64) -> Vec<Arc<T>> {
        let changed = self.entries.iter().filter(|it| it.revision > version);
        changed.map(|it| Arc::clone(&it.value)).collect()
    }

    /// The latest entries, newest first.
    pub(super) fn latest(&self, most: usize) -> Vec<Arc<T>> {
        let latest = self.entries.iter().rev().take(most);
        latest.map(|it| Arc::clone(&it.value)).collect()
    }

    /// Everything up to this version has been read.
    pub(super) fn settle(&mut self, version: u64) {
        self.read = self.read.max(version);
    }

    /// Number of entries dropped unread.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_dropped_unread_are_counted_and_read_ones_are_not() {
        let mut buffer = RingBuffer::new(3);
        for version in 1..=3 {
            buffer.push(version * 10, version);
        }
        assert_eq!(buffer.lost(), 0);
        buffer.settle(2);
        buffer.push(40, 4);
        buffer.push(50, 5);
        assert_eq!(buffer.lost(), 0, "10 and 20 had been read");
        buffer.push(60, 6);
        assert_eq!(buffer.lost(), 1);
        let values = |entries: Vec<Arc<u64>>| entries.iter().map(|it| **it).collect::<Vec<_>>();
        assert_eq!(values(buffer.since(4)), [50, 60]);
        assert_eq!(values(buffer.latest(2)), [60, 50]);
    }

    #[test]
    fn a_changed_entry_counts_as_new() {
        let mut buffer = RingBuffer::new(3);
        buffer.push(1, 1);
        buffer.push(2, 2);
        assert!(buffer.change(|it| *it == 1, 3, |it| *it = 11));
        assert!(!buffer.change(|it| *it == 1, 4, |it| *it = 12));
        assert_eq!(*buffer.since(2)[0], 11);
        assert_eq!(buffer.find(|it| *it > 5), Some(&11));
    }
}
