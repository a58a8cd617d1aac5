//! The account's event stream, kept open permanently.
//!
//! Every kind of disconnect has one answer: reopen under the rules of [`EventBackoff`], which never
//! exceeds the server's budget of openings. During an outage small calls probe the server, and the
//! stream reopens as soon as it responds, hardly before. If only the stream is down, the event loop
//! polls for running games and open challenges, so that no running clock is left alone. A rejected
//! token raises an alert and is retried slowly, since it may be restored.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use super::alerts::{AlertKind, Alerts};
use super::status::EventStreamStatus;
use crate::lichess::{
    Client, Disconnect, EndpointClass, Event, EventBackoff, EventStream, PollFallback, Timing,
};

/// Consecutive orderly ends, each soon after opening, that point to another program on the same
/// account.
const STOLEN_AFTER: u32 = 3;
/// A stream that lives for this many healthy lives is undisturbed again.
const CALM: u32 = 2;

/// How often in one outage to believe a successful probe; if only the stream is down, a probe says
/// nothing about it.
const MOST_BELIEVED: u32 = 2;

/// Events of the account stream.
#[derive(Debug)]
pub(super) enum AccountStreamEvent {
    /// The stream is open; the server repeats running games and open challenges.
    Open,
    Line(Event),
    /// The open stream disconnected and will be reopened.
    Lost(Disconnect),
    /// Opening failed and will be retried.
    Unopened(Disconnect),
    /// The stream is down while the server responds: time to poll.
    Away,
}

pub(super) struct AccountStream {
    client: Client,
    reopening: EventBackoff,
    phase: Phase,
    alarms: Alerts,
    short_lives: u32,
    lost: u64,
    trouble: Option<Outage>,
    /// Since when the stream is down, or lives too briefly to count as up.
    away: Option<Instant>,
}

/// An outage of the server.
#[derive(Clone, Copy)]
struct Outage {
    since: Instant,
    /// How many successful probes were believed.
    believed: u32,
}

enum Phase {
    Waiting {
        until: Instant,
        /// Completes once the server answers a small call.
        well_again: Option<BoxFuture<'static, ()>>,
        /// When to poll, where that helps.
        ask_at: Option<Instant>,
    },
    Opening(BoxFuture<'static, Result<EventStream, Disconnect>>),
    Live(Box<EventStream>),
}

impl AccountStream {
    pub(super) fn new(client: Client, alarms: Alerts) -> Self {
        Self {
            reopening: EventBackoff::new(client.timing()),
            client,
            phase: Phase::Waiting {
                until: Instant::now(),
                well_again: None,
                ask_at: None,
            },
            alarms,
            short_lives: 0,
            lost: 0,
            trouble: None,
            away: None,
        }
    }

    /// The stream's state for display.
    pub(super) fn status(&self) -> EventStreamStatus {
        let received = match &self.phase {
            Phase::Live(stream) => Some(stream.last_heard().elapsed()),
            Phase::Waiting { .. } | Phase::Opening(_) => None,
        };
        EventStreamStatus {
            open: received.is_some(),
            heard_ago: received.map(|ago| u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)),
            lost: self.lost,
            openings: self.reopening.openings(Instant::now()),
        }
    }

    /// The next event. Cancellation safe.
    pub(super) async fn next(&mut self) -> AccountStreamEvent {
        loop {
            match &mut self.phase {
                Phase::Waiting {
                    until,
                    well_again,
                    ask_at,
                } => {
                    tokio::select! {
                        () = tokio::time::sleep_until((*until).into()) => self.open(),
                        () = done(well_again) => {
                            self.believe();
                            self.open();
                        }
                        () = moment(*ask_at) => {
                            *ask_at = Some(next_asking(self.client.timing(), self.away));
                            return AccountStreamEvent::Away;
                        }
                    }
                }
                Phase::Opening(opening) => {
                    return match opening.await {
                        Ok(stream) => {
                            self.trouble = None;
                            self.phase = Phase::Live(Box::new(stream));
                            AccountStreamEvent::Open
                        }
                        Err(loss) => self.lost(loss, Duration::ZERO),
                    };
                }
                Phase::Live(stream) => {
                    let calm_at = stream.opened_at() + self.client.timing().healthy_life * CALM;
                    let received = tokio::select! {
                        received = stream.next() => received,
                        () = tokio::time::sleep_until(calm_at.into()), if self.short_lives > 0 => {
                            self.short_lives = 0;
                            self.alarms.clear(AlertKind::Stolen);
                            continue;
                        }
                    };
                    return match received {
                        Ok(arrival) => AccountStreamEvent::Line(arrival.event),
                        Err(loss) => {
                            let lived = stream.opened_at().elapsed();
                            self.lost(loss, lived)
                        }
                    };
                }
            }
        }
    }

