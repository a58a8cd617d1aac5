//! A bounded cache whose entries expire.
//!
//! Pure; time is an argument. It never holds more than its capacity: the oldest entry goes first.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::{Duration, Instant};

#[derive(Clone, Debug)]
pub struct AgedCache<K, V> {
    capacity: usize,
    age: Duration,
    entries: HashMap<K, (Instant, V)>,
    /// The keys, oldest first.
    order: VecDeque<K>,
}

impl<K: Clone + Eq + Hash, V> AgedCache<K, V> {
    pub fn new(capacity: usize, age: Duration) -> Self {
        Self {
            capacity: capacity.max(1),
            age,
            entries: HashMap::new(),
            order: VecDeque::new(),
        }
    }

    pub fn get(&self, key: &K, now: Instant) -> Option<&V> {
        let (at, value) = self.entries.get(key)?;
        (now.saturating_duration_since(*at) < self.age).then_some(value)
    }

    pub fn put(&mut self, key: K, value: V, now: Instant) {
        if self.entries.insert(key.clone(), (now, value)).is_some() {
            self.order.retain(|known| *known != key);
        }
        self.order.push_back(key);
        while self.order.len() > self.capacity {
            if let Some(oldest) = self.order.pop_front() {
                self.entries.remove(&oldest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_expire_and_the_oldest_makes_room() {
        let (now, age) = (Instant::now(), Duration::from_secs(60));
        let mut cache = AgedCache::new(2, age);
        cache.put("a", 1, now);
        cache.put("b", 2, now);
        cache.put("a", 3, now + age / 2);
        assert_eq!(cache.get(&"a", now + age), Some(&3));
        assert_eq!(cache.get(&"b", now + age), None, "expired");
        cache.put("c", 4, now + age);
        assert_eq!((cache.entries.len(), cache.get(&"b", now)), (2, None));
        assert_eq!(cache.get(&"a", now + age), Some(&3));
    }
}
