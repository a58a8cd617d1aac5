//! The account's event stream, kept open for good.
//!
//! Every kind of loss is the same event: the stream is opened anew under the rules of
//! [`EventReopening`], which never overdraw the server's budget of openings. A token that is no
//! longer accepted is an alarm and asked about slowly; it may be put right.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::lichess::{Client, Event, EventReopening, EventStream, StreamLoss};

/// Ends in good order, in a row and each soon after the opening, that tell of somebody else who
/// holds the same account.
const STOLEN_AFTER: u32 = 3;

/// What the doorbell brings.
#[derive(Debug)]
pub(super) enum Rung {
    /// The stream is open; what runs and what waits is told again.
    Open,
    /// A line of the stream.
    Line(Event),
    /// The stream is lost and will be opened again.
    Lost(StreamLoss),
}

/// A supervised event stream.
pub(super) struct Doorbell {
    client: Client,
    reopening: EventReopening,
    phase: Phase,
    short_lives: u32,
}

enum Phase {
    Waiting { until: Instant },
    Opening(BoxFuture<'static, Result<EventStream, StreamLoss>>),
    Live(Box<EventStream>),
}

impl Doorbell {
    pub(super) fn new(client: Client) -> Self {
        Self {
            reopening: EventReopening::new(client.timing()),
            client,
            phase: Phase::Waiting {
                until: Instant::now(),
            },
            short_lives: 0,
        }
    }

    /// What comes next. May be dropped at any await without losing anything.
    pub(super) async fn next(&mut self) -> Rung {
        loop {
            match &mut self.phase {
                Phase::Waiting { until } => {
                    tokio::time::sleep_until((*until).into()).await;
                    self.open();
                }
                Phase::Opening(opening) => {
                    return match opening.await {
                        Ok(stream) => {
                            self.phase = Phase::Live(Box::new(stream));
                            Rung::Open
                        }
                        Err(loss) => self.lost(loss, Duration::ZERO),
                    };
                }
                Phase::Live(stream) => {
                    return match stream.next().await {
                        Ok(arrival) => Rung::Line(arrival.event),
                        Err(loss) => {
                            let lived = stream.opened_at().elapsed();
                            self.lost(loss, lived)
                        }
                    };
                }
            }
        }
    }

    fn open(&mut self) {
        self.reopening.opening(Instant::now());
        let client = self.client.clone();
        self.phase = Phase::Opening(Box::pin(async move { client.events().await }));
    }

    fn lost(&mut self, loss: StreamLoss, lived: Duration) -> Rung {
        let now = Instant::now();
        let wait = self
            .reopening
            .after_loss(&loss, lived, now, fastrand::f64());
        self.phase = Phase::Waiting { until: now + wait };
        self.complain(&loss, lived, wait);
        Rung::Lost(loss)
    }

    fn complain(&mut self, loss: &StreamLoss, lived: Duration, wait: Duration) {
        let stolen = matches!(loss, StreamLoss::Ended) && lived < self.client.timing().event_idle;
        self.short_lives = if stolen { self.short_lives + 1 } else { 0 };
        if let StreamLoss::Unopened(error) = loss
            && (error.is_unauthorized() || error.is_forbidden())
        {
            tracing::error!(%error, ?wait, "the account is not let in: check the token");
        } else if self.short_lives >= STOLEN_AFTER {
            tracing::error!(
                ?wait,
                "the event stream is taken away again and again: another program uses this account"
            );
        } else {
            tracing::warn!(%loss, ?wait, "the event stream is lost");
        }
    }
}
