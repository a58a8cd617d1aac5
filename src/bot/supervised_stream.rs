//! A stream of the server that is reopened whenever it is lost: what the account's event stream and the
//! streams of games share.
//!
//! Decides nothing: its owner says when to open, and how long to wait after a loss.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::lichess::{Disconnect, Record, RecordStream};

/// What happened to a stream.
pub(super) enum StreamChange<E> {
    /// The wait is over: open it.
    Due,
    Opened,
    Line {
        event: E,
        at: Instant,
        /// When the opening of this stream was requested.
        asked: Instant,
    },
    /// It is lost, or could not be opened. It waits for nothing until its owner says how long.
    Lost {
        loss: Disconnect,
        /// How long it was open; `None` if it never was.
        lived: Option<Duration>,
    },
}

pub(super) struct Supervised<S> {
    phase: Phase<S>,
    /// A stream with keep-alives but without a first line within this time is lost.
    first_within: Option<Duration>,
}

enum Phase<S> {
    Waiting {
        until: Instant,
    },
    Opening {
        asked: Instant,
        opening: BoxFuture<'static, Result<S, Disconnect>>,
    },
    Live {
        asked: Instant,
        stream: Box<S>,
        first_by: Option<Instant>,
    },
}

impl<T: Record> Supervised<RecordStream<T>> {
    /// A stream that is due at once.
    pub(super) fn new(first_within: Option<Duration>) -> Self {
        Self {
            phase: Phase::Waiting {
                until: Instant::now(),
            },
            first_within,
        }
    }

    pub(super) fn open(
        &mut self,
        opening: BoxFuture<'static, Result<RecordStream<T>, Disconnect>>,
    ) {
        self.phase = Phase::Opening {
            asked: Instant::now(),
            opening,
        };
    }

    /// Drops what is open and is due again after this long.
    pub(super) fn wait(&mut self, pause: Duration) {
        self.phase = Phase::Waiting {
            until: Instant::now() + pause,
        };
    }

    pub(super) fn live(&self) -> Option<&RecordStream<T>> {
        match &self.phase {
            Phase::Live { stream, .. } => Some(stream),
            Phase::Waiting { .. } | Phase::Opening { .. } => None,
        }
    }

    /// When it is to be opened, while it waits for that.
    pub(super) fn due(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Waiting { until } => Some(*until),
            Phase::Opening { .. } | Phase::Live { .. } => None,
        }
    }

    /// When the opening in progress was requested.
    pub(super) fn opening_since(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Opening { asked, .. } => Some(*asked),
            Phase::Waiting { .. } | Phase::Live { .. } => None,
        }
    }

    /// The next change. Cancellation safe.
    pub(super) async fn next(&mut self) -> StreamChange<T> {
        match &mut self.phase {
            Phase::Waiting { until } => {
                tokio::time::sleep_until((*until).into()).await;
                StreamChange::Due
            }
            Phase::Opening { asked, opening } => {
                let (asked, outcome) = (*asked, opening.await);
                match outcome {
                    Ok(stream) => {
                        self.phase = Phase::Live {
                            asked,
                            stream: Box::new(stream),
                            first_by: self.first_within.map(|time| Instant::now() + time),
                        };
                        StreamChange::Opened
                    }
                    Err(loss) => self.lost(loss, None),
                }
            }
            Phase::Live {
                asked,
                stream,
                first_by,
            } => {
                let outcome = match *first_by {
                    None => stream.next().await,
                    Some(by) => tokio::time::timeout_at(by.into(), stream.next())
                        .await
                        .unwrap_or_else(|_| {
                            Err(Disconnect::Silent(self.first_within.unwrap_or_default()))
                        }),
                };
                match outcome {
                    Ok(line) => {
                        *first_by = None;
                        StreamChange::Line {
                            event: line.event,
                            at: line.at,
                            asked: *asked,
                        }
                    }
                    Err(loss) => {
                        let lived = stream.opened_at().elapsed();
                        self.lost(loss, Some(lived))
                    }
                }
            }
        }
    }

    fn lost(&mut self, loss: Disconnect, lived: Option<Duration>) -> StreamChange<T> {
        self.wait(Duration::ZERO);
        StreamChange::Lost { loss, lived }
    }
}
