//! The table's memory: zeroed by the system.
//!
//! Large pages are requested, since the table is accessed randomly: fewer of them miss the TLB.
//! Allocation and release take no time, whatever the size; clearing commits the pages of all but a very
//! large table, so that no search has to, and so does `commit` for a new one.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering::Relaxed};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};

/// A large page of the system. No cluster crosses a cache line either.
const LARGE_PAGE: usize = 2 << 20;
/// From this many bytes on, clearing returns the pages to the system; below, writing zeroes is
/// cheaper than committing the pages again.
#[cfg(target_os = "linux")]
const CLEARED_BY_SYSTEM: usize = 32 << 20;
/// Up to this many bytes, all pages are committed before a search: otherwise the search does, on its clock.
/// Committing more would take longer than a GUI waits.
#[cfg(target_os = "linux")]
const COMMITTED_AT_ONCE: usize = 4 << 30;

/// Entries of a cluster.
pub(super) const ENTRIES: usize = 3;

/// The words of the entries, and their keys in a last word of the same size.
#[repr(C, align(32))]
pub(super) struct Cluster {
    pub(super) words: [AtomicU64; ENTRIES],
    pub(super) keys: [AtomicU16; ENTRIES],
}

const _: () = assert!(size_of::<Cluster>() == 32);

impl Cluster {
    fn clear(&self) {
        // Only what was written: a write to an untouched page would commit it.
        for word in &self.words {
            if word.load(Relaxed) != 0 {
                word.store(0, Relaxed);
            }
        }
        for key in &self.keys {
            if key.load(Relaxed) != 0 {
                key.store(0, Relaxed);
            }
        }
    }
}

/// An array of clusters.
pub(super) struct Memory {
    block: NonNull<u8>,
    size: usize,
    /// The first large page in the block.
    first: NonNull<Cluster>,
    count: usize,
    is_committed: AtomicBool,
}

// SAFETY: the block is owned by this value alone and reached as shared atomics only.
unsafe impl Send for Memory {}
// SAFETY: as above; every access is an atomic one.
unsafe impl Sync for Memory {}

impl Memory {
    /// Room for up to `count` clusters: half as many, and so on, if the system has less memory.
    pub(super) fn new(mut count: usize) -> Memory {
        loop {
            if let Some(memory) = Memory::map(count) {
                return memory;
            }
            assert!(count > 1, "the system has memory for one cluster");
            count /= 2;
        }
    }

    fn map(count: usize) -> Option<Memory> {
        let bytes = count * size_of::<Cluster>();
        let size = bytes + LARGE_PAGE;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: an anonymous mapping at an address of the system's choice.
        let block =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size, protection, MapFlags::PRIVATE) };
        let block = NonNull::new(block.ok()?.cast::<u8>())?;
        let offset = block.addr().get().next_multiple_of(LARGE_PAGE) - block.addr().get();
        // SAFETY: the block is larger than the clusters by a large page, and the offset smaller.
        let first = unsafe { block.add(offset) };
        #[cfg(target_os = "linux")]
        // SAFETY: advice on our own memory. A system without large pages may refuse: no harm done.
        let _ = unsafe {
            rustix::mm::madvise(
                first.as_ptr().cast(),
                bytes,
                rustix::mm::Advice::LinuxHugepage,
            )
        };
        Some(Memory {
            block,
            size,
            first: first.cast(),
            count,
            is_committed: AtomicBool::new(false),
        })
    }

    #[inline]
    pub(super) fn clusters(&self) -> &[Cluster] {
        // SAFETY: `count` clusters fit behind `first`, which is aligned for them; zeroes are a
        // valid state of atomics; the block lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }

    /// Zeroes the memory, while others may read and write.
    pub(super) fn clear(&self) {
        if self.give_back() {
            self.is_committed.store(false, Relaxed);
        } else {
            self.clusters().iter().for_each(Cluster::clear);
        }
        self.commit();
    }

    /// Lets the system provide all pages now. One that cannot provides them when they are touched.
    #[cfg(target_os = "linux")]
    pub(super) fn commit(&self) {
        let bytes = self.count * size_of::<Cluster>();
        if bytes <= COMMITTED_AT_ONCE && !self.is_committed.swap(true, Relaxed) {
            let advice = rustix::mm::Advice::LinuxPopulateWrite;
            // SAFETY: our private memory, whose contents stay.
            let _ = unsafe { rustix::mm::madvise(self.first.as_ptr().cast(), bytes, advice) };
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn commit(&self) {}

    /// Returns the pages to the system, which zeroes them when touched again; false if it does not.
    #[cfg(target_os = "linux")]
    fn give_back(&self) -> bool {
        let bytes = self.count * size_of::<Cluster>();
        if bytes < CLEARED_BY_SYSTEM {
            return false;
        }
        let advice = rustix::mm::Advice::LinuxDontNeed;
        // SAFETY: our private memory, borrowed only as atomics; a concurrent reader gets an old
        // word or a zero.
        unsafe { rustix::mm::madvise(self.first.as_ptr().cast(), bytes, advice) }.is_ok()
    }

    #[cfg(not(target_os = "linux"))]
    fn give_back(&self) -> bool {
        false
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped with this size, and no longer reachable. A failure cannot be handled.
        let _ = unsafe { munmap(self.block.as_ptr().cast(), self.size) };
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of the mapping around the clusters that are in memory.
    fn resident(memory: &Memory) -> usize {
        let at = memory.first.addr().get();
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("as Linux writes it");
        let address = |text: &str| usize::from_str_radix(text, 16).ok();
        let holds = |line: &&str| {
            let range = line.split(' ').next().and_then(|it| it.split_once('-'));
            let range = range.and_then(|(from, to)| Some(address(from)?..address(to)?));
            range.is_some_and(|range| range.contains(&at))
        };
        let mut lines = maps.lines().skip_while(|line| !holds(line));
        let rss = lines
            .find_map(|line| line.strip_prefix("Rss:"))
            .expect("as Linux writes it");
        let kilobytes: usize = rss
            .trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("as Linux writes it");
        kilobytes << 10
    }

    #[test]
    fn a_cleared_or_committed_table_is_in_memory_before_the_next_search() {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
        let mut numbers = release
            .split('.')
            .map_while(|part| part.parse::<u32>().ok());
        if (numbers.next(), numbers.next()) < (Some(5), Some(14)) {
            println!("SKIPPED: Linux {release} cannot commit pages at once");
            return;
        }
        let ways: [fn(&Memory); 2] = [Memory::clear, Memory::commit];
        for (megabytes, way) in [(4, ways[0]), (48, ways[0]), (48, ways[1])] {
            let memory = Memory::new((megabytes << 20) / size_of::<Cluster>());
            assert!(resident(&memory) < 1 << 20);
            way(&memory);
            assert!(resident(&memory) >= megabytes << 20, "{megabytes} MB");
            // What was committed is committed again after it was returned.
            memory.clear();
            assert!(resident(&memory) >= megabytes << 20, "{megabytes} MB");
        }
    }
}
