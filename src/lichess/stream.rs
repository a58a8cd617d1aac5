//! The live streams: typed records with their moments of arrival, until the stream is lost.
//!
//! A blank line is a sign of life and nothing else. JSON that does not fit our types is skipped and
//! logged once, for a reopened stream would only bring it again. Everything else that can go wrong
//! is a typed loss; reopening is the caller's affair.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use ndjson_stream::config::{EmptyLineHandling, NdjsonConfig};
use ndjson_stream::driver::FallibleNdjsonStream;
use ndjson_stream::fallible::FallibleNdjsonError;
use serde_json::value::RawValue;

use super::challenge::ChallengeUpdate;
use super::error::Error;
use super::event::Event;
use super::game_event::GameEvent;
use super::lines::{Books, Cut, LINE_LIMIT, Lines};
use super::reading::{EXCERPT_CHARS, FromObject, Misfit, excerpt, read};

/// A record and the moment its last byte was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival<T> {
    /// When it came.
    pub at: Instant,
    /// What came.
    pub event: T,
}

/// Why a stream is no more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamLoss {
    /// It never opened: no way to the server, or another answer than a stream.
    #[error("the stream did not open: {0}")]
    Unopened(Error),
    /// Nothing came for too long, not even a blank line.
    #[error("nothing heard for {:.1} s", .0.as_secs_f64())]
    Silent(Duration),
    /// The server closed it in good order.
    #[error("the server ended the stream")]
    Ended,
    /// The connection broke.
    #[error("the connection broke: {0}")]
    Reset(String),
    /// A line holds something else than JSON.
    #[error("no JSON in line {line} (byte {offset}), column {column}: {head}")]
    NotJson {
        /// The line, counted from one.
        line: u64,
        /// Where the line begins in the stream.
        offset: u64,
        /// Where in the line the parser gave up.
        column: usize,
        /// How the line begins.
        head: String,
    },
    /// A line did not end within the bound.
    #[error("line {line} is longer than {limit} bytes")]
    LineTooLong {
        /// The line, counted from one.
        line: u64,
        /// The bound.
        limit: usize,
    },
}

/// Complaints made already, so that each is made once. One for a client, shared by its streams.
#[derive(Clone, Debug, Default)]
pub(super) struct Complaints(Arc<Mutex<HashSet<String>>>);

impl Complaints {
    /// More than these are forgotten together.
    const CAPACITY: usize = 256;

    /// Whether this is the first time.
    pub(super) fn is_new(&self, complaint: String) -> bool {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= Self::CAPACITY {
            made.clear();
        }
        made.insert(complaint)
    }
}

/// A record of some stream.
pub(super) trait Record: FromObject {
    /// What the server calls it, if this program does not know it.
    fn unknown_kind(&self) -> Option<&str>;
}

impl Record for Event {
    fn unknown_kind(&self) -> Option<&str> {
        match self {
            Self::Unknown { kind } => Some(kind),
            _ => None,
        }
    }
}

impl Record for GameEvent {
    fn unknown_kind(&self) -> Option<&str> {
        match self {
            Self::Unknown { kind } => Some(kind),
            _ => None,
        }
    }
}

impl Record for ChallengeUpdate {
    fn unknown_kind(&self) -> Option<&str> {
        None
    }
}

type Chunks = BoxStream<'static, Result<Bytes, reqwest::Error>>;
type RawRecords = FallibleNdjsonStream<Box<RawValue>, Lines<Chunks>>;

/// An open stream of records.
struct Records<T> {
    /// None once the stream is lost: the connection is given up at that moment.
    raw: Option<RawRecords>,
    books: Books,
    idle: Duration,
    opened: Instant,
    /// What is listened to, for logs.
    subject: String,
    complaints: Complaints,
    loss: StreamLoss,
    kind: std::marker::PhantomData<fn() -> T>,
}

impl<T: Record> Records<T> {
    fn new(
        response: reqwest::Response,
        idle: Duration,
        subject: String,
        complaints: Complaints,
    ) -> Self {
        let lines = Lines::new(response.bytes_stream().boxed(), LINE_LIMIT);
        let books = lines.books();
        let config =
            NdjsonConfig::default().with_empty_line_handling(EmptyLineHandling::IgnoreBlank);
        Self {
            raw: Some(FallibleNdjsonStream::with_config(lines, config)),
            books,
            idle,
            opened: Instant::now(),
            subject,
            complaints,
            loss: StreamLoss::Ended,
            kind: std::marker::PhantomData,
        }
    }

    async fn next(&mut self) -> Result<Arrival<T>, StreamLoss> {
        loop {
            let record = match self.record().await {
                Ok(record) => record,
                Err(loss) => {
                    self.raw = None;
                    self.loss = loss.clone();
                    return Err(loss);
                }
            };
            if let Some(event) = self.typed(&record) {
                let at = self.books.look().heard;
                return Ok(Arrival { at, event });
            }
        }
    }

