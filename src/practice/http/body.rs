//! The body of a stream: lines as they come, an empty line after silence, and stream faults. When
//! the reader leaves, the server state is notified.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures::stream;
use tokio::time::timeout;

use crate::practice::chaos::{Fault, StreamFault};
use crate::practice::outbox::{Outbox, OutboxItem, StreamEnd};
use crate::practice::shared::SharedServer;
use crate::rules::Color;

use crate::practice::chaos::stream_sender::{OutgoingChunk, StreamSender};

/// From the last line to an injected break.
const BEFORE_BREAKING: Duration = Duration::from_millis(5);
/// The longest that a line is held back to be merged with another, as a fraction of the keep-alive
/// interval.
const HOLDING: u32 = 7;

/// The owner of a stream.
#[derive(Debug)]
pub(super) enum StreamOwner {
    Events { user: String },
    Game { id: String, side: Color },
    Challenge { id: String },
}

impl StreamOwner {
    /// The name in the traffic log.
    fn key(&self) -> String {
        match self {
            Self::Events { user } => format!("events {user}"),
            Self::Game { id, .. } => format!("game {id}"),
            Self::Challenge { id } => format!("challenge {id}"),
        }
    }
}

/// An open stream; notifies the server state when dropped.
struct OpenStream {
    shared: Arc<SharedServer>,
    outbox: Arc<Outbox>,
    reader: StreamOwner,
    due: Option<(usize, StreamFault)>,
    sender: StreamSender,
    /// How the stream breaks with its next line, whenever that comes.
    cutting: Option<&'static str>,
    lines: usize,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.shared.forget(&self.outbox);
        self.shared.with(|state, now| match &self.reader {
            StreamOwner::Events { user } => state.close_event_stream(user, now),
            StreamOwner::Game { id, side } => state.leave(id, *side, false, now),
            StreamOwner::Challenge { id } => state.release_challenge(id, now),
        });
    }
}

/// The response with the stream as its body.
pub(super) fn stream_of(
    shared: Arc<SharedServer>,
    outbox: Arc<Outbox>,
    reader: StreamOwner,
    fault: Option<&Fault>,
) -> Response {
    shared.log.opened(&reader.key(), shared.now());
    let open = OpenStream {
        shared,
        outbox,
        reader,
        due: fault.and_then(Fault::on_a_stream),
        sender: StreamSender::default(),
        cutting: None,
        lines: 0,
    };
    let body = Body::from_stream(stream::unfold(Some(open), |open| async {
        let mut open = open?;
        match open.next().await {
            OutgoingChunk::Bytes(bytes) => Some((Ok::<Bytes, io::Error>(bytes), Some(open))),
            OutgoingChunk::Break => Some((Err(io::ErrorKind::ConnectionReset.into()), None)),
            OutgoingChunk::End => None,
            OutgoingChunk::Silence => std::future::pending().await,
        }
    }));
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

impl OpenStream {
    async fn next(&mut self) -> OutgoingChunk {
        loop {
            if let Some((_, stream_fault)) = self.due.take_if(|(after, _)| *after <= self.lines) {
                self.stream_fault(stream_fault);
            }
            if !self.sender.cuts()
                && let Some(how) = self.cutting.take()
            {
                self.lost(how);
            }
            if let Some(piece) = self.sender.next() {
                // Each chunk must leave separately.
                tokio::task::yield_now().await;
                if piece == OutgoingChunk::Break {
                    // Earlier lines must have been sent first.
                    tokio::time::sleep(BEFORE_BREAKING).await;
                }
                return piece;
            }
            let keep_alive = self.shared.timing.keep_alive;
            let patience = if self.sender.holds() {
                keep_alive / HOLDING
            } else {
                keep_alive
            };
            match timeout(patience, self.outbox.next()).await {
                Ok(Ok(OutboxItem::Line(line))) => {
                    self.lines += 1;
                    self.sender.line(line);
                }
                Ok(Ok(OutboxItem::Fault(stream_fault))) => self.stream_fault(stream_fault),
                Ok(Err(_)) if self.sender.holds() => self.sender.keep_alive(),
                Ok(Err(StreamEnd::Closed)) => return OutgoingChunk::End,
                Ok(Err(StreamEnd::Broken)) => return OutgoingChunk::Break,
                Err(_) => self.sender.keep_alive(),
            }
        }
    }

    fn stream_fault(&mut self, stream_fault: StreamFault) {
        match &stream_fault {
            // Until then it works, which on the event stream may take long.
            StreamFault::Truncate(_) | StreamFault::Tear(_) => {
                self.cutting = Some(stream_fault.name());
            }
            _ if stream_fault.is_a_loss() => self.lost(stream_fault.name()),
            _ => {}
        }
        self.sender.stream_fault(stream_fault);
    }

    /// From now on it is unusable.
    fn lost(&self, how: &'static str) {
        let shared = &self.shared;
        shared.log.lost(&self.reader.key(), how, shared.now());
    }
}
