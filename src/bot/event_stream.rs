//! The account's event stream, kept open permanently.
//!
//! Every kind of disconnect has one answer: reopen under the rules of [`EventBackoff`], which never
//! exceeds the server's budget of openings. During an outage small calls probe the server, and the
//! stream reopens as soon as it responds, hardly before. If only the stream is down, the event loop
//! polls for running games and open challenges, so that no running clock is left alone. A rejected
//! token raises an alert and is retried slowly, since it may be restored.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use super::alerts::Alerts;
use super::bot_event::AlertKind;
use super::context::BotContext;
use super::sleep_until;
use super::state::BotState;
use super::status::{EventStreamStatus, StreamOutage};
use super::supervised_stream::{StreamChange, Supervised};
use crate::archive::dates;
use crate::lichess::{
    Client, Disconnect, EndpointClass, Event, EventBackoff, EventStream, ProbeSchedule, Timing,
};
use crate::store::Timestamp;

/// Consecutive orderly ends, each soon after opening, that point to another program on the same
/// account.
const STOLEN_AFTER: u32 = 3;
/// A stream that lives for this many healthy lives is undisturbed again.
const STABLE_LIVES: u32 = 2;

/// How many successful probes count in one outage; if only the stream is down, a probe says
/// nothing about it.
const MAX_BELIEVED: u32 = 2;

/// The note in the state with the moments of the latest openings, in milliseconds: the server counts
/// them across restarts.
const OPENINGS: &str = "stream.openings";

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
    stream: Supervised<EventStream>,
    /// Completes once the server answers a small call.
    recovery: Option<BoxFuture<'static, ()>>,
    /// When to poll, while the stream is down and that helps.
    poll_at: Option<Instant>,
    alerts: Alerts,
    state: BotState,
    short_lives: u32,
    lost: u64,
    /// The last failure, and since when the stream is not open.
    closed: Option<(String, Instant)>,
    outage: Option<Outage>,
    /// Since when the stream is down, or lives too briefly to count as up.
    down_since: Option<Instant>,
}

/// An outage of the server.
#[derive(Clone, Copy)]
struct Outage {
    since: Instant,
    /// How many successful probes counted.
    believed: u32,
}

impl AccountStream {
    pub(super) fn new(context: &BotContext) -> Self {
        let client = context.client.clone();
        let (mut reopening, now) = (EventBackoff::new(client.timing()), Instant::now());
        reopening.restore(kept_openings(&context.state), now);
        let mut stream = Supervised::new(None);
        let wait = reopening.first_wait(now);
        if !wait.is_zero() {
            tracing::warn!(
                ?wait,
                "too many openings of the event stream before this start"
            );
            stream.wait(wait);
        }
        // Until then the bot polls, as after a loss.
        let poll_at = (!wait.is_zero()).then(|| next_poll(client.timing(), None));
        Self {
            reopening,
            client,
            stream,
            recovery: None,
            poll_at,
            alerts: context.alerts.clone(),
            state: context.state.clone(),
            short_lives: 0,
            lost: 0,
            closed: None,
            outage: None,
            down_since: None,
        }
    }