    /// The next line with something in it, whatever that is.
    async fn record(&mut self) -> Result<Box<RawValue>, StreamLoss> {
        let Some(raw) = self.raw.as_mut() else {
            return Err(self.loss.clone());
        };
        loop {
            let deadline = self.books.look().heard + self.idle;
            match tokio::time::timeout_at(deadline.into(), raw.next()).await {
                Ok(Some(Ok(record))) => return Ok(record),
                Ok(Some(Err(FallibleNdjsonError::JsonError(error)))) => {
                    let ledger = self.books.look();
                    return Err(StreamLoss::NotJson {
                        line: ledger.line,
                        offset: ledger.offset,
                        column: error.column(),
                        head: excerpt(&without_secrets(&ledger.head()), EXCERPT_CHARS),
                    });
                }
                Ok(Some(Err(FallibleNdjsonError::InputError(Cut::Reset(reason))))) => {
                    return Err(StreamLoss::Reset(reason));
                }
                Ok(Some(Err(FallibleNdjsonError::InputError(Cut::LineTooLong)))) => {
                    let line = self.books.look().line;
                    let limit = LINE_LIMIT;
                    return Err(StreamLoss::LineTooLong { line, limit });
                }
                Ok(None) => return Err(StreamLoss::Ended),
                Err(_) if self.books.look().heard + self.idle > Instant::now() => {}
                Err(_) => return Err(StreamLoss::Silent(self.idle)),
            }
        }
    }

    /// The record as one of ours, if it fits; complaints go to the log.
    fn typed(&self, record: &RawValue) -> Option<T> {
        tracing::trace!(stream = %self.subject, record = %without_secrets(record.get()), "heard");
        match read::<T>(record.get()) {
            Ok(read) => {
                for misfit in &read.dropped {
                    self.complain(misfit, "a field does not fit and is left out");
                }
                if let Some(kind) = read.value.unknown_kind() {
                    let misfit = Misfit {
                        path: "type".into(),
                        reason: excerpt(kind, EXCERPT_CHARS),
                    };
                    self.complain(&misfit, "an unknown kind of record is ignored");
                }
                Some(read.value)
            }
            Err(misfit) => {
                self.complain(&misfit, "a record does not fit and is skipped");
                None
            }
        }
    }

    fn complain(&self, misfit: &Misfit, what: &str) {
        let complaint = format!("{} {what} {misfit}", self.subject);
        if !self.complaints.is_new(complaint) {
            return;
        }
        let ledger = self.books.look();
        let head = excerpt(&without_secrets(&ledger.head()), EXCERPT_CHARS);
        let (line, offset) = (ledger.line, ledger.offset);
        tracing::warn!(stream = %self.subject, line, offset, path = %misfit.path,
            reason = %misfit.reason, %head, "{what}");
    }
}

/// The text of a line without the private game id, which is as good as a key to the game.
fn without_secrets(line: &str) -> String {
    const KEY: &str = "\"fullId\":\"";
    let Some(at) = line.find(KEY) else {
        return line.to_owned();
    };
    let value = at + KEY.len();
    let rest = line[value..]
        .find('"')
        .map_or("", |end| &line[value + end..]);
    format!("{}***{rest}", &line[..value])
}

macro_rules! stream {
    ($(#[$meta:meta])* $name:ident of $record:ident) => {
        $(#[$meta])*
        pub struct $name(Records<$record>);

        impl $name {
            pub(super) fn new(
                response: reqwest::Response,
                idle: Duration,
                subject: String,
                complaints: Complaints,
            ) -> Self {
                Self(Records::new(response, idle, subject, complaints))
            }

            /// The next record. May be dropped at any await without losing anything.
            ///
            /// # Errors
            /// The loss of the stream; after that, always the same one.
            pub async fn next(&mut self) -> Result<Arrival<$record>, StreamLoss> {
                self.0.next().await
            }

            /// When anything came last, blank lines included.
            pub fn last_heard(&self) -> Instant {
                self.0.books.look().heard
            }

            /// When the stream was opened.
            pub fn opened_at(&self) -> Instant {
                self.0.opened
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name))
                    .field("subject", &self.0.subject)
                    .finish_non_exhaustive()
            }
        }
    };
}

stream! {
    /// The account's events.
    EventStream of Event
}

stream! {
    /// One game.
    GameStream of GameEvent
}

stream! {
    /// The fate of a challenge of ours that stays alive while this is held.
    ChallengeStream of ChallengeUpdate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_private_id_of_a_game_is_masked() {
        let line = r#"{"type":"gameStart","game":{"fullId":"q7ZxVt2BkM4s","id":"q7ZxVt2B"}}"#;
        let shown = without_secrets(line);
        assert!(!shown.contains("kM4s") && shown.ends_with(r#""id":"q7ZxVt2B"}}"#));
        assert_eq!(without_secrets(r#"{"fullId":"q7Zx"#), r#"{"fullId":"***"#);
    }

    #[test]
    fn a_complaint_is_made_once_and_the_memory_of_them_is_bounded() {
        let complaints = Complaints::default();
        assert!(complaints.is_new("a".into()));
        assert!(!complaints.clone().is_new("a".into()));
        for n in 0..10_000 {
            complaints.is_new(n.to_string());
        }
        assert!(complaints.0.lock().unwrap().len() <= Complaints::CAPACITY);
    }
}
