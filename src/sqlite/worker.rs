//! The thread that owns a file: it runs jobs one after the other.

use std::future::Future;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;

type Job<T> = Box<dyn FnOnce(&mut T) + Send>;

/// A handle to the thread. The thread ends with its handle, after the jobs sent before.
#[derive(Debug)]
pub struct Worker<T> {
    jobs: Option<mpsc::Sender<Job<T>>>,
    ended: Mutex<mpsc::Receiver<()>>,
}

impl<T: Send + 'static> Worker<T> {
    /// Starts a thread that owns `state` and calls `idle` whenever no job came for `interval`.
    ///
    /// # Errors
    /// When the system provides no thread.
    pub fn start(
        name: &str,
        mut state: T,
        interval: Duration,
        idle: impl Fn(&mut T) + Send + 'static,
    ) -> io::Result<Self> {
        let (jobs, queue) = mpsc::channel::<Job<T>>();
        let (end, ended) = mpsc::channel();
        thread::Builder::new().name(name.into()).spawn(move || {
            loop {
                match queue.recv_timeout(interval) {
                    Ok(job) => job(&mut state),
                    Err(RecvTimeoutError::Timeout) => idle(&mut state),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            // Closes the file before the end is announced.
            drop(state);
            let _ = end.send(());
        })?;
        Ok(Self {
            jobs: Some(jobs),
            ended: Mutex::new(ended),
        })
    }

    /// Has the thread run a job soon. Never waits.
    pub fn send(&self, job: impl FnOnce(&mut T) + Send + 'static) {
        if let Some(jobs) = &self.jobs {
            // A thread that has ended drops the job, and with it any answer.
            let _ = jobs.send(Box::new(job));
        }
    }

    /// Runs a job and returns its answer; `None` if the thread has ended. Dropping the future does
    /// not cancel the job.
    pub fn ask<A: Send + 'static>(
        &self,
        job: impl FnOnce(&mut T) -> A + Send + 'static,
    ) -> impl Future<Output = Option<A>> + Send + 'static {
        let (answer, answered) = oneshot::channel();
        self.send(move |state| {
            let _ = answer.send(job(state));
        });
        async move { answered.await.ok() }
    }

    /// Ends the thread and waits so long at most until it has finished its jobs and closed the file.
    pub fn close(&mut self, patience: Duration) {
        self.jobs = None;
        let ended = self.ended.get_mut();
        let _ = ended.recv_timeout(patience);
    }
}
