//! The body of a stream: lines as they come, an empty line after silence, and the faults that a
//! test asked for. When the reader goes, the house is told.

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

use super::stream_faults::{OutgoingChunk, StreamSender};

/// From the last line to the break that a test asked for.
const BEFORE_BREAKING: Duration = Duration::from_millis(5);
/// The longest that a line is kept back to be joined with another, in parts of a keep-alive.
const HOLDING: u32 = 7;

/// Whose stream it is.
#[derive(Debug)]
pub(super) enum StreamOwner {
    Events { user: String },
    Game { id: String, side: Color },
    Challenge { id: String },
}

impl StreamOwner {
    /// Its name in the journal.
    fn key(&self) -> String {
        match self {
            Self::Events { user } => format!("events {user}"),
            Self::Game { id, .. } => format!("game {id}"),
            Self::Challenge { id } => format!("challenge {id}"),
        }
    }
}

/// A stream that somebody reads; tells the house when it is dropped.
struct OpenStream {
    hall: Arc<SharedServer>,
    mailbox: Arc<Outbox>,
    reader: StreamOwner,
    due: Option<(usize, StreamFault)>,
    manner: StreamSender,
    /// How the stream is lost with its next line, whenever that comes.
    cutting: Option<&'static str>,
    lines: usize,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.hall.forget(&self.mailbox);
        self.hall.with(|house, now| match &self.reader {
            StreamOwner::Events { user } => house.close_event_stream(user, now),
            StreamOwner::Game { id, side } => house.leave(id, *side, false, now),
            StreamOwner::Challenge { id } => house.let_go_of_challenge(id, now),
        });
    }
}

/// The answer that is a stream.
pub(super) fn stream_of(
    hall: Arc<SharedServer>,
    mailbox: Arc<Outbox>,
    reader: StreamOwner,
    fault: Option<&Fault>,
) -> Response {
    hall.journal.opened(&reader.key(), hall.now());
    let open = OpenStream {
        hall,
        mailbox,
        reader,
        due: fault.and_then(Fault::on_a_stream),
        manner: StreamSender::default(),
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
            if let Some((_, mess)) = self.due.take_if(|(after, _)| *after <= self.lines) {
                self.mess(mess);
            }
            if !self.manner.cuts()
                && let Some(how) = self.cutting.take()
            {
                self.lost(how);
            }
            if let Some(piece) = self.manner.next() {
                // Each piece is to leave on its own.
                tokio::task::yield_now().await;
                if piece == OutgoingChunk::Break {
                    // What was said before must have left the machine first.
                    tokio::time::sleep(BEFORE_BREAKING).await;
                }
                return piece;
            }
            let keep_alive = self.hall.timing.keep_alive;
            let patience = if self.manner.holds() {
                keep_alive / HOLDING
            } else {
                keep_alive
            };
            match timeout(patience, self.mailbox.next()).await {
                Ok(Ok(OutboxItem::Line(line))) => {
                    self.lines += 1;
                    self.manner.line(line);
                }
                Ok(Ok(OutboxItem::Mess(mess))) => self.mess(mess),
                Ok(Err(_)) if self.manner.holds() => self.manner.breathe(),
                Ok(Err(StreamEnd::Closed)) => return OutgoingChunk::End,
                Ok(Err(StreamEnd::Broken)) => return OutgoingChunk::Break,
                Err(_) => self.manner.breathe(),
            }
        }
    }

    fn mess(&mut self, mess: StreamFault) {
        match &mess {
            // Until then it is as good as ever, which on the event stream may be for long.
            StreamFault::Truncate(_) | StreamFault::Tear(_) => self.cutting = Some(mess.name()),
            _ if mess.is_a_loss() => self.lost(mess.name()),
            _ => {}
        }
        self.manner.mess(mess);
    }

    /// From now on it is of no use.
    fn lost(&self, how: &'static str) {
        let hall = &self.hall;
        hall.journal.lost(&self.reader.key(), how, hall.now());
    }
}
