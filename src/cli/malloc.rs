//! How the C library keeps the memory that a long-running bot gives back.

/// Has all threads share two heaps.
///
/// By custom the GNU C library makes one for nearly every thread, and each keeps what its busiest
/// moment took (mallopt(3), `M_ARENA_MAX`): a bot that runs for months would seem to grow. Searches
/// ask for no memory and do not wait for the others.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library's own settings")]
pub(super) fn share() {
    // SAFETY: sets a number, under the lock of the allocator. A refusal changes nothing.
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 2) };
}

/// Elsewhere there is nothing to set.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn share() {}
