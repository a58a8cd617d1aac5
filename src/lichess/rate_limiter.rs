//! The rate limiter: waits until the scheduler lets a call out, and reports a 429 to it.
//!
//! A move never waits here. A waiting call can be cancelled at any time and leaves nothing behind; a permit
//! is returned when it is dropped.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::endpoint_class::{Admission, EndpointClass};
use super::error::Error;
use super::scheduler::{Decision, Scheduler, Ticket};
use super::timing::Timing;

/// The rate limiter, and the bell that is rung when something has changed.
pub(super) struct RateLimiter {
    scheduler: Mutex<Scheduler>,
    changed: Notify,
}

impl RateLimiter {
    pub(super) fn new(timing: &Timing) -> Self {
        Self {
            scheduler: Mutex::new(Scheduler::new(timing)),
            changed: Notify::new(),
        }
    }

    /// The rate limiter, for no longer than a question takes.
    pub(super) fn scheduler(&self) -> MutexGuard<'_, Scheduler> {
        self.scheduler
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the call may go out. A move does not wait.
    ///
    /// # Errors
    /// When it would have to wait too long; tells how long.
    pub(super) async fn pass(&self, class: EndpointClass, cost: u32) -> Result<Permit<'_>, Error> {
        let asked = self.scheduler().ask(class, cost, Instant::now());
        match asked {
            Decision::Go => Ok(Permit {
                limiter: self,
                class,
            }),
            Decision::Refused(rest) => Err(Error::paused(class, rest)),
            Decision::Wait(ticket, _) => self.wait(class, ticket).await,
        }
    }

    async fn wait(&self, class: EndpointClass, ticket: Ticket) -> Result<Permit<'_>, Error> {
        let mut place = QueueSlot {
            limiter: self,
            ticket,
            taken: false,
        };
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no ring is missed, so what changed before is seen by the question.
            changed.as_mut().enable();
            let turn = self.scheduler().poll(ticket, Instant::now());
            let at = match turn {
                Decision::Go => {
                    place.taken = true;
                    // Who is next may have to be told until when to wait.
                    self.changed.notify_waiters();
                    return Ok(Permit {
                        limiter: self,
                        class,
                    });
                }
                Decision::Refused(rest) => return Err(Error::paused(class, rest)),
                Decision::Wait(_, at) => at,
            };
            tokio::select! {
                () = &mut changed => {}
                () = tokio::time::sleep_until(at.into()) => {}
            }
        }
    }
}

/// A place in the queue, left when it is given up.
struct QueueSlot<'a> {
    limiter: &'a RateLimiter,
    ticket: Ticket,
    taken: bool,
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.limiter.scheduler().leave(self.ticket);
            self.limiter.changed.notify_waiters();
        }
    }
}

/// A call that is under way.
pub(super) struct Permit<'a> {
    limiter: &'a RateLimiter,
    class: EndpointClass,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.class.admission() == Admission::InTurn {
            self.limiter.scheduler().over(self.class);
            self.limiter.changed.notify_waiters();
        }
    }
}
