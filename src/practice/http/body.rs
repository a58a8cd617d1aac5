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

use crate::practice::faults::{Fault, Mess};
use crate::practice::hall::Hall;
use crate::practice::mailbox::{End, Mailbox, Post};
use crate::rules::Color;

use super::manner::{Manner, Piece};

/// From the last line to the break that a test asked for.
const BEFORE_BREAKING: Duration = Duration::from_millis(5);
/// The longest that a line is kept back to be joined with another, in parts of a keep-alive.
const HOLDING: u32 = 7;

/// Whose stream it is.
#[derive(Debug)]
pub(super) enum Reader {
    Events { user: String },
    Game { id: String, side: Color },
    Challenge { id: String },
}

impl Reader {
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
struct Open {
    hall: Arc<Hall>,
    mailbox: Arc<Mailbox>,
    reader: Reader,
    due: Option<(usize, Mess)>,
    manner: Manner,
    /// How the stream is lost with its next line, whenever that comes.
    cutting: Option<&'static str>,
    lines: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.hall.forget(&self.mailbox);
        self.hall.with(|house, now| match &self.reader {
            Reader::Events { user } => house.close_event_stream(user, now),
            Reader::Game { id, side } => house.leave(id, *side, false, now),
            Reader::Challenge { id } => house.let_go_of_challenge(id, now),
        });
    }
}

/// The answer that is a stream.
pub(super) fn stream_of(
    hall: Arc<Hall>,
    mailbox: Arc<Mailbox>,
    reader: Reader,
    fault: Option<&Fault>,
) -> Response {
    hall.journal.opened(&reader.key(), hall.now());
    let open = Open {
        hall,
        mailbox,
        reader,
        due: fault.and_then(Fault::on_a_stream),
        manner: Manner::default(),
        cutting: None,
        lines: 0,
    };
    let body = Body::from_stream(stream::unfold(Some(open), |open| async {
        let mut open = open?;
        match open.next().await {
            Piece::Bytes(bytes) => Some((Ok::<Bytes, io::Error>(bytes), Some(open))),
            Piece::Break => Some((Err(io::ErrorKind::ConnectionReset.into()), None)),
            Piece::End => None,
            Piece::Silence => std::future::pending().await,
        }
    }));
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

impl Open {
    async fn next(&mut self) -> Piece {
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
                if piece == Piece::Break {
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
                Ok(Ok(Post::Line(line))) => {
                    self.lines += 1;
                    self.manner.line(line);
                }
                Ok(Ok(Post::Mess(mess))) => self.mess(mess),
                Ok(Err(_)) if self.manner.holds() => self.manner.breathe(),
                Ok(Err(End::Closed)) => return Piece::End,
                Ok(Err(End::Broken)) => return Piece::Break,
                Err(_) => self.manner.breathe(),
            }
        }
    }

    fn mess(&mut self, mess: Mess) {
        match &mess {
            // Until then it is as good as ever, which on the event stream may be for long.
            Mess::Truncate(_) | Mess::Tear(_) => self.cutting = Some(mess.name()),
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
