//! The transposition table: one for all games and threads, without locks.
//!
//! A cluster is 32 bytes: three entries of one 64-bit word each and their three 16-bit keys. Words
//! and keys are read and written apart, with relaxed atomics, so a torn cluster can at worst yield an
//! entry of another position: every move from here is validated before use. The memory
//! comes zeroed from the system and is touched only where something is stored.

#[expect(unsafe_code, reason = "memory straight from the system")]
mod memory;

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use memory::{Cluster, ENTRIES, Memory};

use super::params;
use super::score::{MATE_BOUND, NO_VALUE, TABLE_BOUND, TABLE_WIN, Value, is_by_tables};
use crate::rules::Move;

/// Ages are counted modulo this.
const AGES: u8 = 32;

/// How a stored score bounds the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    None = 0,
    Upper = 1,
    Lower = 2,
    Exact = 3,
}

impl Bound {
    const fn from_bits(bits: u64) -> Bound {
        [Bound::None, Bound::Upper, Bound::Lower, Bound::Exact][bits as usize & 3]
    }

    /// Whether such a bound causes a cutoff in this window, or is exact.
    #[inline]
    pub(super) const fn settles(self, value: Value, alpha: Value, beta: Value) -> bool {
        match self {
            Bound::None => false,
            Bound::Exact => true,
            Bound::Lower => value >= beta,
            Bound::Upper => value <= alpha,
        }
    }
}

/// A stored entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Not validated: may belong to another position.
    pub(super) best: Option<Move>,
    /// Mate distances count from this position, see [`Entry::value_at`].
    pub(super) value: Value,
    /// The static evaluation; [`NO_VALUE`] if there is none.
    pub(super) eval: Value,
    pub(super) depth: i32,
    pub(super) bound: Bound,
}

impl Entry {
    /// The score as seen from the root, for a node `ply` below it. A mate or a win by
    /// tables that the fifty-move count makes unprovable becomes the best score without proof.
    #[inline]
    pub(super) fn value_at(&self, ply: usize, halfmove_clock: u32) -> Value {
        let (value, ply) = (self.value, ply as Value);
        if value == NO_VALUE {
            return NO_VALUE;
        }
        let room = 100 - halfmove_clock as Value;
        if value >= MATE_BOUND {
            if super::score::MATE - value > room {
                TABLE_BOUND - 1
            } else {
                value - ply
            }
        } else if value <= -MATE_BOUND {
            if super::score::MATE + value > room {
                1 - TABLE_BOUND
            } else {
                value + ply
            }
        } else if is_by_tables(value) {
            let is_late = TABLE_WIN - value.abs() > room;
            let seen = if is_late {
                TABLE_BOUND - 1
            } else {
                value.abs() - ply
            };
            seen * value.signum()
        } else {
            value
        }
    }
}

/// The inverse of [`Entry::value_at`].
#[inline]
pub(super) const fn value_to_store(value: Value, ply: usize) -> Value {
    if value == NO_VALUE {
        value
    } else if value >= MATE_BOUND {
        value + ply as Value
    } else if value <= -MATE_BOUND {
        value - ply as Value
    } else if is_by_tables(value) {
        value + ply as Value * value.signum()
    } else {
        value
    }
}

/// One word: move 0-15, score 16-31, eval 32-47, depth 48-55, bound 56-57, age 59-63.
#[derive(Clone, Copy)]
struct Word(u64);

impl Word {
    fn new(entry: &Entry, age: u8) -> Word {
        let best = entry.best.map_or(0, Move::bits);
        Word(
            u64::from(best)
                | u64::from(entry.value as i16 as u16) << 16
                | u64::from(entry.eval as i16 as u16) << 32
                | u64::from(entry.depth.clamp(0, 255) as u8) << 48
                | (entry.bound as u64) << 56
                | u64::from(age) << 59,
        )
    }

    fn entry(self) -> Entry {
        let best = self.0 as u16;
        Entry {
            best: (best != 0).then(|| Move::from_bits(best)),
            value: Value::from((self.0 >> 16) as i16),
            eval: Value::from((self.0 >> 32) as i16),
            depth: self.depth(),
            bound: Bound::from_bits(self.0 >> 56),
        }
    }

    const fn depth(self) -> i32 {
        (self.0 >> 48) as u8 as i32
    }

    const fn age(self) -> u8 {
        (self.0 >> 59) as u8
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Its value for replacement: depth, minus a penalty for age.
    const fn worth(self, age: u8) -> i32 {
        let distance = (AGES + age - self.age()) % AGES;
        self.depth() - params::TT_AGE_WEIGHT * distance as i32
    }
}

impl Cluster {
    fn word(&self, slot: usize) -> Word {
        Word(self.words[slot].load(Relaxed))
    }

