//! The table's memory: zeroed by the system, and taken from it only page by page as it is touched.

use std::alloc::{self, Layout};
use std::ptr::NonNull;

use super::Cluster;

/// Bytes of a line of the processor's cache: no cluster may lie across two.
const CACHE_LINE: usize = 64;
/// With a greater alignment the allocator would zero, and so touch, every page itself.
const BLOCK_ALIGNMENT: usize = 16;

/// An array of clusters.
pub(super) struct Memory {
    block: NonNull<u8>,
    layout: Layout,
    /// The first line of the cache in the block.
    first: NonNull<Cluster>,
    count: usize,
}

// SAFETY: the block is owned by this value alone and reached as shared atomics only.
unsafe impl Send for Memory {}
// SAFETY: as above; every access is an atomic one.
unsafe impl Sync for Memory {}

impl Memory {
    /// Room for up to `count` clusters: half as many, and so on, if the system has no more.
    pub(super) fn new(mut count: usize) -> Memory {
        loop {
            let size = count * size_of::<Cluster>() + CACHE_LINE;
            let layout = Layout::from_size_align(size, BLOCK_ALIGNMENT)
                .expect("a table is smaller than the address space");
            // SAFETY: the layout is not empty.
            let block = unsafe { alloc::alloc_zeroed(layout) };
            if let Some(block) = NonNull::new(block) {
                let offset = block.addr().get().next_multiple_of(CACHE_LINE) - block.addr().get();
                // SAFETY: the block is larger than the clusters by `CACHE_LINE`, which is more than
                // the offset.
                let first = unsafe { block.add(offset) }.cast::<Cluster>();
                return Memory {
                    block,
                    layout,
                    first,
                    count,
                };
            }
            if count <= 1 {
                alloc::handle_alloc_error(layout);
            }
            count /= 2;
        }
    }

    #[inline]
    pub(super) fn clusters(&self) -> &[Cluster] {
        // SAFETY: `count` clusters fit behind `first`, which is aligned for them; zeroes are a
        // valid state of atomics; the block lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated with this very layout and freed once; atomics need no drop.
        unsafe { alloc::dealloc(self.block.as_ptr(), self.layout) }
    }
}