    /// The stream's state for display.
    pub(super) fn status(&self) -> EventStreamStatus {
        let received = self.stream.live().map(|it| it.last_received().elapsed());
        EventStreamStatus {
            open: received.is_some(),
            received_ago: received.map(|ago| u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)),
            lost: self.lost,
            openings: self.reopening.openings(Instant::now()),
            outage: self
                .closed
                .as_ref()
                .map(|(reason, since)| StreamOutage::new(reason, *since, self.stream.due())),
        }
    }

    /// The next event. Cancellation safe.
    pub(super) async fn next(&mut self) -> AccountStreamEvent {
        loop {
            let unsure = self.short_lives > 0 || self.alerts.is_on(AlertKind::Stolen);
            let disturbed = self.stream.live().filter(|_| unsure);
            let calm_at = disturbed
                .map(|it| it.opened_at() + self.client.timing().healthy_life * STABLE_LIVES);
            let change = tokio::select! {
                change = self.stream.next() => change,
                () = done(&mut self.recovery) => {
                    if let Some(outage) = &mut self.outage {
                        outage.believed += 1;
                    }
                    self.poll_at = Some(next_poll(self.client.timing(), self.down_since));
                    self.open();
                    continue;
                }
                () = sleep_until(self.poll_at) => {
                    self.poll_at = Some(next_poll(self.client.timing(), self.down_since));
                    return AccountStreamEvent::Away;
                }
                () = sleep_until(calm_at) => {
                    self.short_lives = 0;
                    self.alerts.clear(AlertKind::Stolen);
                    continue;
                }
            };
            match change {
                StreamChange::Due => self.open(),
                StreamChange::Opened => {
                    (self.outage, self.poll_at) = (None, None);
                    if let Some((_, since)) = self.closed.take() {
                        let outage = dates::rough_duration(since.elapsed().as_secs());
                        tracing::info!("event stream open again after {outage}");
                    }
                    self.keep_openings();
                    return AccountStreamEvent::Open;
                }
                StreamChange::Line { event, .. } => return AccountStreamEvent::Line(event),
                StreamChange::Lost { loss, lived } => return self.lost(loss, lived),
            }
        }
    }

    /// Restarts after a panic: a call in progress is not repeated. An open stream stays open.
    pub(super) fn start_over(&mut self) {
        (self.recovery, self.poll_at) = (None, None);
        if self.stream.opening_since().is_some() {
            let (lived, now) = (Duration::ZERO, Instant::now());
            let (loss, chance) = (Disconnect::Ended, fastrand::f64());
            let wait = self.reopening.after_loss(&loss, lived, now, chance);
            self.stream.wait(wait);
        }
    }

    /// Opens the stream. Polling goes on until it is open: an opening may hang.
    fn open(&mut self) {
        self.recovery = None;
        self.reopening.opening(Instant::now());
        let client = self.client.clone();
        self.stream
            .open(Box::pin(async move { client.events().await }));
    }

    fn lost(&mut self, loss: Disconnect, lived: Option<Duration>) -> AccountStreamEvent {
        let now = Instant::now();
        let (was_open, lived) = (lived.is_some(), lived.unwrap_or_default());
        let since = self.closed.take().map_or(now, |(_, since)| since);
        self.closed = Some((loss.to_string(), since));
        let stolen = self.is_stolen(&loss, lived);
        let chance = fastrand::f64();
        let mut wait = self.reopening.after_loss(&loss, lived, now, chance);
        if !matches!(&loss, Disconnect::Unopened(error) if error.is_unreached()) {
            self.keep_openings();
        }
        if stolen && wait.is_zero() {
            // Two programs that take over the stream from each other at once would do so forever.
            let longest = self.client.timing().event_backoff_max;
            wait = longest.mul_f64(0.5 + chance / 2.0);
        }
        self.recovery = self.probing(&loss, lived, now);
        let probing = self.recovery.is_some();
        if probing {
            wait = self.reopening.while_probing(wait, chance);
        }
        let healthy = self.client.timing().healthy_life;
        self.down_since.take_if(|_| lived >= healthy);
        self.down_since.get_or_insert(now);
        let answers = !probing && !loss.is_of_all_calls();
        let next = next_poll(self.client.timing(), self.down_since);
        self.poll_at = answers.then(|| self.poll_at.unwrap_or(next));
        self.stream.wait(wait);
        if !was_open {
            let said = matches!(&loss, Disconnect::Unopened(error) if error.is_rate_limited());
            if !said && self.client.is_news(loss.to_string()) {
                tracing::warn!(%loss, ?wait, probing, "cannot open the event stream");
            }
            return AccountStreamEvent::Unopened(loss);
        }
        self.lost += 1;
        tracing::warn!(%loss, ?wait, "event stream lost");
        AccountStreamEvent::Lost(loss)
    }

    /// Notes the counted openings for the next start.
    fn keep_openings(&self) {
        let now = self.state.now();
        let ages = self.reopening.ages(Instant::now()).into_iter();
        let moments = ages.map(|age| now.before(age).as_millis().to_string());
        let moments: Vec<_> = moments.collect();
        self.state.set_note(OPENINGS, Some(moments.join(" ")));
    }

    /// Starts probing the server in an outage if an opening would fit the budget.
    fn probing(
        &mut self,
        loss: &Disconnect,
        lived: Duration,
        now: Instant,
    ) -> Option<BoxFuture<'static, ()>> {
        if !ProbeSchedule::helps(loss, lived) {
            self.outage = None;
            return None;
        }
        let outage = *self.outage.get_or_insert(Outage {
            since: now,
            believed: 0,
        });
        if outage.believed >= MAX_BELIEVED || !self.reopening.has_room(now) {
            return None;
        }
        let client = self.client.clone();
        let schedule = ProbeSchedule::new(client.timing(), outage.since);
        Some(Box::pin(async move {
            loop {
                let wait = schedule.wait(Instant::now(), fastrand::f64());
                tokio::time::sleep(wait).await;
                // A server that answers 429 is up.
                if client.ping().await || client.pause(EndpointClass::Warm).is_some() {
                    return;
                }
            }
        }))
    }

    /// Whether another program repeatedly takes over the stream.
    fn is_stolen(&mut self, loss: &Disconnect, lived: Duration) -> bool {
        match loss {
            Disconnect::Ended if lived < self.client.timing().healthy_life * STABLE_LIVES => {
                self.short_lives += 1;
            }
            // A server that refuses an opening is up, which says nothing about another program.
            Disconnect::Unopened(error) if !error.is_transient() => {}
            // One that is away or out of order ended the streams itself.
            _ => self.short_lives = 0,
        }
        let stolen = self.short_lives >= STOLEN_AFTER;
        if stolen {
            let text = "the event stream of this account keeps ending early: stop any other program that uses the account, unless the server is restarting";
            self.alerts.raise(AlertKind::Stolen, text);
        }
        stolen
    }
}

/// How long ago each opening of earlier runs was. One in the future, by a clock that was set back, counts
/// as just made.
fn kept_openings(state: &BotState) -> Vec<Duration> {
    let (note, now) = (state.note(OPENINGS).unwrap_or_default(), state.now());
    let moments = note.split_whitespace().filter_map(|at| at.parse().ok());
    moments
        .map(|at| now.since(Timestamp::from_millis(at)))
        .collect()
}

/// When to poll next, if the stream is down since `down_since`.
fn next_poll(timing: &Timing, down_since: Option<Instant>) -> Instant {
    let now = Instant::now();
    now + ProbeSchedule::for_polls(timing, down_since.unwrap_or(now)).wait(now, fastrand::f64())
}

async fn done(future: &mut Option<BoxFuture<'static, ()>>) {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}