    fn key(&self, slot: usize) -> u16 {
        self.keys[slot].load(Relaxed)
    }

    fn set(&self, slot: usize, key: u16, word: Word) {
        self.keys[slot].store(key, Relaxed);
        self.words[slot].store(word.0, Relaxed);
    }
}

pub(super) struct TranspositionTable {
    memory: Memory,
    age: AtomicU8,
}

impl TranspositionTable {
    /// A table of `megabytes` (at least one, and no more than available), untouched until used.
    pub(super) fn new(megabytes: usize) -> TranspositionTable {
        let memory = Memory::new((megabytes.max(1) << 20) / size_of::<Cluster>());
        TranspositionTable {
            memory,
            age: AtomicU8::new(0),
        }
    }

    pub(super) fn megabytes(&self) -> usize {
        size_of_val(self.memory.clusters()) >> 20
    }

    /// Has the system provide the memory now.
    pub(super) fn commit(&self) {
        self.memory.commit();
    }

    /// Clears the table, at once however large it is. Entries that a running search stores
    /// meanwhile may stay.
    pub(super) fn clear(&self) {
        self.memory.clear();
        self.age.store(0, Relaxed);
    }

    /// Starts a search of a game whose last one had this age, and returns its own: entries stored from now on
    /// are younger than those of that search. Of several games at once the first one to move again makes the table
    /// older, so that an entry ages by one while each of them searches once.
    pub(super) fn new_search(&self, last: u8) -> u8 {
        let next = (last + 1) % AGES;
        let aged = self.age.compare_exchange(last, next, Relaxed, Relaxed);
        aged.map_or_else(|age| age, |_| next)
    }

    pub(super) fn probe(&self, key: u64) -> Option<Entry> {
        let cluster = self.cluster(key);
        (0..ENTRIES)
            .find(|&slot| cluster.key(slot) == key as u16 && !cluster.word(slot).is_empty())
            .map(|slot| cluster.word(slot).entry())
    }

    /// Stores `entry`; a missing move keeps the known one.
    pub(super) fn store(&self, key: u64, mut entry: Entry) {
        let (cluster, age) = (self.cluster(key), self.age.load(Relaxed));
        let own = (0..ENTRIES).find(|&slot| cluster.key(slot) == key as u16);
        let slot = own.unwrap_or_else(|| cheapest(cluster, age));
        if own.is_some() {
            let old = cluster.word(slot);
            let known = old.entry();
            entry.best = entry.best.or(known.best);
            let keeps = entry.bound != Bound::Exact
                && old.age() == age
                && known.bound != Bound::None
                && known.depth > entry.depth + params::TT_KEEP_MARGIN;
            if keeps {
                return;
            }
        }
        cluster.set(slot, key as u16, Word::new(&entry, age));
    }

    /// Prefetches what [`TranspositionTable::probe`] will read.
    #[inline]
    #[cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "a prefetch is an intrinsic")
    )]
    pub(super) fn prefetch(&self, key: u64) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = std::ptr::from_ref(self.cluster(key)).cast::<i8>();
            // SAFETY: SSE is part of x86-64, and a prefetch of a valid address changes nothing.
            unsafe { _mm_prefetch(line, _MM_HINT_T0) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = key;
    }

    /// Permille of a sample that has the present age: what was written since the table last grew older.
    pub(super) fn fullness(&self) -> u32 {
        let age = self.age.load(Relaxed);
        let sample = &self.memory.clusters()[..self.memory.clusters().len().min(1000)];
        let young = |cluster: &Cluster| {
            let is_young = |&slot: &usize| {
                let word = cluster.word(slot);
                !word.is_empty() && word.age() == age
            };
            (0..ENTRIES).filter(is_young).count()
        };
        let used: usize = sample.iter().map(young).sum();
        (used * 1000 / (sample.len() * ENTRIES)) as u32
    }

    #[inline]
    fn cluster(&self, key: u64) -> &Cluster {
        let clusters = self.memory.clusters();
        let place = (u128::from(key) * clusters.len() as u128) >> 64;
        &clusters[place as usize]
    }
}

