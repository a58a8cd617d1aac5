//! A list that forgets its oldest, and counts what it forgot before anyone had read it.
//!
//! Plain data; every entry carries the version at which it was last changed.

use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct RingBuffer<T> {
    entries: VecDeque<RingEntry<T>>,
    most: usize,
    /// What had been read up to here may go without being missed.
    read: u64,
    lost: u64,
}

#[derive(Debug)]
struct RingEntry<T> {
    value: Arc<T>,
    revision: u64,
}

impl<T: Clone> RingBuffer<T> {
    /// Room for so many.
    pub(super) fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            most: most.max(1),
            read: 0,
            lost: 0,
        }
    }

    /// Adds one at this version.
    pub(super) fn push(&mut self, value: T, revision: u64) {
        if self.entries.len() >= self.most
            && let Some(gone) = self.entries.pop_front()
        {
            self.lost += u64::from(gone.revision > self.read);
        }
        let value = Arc::new(value);
        self.entries.push_back(RingEntry { value, revision });
    }

    /// Changes the latest one that fits; false if none does.
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

    /// The latest one that fits.
    pub(super) fn find(&self, fits: impl Fn(&T) -> bool) -> Option<&T> {
        let mut found = self.entries.iter().rev().map(|it| it.value.as_ref());
        found.find(|value| fits(value))
    }

    /// Those changed after a version, oldest first.
    pub(super) fn since(&self, version: u64) -> Vec<Arc<T>> {
        let changed = self.entries.iter().filter(|it| it.revision > version);
        changed.map(|it| Arc::clone(&it.value)).collect()
    }

    /// The latest so many, newest first.
    pub(super) fn latest(&self, most: usize) -> Vec<Arc<T>> {
        let latest = self.entries.iter().rev().take(most);
        latest.map(|it| Arc::clone(&it.value)).collect()
    }

    /// Everything up to this version is safe elsewhere.
    pub(super) fn settle(&mut self, version: u64) {
        self.read = self.read.max(version);
    }

    /// How many fell out unread.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_falls_out_unread_is_counted_and_what_was_read_is_not() {
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
    fn a_change_makes_an_entry_new_again() {
        let mut buffer = RingBuffer::new(3);
        buffer.push(1, 1);
        buffer.push(2, 2);
        assert!(buffer.change(|it| *it == 1, 3, |it| *it = 11));
        assert!(!buffer.change(|it| *it == 1, 4, |it| *it = 12));
        assert_eq!(*buffer.since(2)[0], 11);
        assert_eq!(buffer.find(|it| *it > 5), Some(&11));
    }
}
