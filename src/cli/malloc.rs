//! How the C library keeps the memory that a long-running bot frees.

/// A block of this many bytes is a mapping of its own.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE_BLOCK: libc::c_int = 1 << 20;

/// Lets all threads share two heaps, and returns large blocks to the system when they are freed.
///
/// By default the GNU C library creates a heap for nearly every thread, and each keeps the memory of its
/// busiest moment (mallopt(3), `M_ARENA_MAX`), so a bot that runs for months would seem to grow. Searches
/// allocate nothing, so they do not wait for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library's own settings")]
pub(super) fn limit_arenas() {
    // SAFETY: sets a number, under the lock of the allocator. A refusal changes nothing.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) };
    // SAFETY: as above. A fixed threshold never rises to the size of the blocks freed.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK) };
}

/// Other C libraries have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn limit_arenas() {}