fn cheapest(cluster: &Cluster, age: u8) -> usize {
    let worth = |&slot: &usize| {
        let word = cluster.word(slot);
        if word.is_empty() {
            i32::MIN
        } else {
            word.worth(age)
        }
    };
    (0..ENTRIES).min_by_key(worth).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::score::{MAX_PLY, mate_in, mated_in};

    fn entry(bits: u16, value: Value, depth: i32, bound: Bound) -> Entry {
        let best = (bits != 0).then(|| Move::from_bits(bits));
        Entry {
            best,
            value,
            eval: -7,
            depth,
            bound,
        }
    }

    #[test]
    fn stored_entries_are_found() {
        let table = TranspositionTable::new(1);
        let stored = entry(0x123, -321, 9, Bound::Lower);
        table.store(0xdead_beef_0123_4567, stored);
        assert_eq!(table.probe(0xdead_beef_0123_4567), Some(stored));
        assert_eq!(table.probe(0xdead_beef_0123_4568), None);
        table.clear();
        assert_eq!(table.probe(0xdead_beef_0123_4567), None);
    }

    #[test]
    fn a_table_of_any_size_is_allocated_and_cleared() {
        use std::time::{Duration, Instant};
        for megabytes in [1, 3, 64, 65_536] {
            let begun = Instant::now();
            let table = TranspositionTable::new(megabytes);
            let keys = (0..100u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            for key in keys.clone() {
                table.store(key, entry(0x11, 1, 5, Bound::Exact));
            }
            let last = u64::MAX;
            table.store(last, entry(0x12, 1, 5, Bound::Exact));
            assert!(table.probe(last).is_some(), "{megabytes} MB");
            table.clear();
            assert!(keys.chain([last]).all(|key| table.probe(key).is_none()));
            table.store(last, entry(0x12, 1, 5, Bound::Exact));
            assert!(table.probe(last).is_some(), "{megabytes} MB");
            drop(table);
            assert!(begun.elapsed() < Duration::from_secs(10), "{megabytes} MB");
        }
    }

    #[test]
    fn a_store_without_a_move_keeps_the_known_move() {
        let table = TranspositionTable::new(1);
        table.store(5, entry(0x77, 10, 3, Bound::Exact));
        table.store(5, entry(0, 20, 4, Bound::Upper));
        let found = table.probe(5).unwrap();
        assert_eq!((found.best, found.value), (Some(Move::from_bits(0x77)), 20));
    }

    #[test]
    fn the_least_valuable_of_three_entries_is_replaced() {
        let table = TranspositionTable::new(1);
        for (key, depth) in [(1, 9), (2, 2), (3, 7)] {
            table.store(key, entry(0x11, 0, depth, Bound::Exact));
        }
        table.store(4, entry(0x11, 0, 1, Bound::Exact));
        assert!(table.probe(2).is_none());
        assert!([1, 3, 4].iter().all(|&key| table.probe(key).is_some()));
        let age = table.new_search(0);
        table.new_search(age);
        table.store(5, entry(0x11, 0, 1, Bound::Exact));
        assert!(table.probe(4).is_none() && table.probe(5).is_some());
    }

    #[test]
    fn the_searches_of_several_games_age_the_table_once_a_round() {
        let table = TranspositionTable::new(1);
        let mut ages = [0; 3];
        for round in 1..=40 {
            for last in &mut ages {
                *last = table.new_search(*last);
                assert_eq!(*last, round % AGES, "the same for all of a round");
            }
        }
    }

    #[test]
    fn mates_count_from_their_own_node_in_the_table() {
        for (value, ply) in [(mate_in(7), 4), (mated_in(8), 4), (120, 4)] {
            let stored = Entry {
                value: value_to_store(value, ply),
                ..entry(1, 0, 1, Bound::Exact)
            };
            assert_eq!(stored.value_at(ply, 0), value);
            let unprovable = stored.value_at(ply, 99).abs();
            assert!(unprovable < TABLE_BOUND, "no better than a win by tables");
        }
    }

    #[test]
    fn a_win_far_away_is_a_win_where_the_table_is_read() {
        use crate::engine::score::{is_decisive, table_win_in};

        for won in [mate_in(80), table_win_in(80)] {
            let stored = entry(1, won, 1, Bound::Exact);
            let seen = stored.value_at(MAX_PLY - 1, 0);
            assert!(is_decisive(seen), "{seen}");
            assert_eq!(value_to_store(seen, MAX_PLY - 1), won);
        }
    }

    #[test]
    fn fullness_counts_the_present_search_only() {
        let table = TranspositionTable::new(1);
        assert_eq!(table.fullness(), 0);
        for key in 0..400_000u64 {
            table.store(
                key.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                entry(1, 0, 1, Bound::Exact),
            );
        }
        assert!(table.fullness() > 900);
        table.new_search(0);
        assert_eq!(table.fullness(), 0);
    }
}
