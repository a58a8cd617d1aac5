//! Runs jobs on a few threads and waits for all of them.

use std::thread;

use parking_lot::Mutex;

/// Runs all jobs on up to `threads` threads, including this one; propagates the panic of a job.
pub(super) fn side_by_side<J: FnOnce() + Send>(threads: usize, mut jobs: Vec<J>) {
    if threads <= 1 || jobs.len() <= 1 {
        for job in jobs {
            job();
        }
        return;
    }
    let helpers = threads.min(jobs.len()) - 1;
    // Popping from the end takes the last jobs first.
    jobs.reverse();
    let jobs = Mutex::new(jobs);
    let work = || {
        loop {
            let job = jobs.lock().pop();
            match job {
                Some(job) => job(),
                None => return,
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_job_is_done_once() {
        for (threads, jobs) in [(1, 5), (3, 2), (2, 9), (4, 0)] {
            let done = AtomicUsize::new(0);
            let job = || {
                done.fetch_add(1, Ordering::Relaxed);
            };
            side_by_side(threads, vec![job; jobs]);
            assert_eq!(done.into_inner(), jobs);
        }
    }
}
