//! The rate limiter: waits until the scheduler admits a call.
//!
//! A move never waits here: it goes out, or is refused at once. A waiting call can be cancelled at any
//! time and then leaves the queue; a permit is returned when it is dropped.

use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::call_stats::CallResult;
use super::endpoint_class::{Admission, EndpointClass};
use super::error::Error;
use super::scheduler::{Decision, Scheduler, Ticket};
use super::timing::Timing;

pub(super) struct RateLimiter {
    pub(super) scheduler: Mutex<Scheduler>,
    changed: Notify,
}

impl RateLimiter {
    pub(super) fn new(timing: &Timing) -> Self {
        Self {
            scheduler: Mutex::new(Scheduler::new(timing)),
            changed: Notify::new(),
        }
    }

    /// Records the outcome of a call: what it lifts may let waiting calls out.
    pub(super) fn ended(&self, class: EndpointClass, outcome: CallResult) {
        self.scheduler.lock().ended(class, outcome);
        self.changed.notify_waiters();
    }

    /// Waits until the call may go out. A move does not wait.
    ///
    /// # Errors
    /// When the wait would be too long; contains the wait.
    pub(super) async fn pass(&self, class: EndpointClass, cost: u32) -> Result<Permit<'_>, Error> {
        let asked = self.scheduler.lock().ask(class, cost, Instant::now());
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
            // Enabled before the poll, so that no change is missed in between.
            changed.as_mut().enable();
            let turn = self.scheduler.lock().poll(ticket, Instant::now());
            let at = match turn {
                Decision::Go => {
                    place.taken = true;
                    // The next call in the queue may now have a time to wait for.
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

/// A place in the queue, which dropping it leaves.
struct QueueSlot<'a> {
    limiter: &'a RateLimiter,
    ticket: Ticket,
    taken: bool,
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.limiter.scheduler.lock().leave(self.ticket);
            self.limiter.changed.notify_waiters();
        }
    }
}

/// A call in flight.
pub(super) struct Permit<'a> {
    limiter: &'a RateLimiter,
    class: EndpointClass,
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if self.class.admission() == Admission::InTurn {
            self.limiter.scheduler.lock().over(self.class);
            self.limiter.changed.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn what_waits_for_the_end_of_a_pause_goes_out_when_a_probe_lifts_it() {
        let pause = Duration::from_secs(5);
        let limiter = RateLimiter::new(&Timing {
            rate_limit: pause,
            ..Timing::default()
        });
        for class in [EndpointClass::Chat, EndpointClass::Lookup] {
            let mut scheduler = limiter.scheduler.lock();
            scheduler.suspect(class, pause, Instant::now());
        }
        let accept = limiter.pass(EndpointClass::Answer, 1);
        tokio::pin!(accept);
        assert!(accept.as_mut().now_or_never().is_none(), "it waits");
        let probe = limiter.pass(EndpointClass::Move, 1).await;
        assert!(probe.is_ok());
        assert!(accept.as_mut().now_or_never().is_none(), "it waits");
        limiter.ended(EndpointClass::Move, CallResult::Done);
        assert!(matches!(accept.now_or_never(), Some(Ok(_))));
    }
}
