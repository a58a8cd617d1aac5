//! Waiting for one's turn: the governor's word, carried out.
//!
//! A move never comes to wait here. Whoever waits can be given up at any moment and leaves nothing
//! behind; whoever was let out gives the place back by ending.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::error::Error;
use super::governor::{Governor, Ticket, Turn};
use super::scope::{Manner, Scope};
use super::timing::Timing;

/// The governor, and the bell that is rung when something has changed.
pub(super) struct Gate {
    governor: Mutex<Governor>,
    changed: Notify,
}

impl Gate {
    pub(super) fn new(timing: &Timing) -> Self {
        Self {
            governor: Mutex::new(Governor::new(timing)),
            changed: Notify::new(),
        }
    }

    /// The governor, for no longer than a question takes.
    pub(super) fn governor(&self) -> MutexGuard<'_, Governor> {
        self.governor.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the call may go out. A move does not wait.
    ///
    /// # Errors
    /// When it would have to wait too long; tells how long.
    pub(super) async fn pass(&self, scope: Scope, cost: u32) -> Result<Admitted<'_>, Error> {
        let asked = self.governor().ask(scope, cost, Instant::now());
        match asked {
            Turn::Go => Ok(Admitted { gate: self, scope }),
            Turn::Refused(rest) => Err(Error::paused(scope, rest)),
            Turn::Wait(ticket, _) => self.wait(scope, ticket).await,
        }
    }

    async fn wait(&self, scope: Scope, ticket: Ticket) -> Result<Admitted<'_>, Error> {
        let mut place = Place {
            gate: self,
            ticket,
            taken: false,
        };
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no ring is missed, so what changed before is seen by the question.
            changed.as_mut().enable();
            let turn = self.governor().poll(ticket, Instant::now());
            let at = match turn {
                Turn::Go => {
                    place.taken = true;
                    // Who is next may have to be told until when to wait.
                    self.changed.notify_waiters();
                    return Ok(Admitted { gate: self, scope });
                }
                Turn::Refused(rest) => return Err(Error::paused(scope, rest)),
                Turn::Wait(_, at) => at,
            };
            tokio::select! {
                () = &mut changed => {}
                () = tokio::time::sleep_until(at.into()) => {}
            }
        }
    }
}

/// A place in the queue, left when it is given up.
struct Place<'a> {
    gate: &'a Gate,
    ticket: Ticket,
    taken: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.taken {
            self.gate.governor().leave(self.ticket);
            self.gate.changed.notify_waiters();
        }
    }
}

/// A call that is under way.
pub(super) struct Admitted<'a> {
    gate: &'a Gate,
    scope: Scope,
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if self.scope.manner() == Manner::InTurn {
            self.gate.governor().over(self.scope);
            self.gate.changed.notify_waiters();
        }
    }
}
