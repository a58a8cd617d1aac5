//! A queue of entries in order of arrival, each also found by its key.
//!
//! A lookup must not get slower with more entries: it holds the state's lock, and every game makes
//! several.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

#[derive(Debug)]
pub(super) struct IndexedQueue<K, T> {
    entries: VecDeque<(K, T)>,
    /// Number of entries removed from the front.
    gone: usize,
    /// The index of each entry, counted from the first one ever added.
    places: HashMap<K, usize>,
    most: usize,
}

impl<K: Clone + Eq + Hash, T> IndexedQueue<K, T> {
    /// Creates an empty queue for `most` entries.
    pub(super) fn new(most: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            gone: 0,
            places: HashMap::new(),
            most,
        }
    }

    pub(super) fn get(&self, key: &K) -> Option<&T> {
        let place = self.places.get(key)? - self.gone;
        self.entries.get(place).map(|(_, entry)| entry)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut T> {
        let place = self.places.get(key)? - self.gone;
        self.entries.get_mut(place).map(|(_, entry)| entry)
    }

    /// Adds an entry; false if the key exists. [`IndexedQueue::overflow`] makes room for it.
    pub(super) fn push(&mut self, key: K, entry: T) -> bool {
        if self.places.contains_key(&key) {
            return false;
        }
        let place = self.gone + self.entries.len();
        self.places.insert(key.clone(), place);
        self.entries.push_back((key, entry));
        true
    }

    /// Removes old entries from the front.
    pub(super) fn forget(&mut self, is_old: impl Fn(&T) -> bool) {
        while self.entries.front().is_some_and(|(_, entry)| is_old(entry)) {
            self.pop();
        }
    }

    /// Removes and returns the oldest entry if there are too many.
    pub(super) fn overflow(&mut self) -> Option<T> {
        let too_many = self.entries.len() > self.most;
        too_many.then(|| self.pop())?
    }

    fn pop(&mut self) -> Option<T> {
        let (key, entry) = self.entries.pop_front()?;
        self.places.remove(&key);
        self.gone += 1;
        Some(entry)
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }

    pub(super) fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.entries.iter_mut().map(|(_, entry)| entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_by_their_keys_until_they_are_forgotten() {
        let mut line = IndexedQueue::new(3);
        for (key, entry) in [("a", 1), ("b", 2), ("c", 3)] {
            assert!(line.push(key, entry));
        }
        assert!(!line.push("b", 9), "known");
        assert_eq!(line.get(&"b"), Some(&2));
        line.forget(|&entry| entry < 2);
        assert_eq!((line.get(&"a"), line.get(&"c")), (None, Some(&3)));
        assert!(line.push("a", 4), "forgotten, so it is new");
        assert_eq!(line.overflow(), None, "it is full");
        assert!(line.push("d", 5));
        assert_eq!(line.overflow(), Some(2), "the oldest goes");
        assert_eq!(line.overflow(), None);
        assert_eq!((line.get(&"b"), line.get(&"d")), (None, Some(&5)));
        *line.get_mut(&"a").unwrap() += 10;
        let all: Vec<_> = line.iter().copied().collect();
        assert_eq!(all, [3, 14, 5]);
    }
}
