//! The account's event stream, kept open.
//!
//! Every kind of loss is the same event: the stream is reopened by the rules of [`EventBackoff`], which
//! stay within the server's budget of openings. While the server is failing, cheap calls probe it, and the
//! stream is reopened as soon as it recovers. While only the stream is down, its news is polled, so that
//! running clocks and pending challenges are not ignored. A rejected token raises an alert and is retried
//! slowly: it may be restored.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use super::alerts::{AlertKind, Alerts};
use super::status::EventStreamStatus;
use crate::lichess::{
    Client, Disconnect, EndpointClass, Event, EventBackoff, EventStream, PollFallback, Timing,
};

/// Ends in good order, in a row and each soon after the opening, that tell of someone else who
/// holds the same account.
const STOLEN_AFTER: u32 = 3;
/// A stream that lives for so many healthy lives is ours alone again.
const CALM: u32 = 2;

/// So often in one trouble a small call is believed that the server is well again; where only the
/// stream is out of order it says nothing.
const MOST_BELIEVED: u32 = 2;

/// What the account stream brings.
#[derive(Debug)]
pub(super) enum AccountStreamEvent {
    /// The stream is open; what runs and what waits is told again.
    Open,
    /// A line of the stream.
    Line(Event),
    /// The stream, which was open, is lost and will be opened again.
    Lost(Disconnect),
    /// It could not be opened, which will be tried again.
    Unopened(Disconnect),
    /// It is still away while the server is there: time to ask for what it would tell.
    Away,
}

/// A supervised event stream.
pub(super) struct AccountStream {
    client: Client,
    reopening: EventBackoff,
    phase: Phase,
    alarms: Alerts,
    short_lives: u32,
    lost: u64,
    trouble: Option<Outage>,
    /// Since when the stream is away, or lives too short to count as there.
    away: Option<Instant>,
}

/// A server that is out of order.
#[derive(Clone, Copy)]
struct Outage {
    since: Instant,
    /// How often a small call was answered all the same.
    believed: u32,
}

enum Phase {
    Waiting {
        until: Instant,
        /// Done once a server that is out of order answers a small call.
        well_again: Option<BoxFuture<'static, ()>>,
        /// When to ask by hand, where that helps.
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

    /// How the stream is, for a person.
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

    /// What comes next. May be dropped at any await without losing anything.
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

    /// After a panic: what was under way may not be asked again. A stream that is open stays so.
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
            // Two programs that take the stream from each other at once would do so for ever.
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

    /// Asks whether a server that is out of order is well again, if it is and an opening would fit.
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
                // Who says that these are too many is well.
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

    /// Whether someone else takes the stream away, again and again.
    fn is_stolen(&mut self, loss: &Disconnect, lived: Duration) -> bool {
        match loss {
            Disconnect::Ended if lived < self.client.timing().healthy_life * CALM => {
                self.short_lives += 1;
            }
            // What cannot be opened says nothing of anyone else.
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

/// When to ask by hand next, where the stream is away since then.
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
