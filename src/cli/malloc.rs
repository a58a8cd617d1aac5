//! How the C library keeps the memory that a long-running bot frees.

/// Lets all threads share two heaps.
///
/// By default the GNU C library creates a heap for nearly every thread, and each keeps the memory of its
/// busiest moment (mallopt(3), `M_ARENA_MAX`), so a bot that runs for months would seem to grow. Searches
/// allocate nothing, so they do not wait for each other.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library's own settings")]
pub(super) fn limit_arenas() {
    // SAFETY: sets a number, under the lock of the allocator. A refusal changes nothing.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) };
}

/// Other C libraries have no such setting.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn limit_arenas() {}