    /// Restarts after a panic: a call in progress is not repeated. An open stream stays open.
    pub(super) fn start_over(&mut self) {
        let now = Instant::now();
        let until = match &self.phase {
            Phase::Live(_) => return,
            Phase::Waiting { until, .. } => *until,
            Phase::Opening(_) => {
                let lived = Duration::ZERO;
                now + self
                    .reopening
                    .after_loss(&Disconnect::Ended, lived, now, fastrand::f64())
            }
        };
        self.phase = Phase::Waiting {
            until,
            well_again: None,
            ask_at: None,
        };
    }

    fn open(&mut self) {
        self.reopening.opening(Instant::now());
        let client = self.client.clone();
        self.phase = Phase::Opening(Box::pin(async move { client.events().await }));
    }

    fn lost(&mut self, loss: Disconnect, lived: Duration) -> AccountStreamEvent {
        let now = Instant::now();
        let was_open = matches!(self.phase, Phase::Live(_));
        let stolen = self.is_stolen(&loss, lived);
        let chance = fastrand::f64();
        let mut wait = self.reopening.after_loss(&loss, lived, now, chance);
        if stolen && wait.is_zero() {
            // Two programs that take over the stream from each other at once would do so forever.
            wait = self
                .client
                .timing()
                .event_backoff_max
                .mul_f64(0.5 + chance / 2.0);
        }
        let well_again = self.asking(&loss, lived, now);
        let asking = well_again.is_some();
        if asking {
            wait = self.reopening.while_knocking(wait, chance);
        }
        if lived >= self.client.timing().healthy_life {
            self.away = None;
        }
        self.away.get_or_insert(now);
        let answers = !asking && !loss.is_of_all_calls();
        self.phase = Phase::Waiting {
            until: now + wait,
            well_again,
            ask_at: answers.then(|| next_asking(self.client.timing(), self.away)),
        };
        if !was_open {
            let said = matches!(&loss, Disconnect::Unopened(error) if error.is_rate_limited());
            if !said {
                tracing::warn!(%loss, ?wait, asking, "cannot open the event stream");
            }
            return AccountStreamEvent::Unopened(loss);
        }
        self.lost += 1;
        tracing::warn!(%loss, ?wait, "event stream lost");
        AccountStreamEvent::Lost(loss)
    }

    /// Starts probing the server in an outage if an opening would fit the budget.
    fn asking(
        &mut self,
        loss: &Disconnect,
        lived: Duration,
        now: Instant,
    ) -> Option<BoxFuture<'static, ()>> {
        if !PollFallback::helps(loss, lived) {
            self.trouble = None;
            return None;
        }
        let trouble = *self.trouble.get_or_insert(Outage {
            since: now,
            believed: 0,
        });
        if trouble.believed >= MOST_BELIEVED || !self.reopening.has_room(now) {
            return None;
        }
        let client = self.client.clone();
        let knocking = PollFallback::new(client.timing(), trouble.since);
        Some(Box::pin(async move {
            loop {
                let wait = knocking.wait(Instant::now(), fastrand::f64());
                tokio::time::sleep(wait).await;
                // A server that answers 429 is up.
                if client.ping().await || client.pause(EndpointClass::Warm).is_some() {
                    return;
                }
            }
        }))
    }

    fn believe(&mut self) {
        if let Some(trouble) = &mut self.trouble {
            trouble.believed += 1;
        }
    }

    /// Whether another program repeatedly takes over the stream.
    fn is_stolen(&mut self, loss: &Disconnect, lived: Duration) -> bool {
        match loss {
            Disconnect::Ended if lived < self.client.timing().healthy_life * CALM => {
                self.short_lives += 1;
            }
            // A failed opening says nothing about another program.
            Disconnect::Unopened(_) => {}
            _ => self.short_lives = 0,
        }
        let stolen = self.short_lives >= STOLEN_AFTER;
        if stolen {
            let text = "another program keeps taking over the event stream of this account: stop one of them";
            self.alarms.raise(AlertKind::Stolen, text);
        }
        stolen
    }
}

/// When to poll next, if the stream is down since `away`.
fn next_asking(timing: &Timing, away: Option<Instant>) -> Instant {
    let now = Instant::now();
    now + PollFallback::by_hand(timing, away.unwrap_or(now)).wait(now, fastrand::f64())
}

async fn moment(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

async fn done(future: &mut Option<BoxFuture<'static, ()>>) {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
