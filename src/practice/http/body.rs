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

use crate::practice::faults::Fault;
use crate::practice::hall::Hall;
use crate::practice::mailbox::{End, Mailbox};
use crate::rules::Color;

/// From the last line to the break that a test asked for.
const BEFORE_BREAKING: Duration = Duration::from_millis(5);

/// Whose stream it is.
#[derive(Debug)]
pub(super) enum Reader {
    Events { user: String },
    Game { id: String, side: Color },
    Challenge { id: String },
}

/// A stream that somebody reads; tells the house when it is dropped.
struct Open {
    hall: Arc<Hall>,
    mailbox: Arc<Mailbox>,
    reader: Reader,
    fault: Option<Fault>,
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
    fault: Option<Fault>,
) -> Response {
    let open = Open {
        hall,
        mailbox,
        reader,
        fault,
        lines: 0,
    };
    let body = Body::from_stream(stream::unfold(Some(open), |open| async {
        let mut open = open?;
        match open.next().await {
            Next::Bytes(bytes) => Some((Ok(bytes), Some(open))),
            Next::Broken => Some((Err(io::Error::from(io::ErrorKind::ConnectionReset)), None)),
            Next::End => None,
        }
    }));
    ([(header::CONTENT_TYPE, "application/x-ndjson")], body).into_response()
}

enum Next {
    Bytes(Bytes),
    Broken,
    End,
}

impl Open {
    async fn next(&mut self) -> Next {
        match self.fault.take_if(|fault| is_due(fault, self.lines)) {
            Some(Fault::EndAfter(_)) => return Next::End,
            Some(Fault::BreakAfter(_)) => {
                // What was said before must have left the machine first.
                tokio::time::sleep(BEFORE_BREAKING).await;
                return Next::Broken;
            }
            Some(Fault::SayAfter(_, line)) => return Next::Bytes(Bytes::from(line + "\n")),
            Some(_) => std::future::pending().await,
            None => {}
        }
        match timeout(self.hall.timing.keep_alive, self.mailbox.next()).await {
            Ok(Ok(line)) => {
                self.lines += 1;
                Next::Bytes(Bytes::from(line + "\n"))
            }
            Ok(Err(End::Closed)) => Next::End,
            Ok(Err(End::Broken)) => Next::Broken,
            Err(_) => Next::Bytes(Bytes::from_static(b"\n")),
        }
    }
}

fn is_due(fault: &Fault, lines: usize) -> bool {
    match fault {
        Fault::EndAfter(after)
        | Fault::BreakAfter(after)
        | Fault::SilentAfter(after)
        | Fault::SayAfter(after, _) => lines >= *after,
        _ => false,
    }
}
