//! Live streams: typed, timestamped records until a disconnect.
//!
//! A blank line is only a sign of life. The stream skips JSON that does not fit our types and logs it once,
//! since a reopened stream would only repeat it. Every other failure is a typed disconnect; reopening is the
//! caller's job.

use std::marker::PhantomData;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use ndjson_stream::config::{EmptyLineHandling, NdjsonConfig};
use ndjson_stream::driver::FallibleNdjsonStream;
use ndjson_stream::fallible::FallibleNdjsonError;
use serde_json::value::RawValue;

use super::challenge::ChallengeUpdate;
use super::disconnect::Disconnect;
use super::event::Event;
use super::game_event::GameEvent;
use super::ids::GameId;
use super::lenient_json::{EXCERPT_CHARS, JsonMismatch, Lenient, excerpt};
use super::line_reader::{EndReason, LINE_LIMIT, LineReader, SharedStats};
use super::warn_once::{WarnOnce, without_secrets};
use super::wire_log::{WireKind, WireLog};

/// A record and the moment its last byte was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timestamped<T> {
    pub at: Instant,
    pub event: T,
}

/// A record of some stream.
pub trait Record: Sized {
    /// Reads one line.
    ///
    /// # Errors
    /// When the line is no such record.
    fn read(line: &str) -> Result<Lenient<Self>, JsonMismatch>;

    /// The game that a record of the account's stream is about.
    fn game(&self) -> Option<&GameId> {
        None
    }

    /// What the server calls the record, if the bot does not know it.
    fn unknown_kind(&self) -> Option<&str> {
        None
    }
}

impl Record for Event {
    fn read(line: &str) -> Result<Lenient<Self>, JsonMismatch> {
        Self::from_line(line)
    }

    fn game(&self) -> Option<&GameId> {
        match self {
            Self::GameStart(game) | Self::GameFinish(game) => Some(&game.id),
            _ => None,
        }
    }

    fn unknown_kind(&self) -> Option<&str> {
        match self {
            Self::Unknown { kind } => Some(kind),
            _ => None,
        }
    }
}

impl Record for GameEvent {
    fn read(line: &str) -> Result<Lenient<Self>, JsonMismatch> {
        Self::from_line(line)
    }

    fn unknown_kind(&self) -> Option<&str> {
        match self {
            Self::Unknown { kind } => Some(kind),
            _ => None,
        }
    }
}

impl Record for ChallengeUpdate {
    fn read(line: &str) -> Result<Lenient<Self>, JsonMismatch> {
        Self::from_line(line)
    }
}

type Chunks = BoxStream<'static, Result<Bytes, reqwest::Error>>;
type RawRecords = FallibleNdjsonStream<Box<RawValue>, LineReader<Chunks>>;

/// An open stream of records.
pub struct RecordStream<T> {
    /// None once the stream is lost, which closes the connection at that moment.
    raw: Option<RawRecords>,
    stats: SharedStats,
    idle: Duration,
    opened: Instant,
    /// The name of the stream in the log.
    subject: String,
    warnings: WarnOnce,
    disconnect: Disconnect,
    wire: WireLog,
    /// The game whose stream it is.
    game: Option<GameId>,
    record: PhantomData<fn() -> T>,
}

/// The account's events.
pub type EventStream = RecordStream<Event>;
/// The events of one game.
pub type GameStream = RecordStream<GameEvent>;
/// The fate of an outgoing challenge, which stays alive while this is held.
pub type ChallengeStream = RecordStream<ChallengeUpdate>;

impl<T: Record> RecordStream<T> {
    pub(super) fn new(
        response: reqwest::Response,
        idle: Duration,
        subject: String,
        warnings: WarnOnce,
    ) -> Self {
        let lines = LineReader::new(response.bytes_stream().boxed(), LINE_LIMIT);
        let stats = lines.stats();
        let config =
            NdjsonConfig::default().with_empty_line_handling(EmptyLineHandling::IgnoreBlank);
        Self {
            raw: Some(FallibleNdjsonStream::with_config(lines, config)),
            stats,
            idle,
            opened: Instant::now(),
            subject,
            warnings,
            disconnect: Disconnect::Ended,
            wire: WireLog::default(),
            game: None,
            record: PhantomData,
        }
    }

    /// The stream with its lines passed on; of the account's stream those about a game.
    pub(super) fn with_wire(self, wire: WireLog, game: Option<GameId>) -> Self {
        wire.add(game.as_ref(), WireKind::Open, String::new);
        Self { wire, game, ..self }
    }

    /// The next record. May be dropped at any await without losing anything.
    ///
    /// # Errors
    /// The loss of the stream; after that, always the same one.
    pub async fn next(&mut self) -> Result<Timestamped<T>, Disconnect> {
        loop {
            let record = match self.record().await {
                Ok(record) => record,
                Err(disconnect) => {
                    self.raw = None;
                    let reason = || disconnect.to_string();
                    self.wire.add(self.game.as_ref(), WireKind::Lost, reason);
                    self.disconnect = disconnect.clone();
                    return Err(disconnect);
                }
            };
            if let Some(event) = self.typed(&record) {
                let at = self.stats.lock().received;
                return Ok(Timestamped { at, event });
            }
        }
    }

    /// When anything came last, blank lines included.
    pub fn last_received(&self) -> Instant {
        self.stats.lock().received
    }

    /// Its signs of life, for a task that does not read it.
    pub fn liveness(&self) -> Liveness {
        Liveness(self.stats.clone())
    }

    /// When the stream was opened.
    pub fn opened_at(&self) -> Instant {
        self.opened
    }

    /// The next line that is not blank.
    async fn record(&mut self) -> Result<Box<RawValue>, Disconnect> {
        let Some(raw) = self.raw.as_mut() else {
            return Err(self.disconnect.clone());
        };
        loop {
            let deadline = self.stats.lock().deadline(self.idle);
            match tokio::time::timeout_at(deadline.into(), raw.next()).await {
                Ok(Some(Ok(record))) => return Ok(record),
                Ok(Some(Err(FallibleNdjsonError::JsonError(error)))) => {
                    let stats = self.stats.lock();
                    return Err(Disconnect::NotJson {
                        line: stats.line,
                        offset: stats.offset,
                        column: error.column(),
                        head: excerpt(&without_secrets(&stats.head()), EXCERPT_CHARS),
                    });
                }
                Ok(Some(Err(FallibleNdjsonError::InputError(EndReason::Reset(reason))))) => {
                    return Err(Disconnect::Reset(reason));
                }
                Ok(Some(Err(FallibleNdjsonError::InputError(EndReason::LineTooLong)))) => {
                    let line = self.stats.lock().line;
                    let limit = LINE_LIMIT;
                    return Err(Disconnect::LineTooLong { line, limit });
                }
                Ok(None) => return Err(Disconnect::Ended),
                Err(_) if self.stats.lock().deadline(self.idle) > Instant::now() => {}
                Err(_) => return Err(Disconnect::Silent(self.idle)),
            }
        }
    }

    /// The typed record, if it fits; logs what does not.
    fn typed(&self, record: &RawValue) -> Option<T> {
        tracing::trace!(stream = %self.subject, record = %without_secrets(record.get()), "received");
        self.wire
            .add(self.game.as_ref(), WireKind::In, || record.get().to_owned());
        match T::read(record.get()) {
            Ok(read) => {
                if let Some(game) = read.value.game() {
                    self.wire
                        .add(Some(game), WireKind::Event, || record.get().to_owned());
                }
                for mismatch in &read.dropped {
                    self.warn(mismatch, "ignoring a malformed field");
                }
                if let Some(kind) = read.value.unknown_kind() {
                    let mismatch = JsonMismatch {
                        path: "type".into(),
                        reason: excerpt(kind, EXCERPT_CHARS),
                    };
                    self.warn(&mismatch, "ignoring an unknown record type");
                }
                Some(read.value)
            }
            Err(mismatch) => {
                self.warn(&mismatch, "skipping a malformed record");
                None
            }
        }
    }

    fn warn(&self, mismatch: &JsonMismatch, what: &str) {
        let warning = format!("{} {what} {mismatch}", self.subject);
        if !self.warnings.is_new(warning) {
            return;
        }
        let stats = self.stats.lock();
        let head = excerpt(&without_secrets(&stats.head()), EXCERPT_CHARS);
        let (line, offset) = (stats.line, stats.offset);
        tracing::warn!(stream = %self.subject, line, offset, path = %mismatch.path,
            reason = %mismatch.reason, %head, "{what}");
    }
}

impl<T> std::fmt::Debug for RecordStream<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordStream")
            .field("subject", &self.subject)
            .finish_non_exhaustive()
    }
}

/// The signs of life of a stream, for a task that does not read it.
#[derive(Clone, Debug)]
pub struct Liveness(SharedStats);

impl Liveness {
    /// When anything came last, blank lines included.
    pub fn last_received(&self) -> Instant {
        self.0.lock().received
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt, stream};
    use tokio::sync::mpsc;

    use super::*;

    const EVENTS: &str = include_str!("../../tests/data/lichess/events.ndjson");
    const GAMES: &str = include_str!("../../tests/data/lichess/games.ndjson");

    fn records<T: Record>(body: reqwest::Body) -> RecordStream<T> {
        let response = axum::http::Response::new(body).into();
        let idle = Duration::from_secs(10);
        RecordStream::new(response, idle, "test".into(), WarnOnce::default())
    }

    fn chopped<T: Record>(chunks: &[&[u8]]) -> RecordStream<T> {
        let chunks: Vec<_> = chunks
            .iter()
            .map(|&c| Ok::<_, std::io::Error>(c.to_vec()))
            .collect();
        records(reqwest::Body::wrap_stream(stream::iter(chunks)))
    }

    fn whole<T: Record>(mut records: RecordStream<T>) -> Vec<T> {
        let everything = async {
            let mut seen = Vec::new();
            loop {
                match records.next().await {
                    Ok(record) => seen.push(record.event),
                    Err(disconnect) => {
                        assert_eq!(disconnect, Disconnect::Ended);
                        return seen;
                    }
                }
            }
        };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(everything)
    }

    #[test]
    fn chunk_boundaries_do_not_matter() {
        let crlf = EVENTS.replace('\n', "\r\n");
        for text in [EVENTS, &crlf] {
            let bytes = text.as_bytes();
            let expected = whole::<Event>(chopped(&[bytes]));
            assert_eq!(expected.len(), 10);
            let single: Vec<_> = bytes.chunks(1).collect();
            assert_eq!(whole::<Event>(chopped(&single)), expected);
            for at in (0..bytes.len()).step_by(7) {
                let (head, tail) = bytes.split_at(at);
                assert_eq!(whole::<Event>(chopped(&[head, tail])), expected, "at {at}");
            }
        }
    }

    #[test]
    fn a_character_may_be_split_between_chunks() {
        let bytes = GAMES.as_bytes();
        let expected = whole::<GameEvent>(chopped(&[bytes]));
        for at in 0..bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert_eq!(
                whole::<GameEvent>(chopped(&[head, tail])),
                expected,
                "at {at}"
            );
        }
    }

    #[tokio::test]
    async fn a_line_is_delivered_with_its_last_byte() {
        let (bytes, arriving) = mpsc::unbounded_channel::<Result<Vec<u8>, std::io::Error>>();
        let arriving = stream::unfold(arriving, async |mut arriving| {
            arriving.recv().await.map(|chunk| (chunk, arriving))
        });
        let mut records = records::<GameEvent>(reqwest::Body::wrap_stream(arriving));
        for line in GAMES.lines().filter(|line| !line.is_empty()) {
            let (head, tail) = line.split_at(line.len() / 2);
            bytes.send(Ok(head.into())).unwrap();
            assert!(records.next().now_or_never().is_none());
            bytes.send(Ok(tail.into())).unwrap();
            assert!(records.next().now_or_never().is_none());
            let before = Instant::now();
            bytes.send(Ok(b"\n".to_vec())).unwrap();
            let record = records.next().now_or_never().unwrap().unwrap();
            assert!(record.at >= before && record.at <= Instant::now());
        }
    }

    #[tokio::test]
    async fn mismatched_records_are_skipped_and_invalid_json_ends_the_stream() {
        let text = concat!(
            "7\n[]\n\"x\"\n{}\n{\"type\":3}\n{\"type\":\"gameState\"}\n",
            "{\"error\":\"x\"}\n\n{\"type\":\"opponentGone\",\"gone\":true}\n\n<html>\n"
        );
        let mut records = chopped::<GameEvent>(&[text.as_bytes()]);
        let record = records.next().await.unwrap();
        assert!(matches!(record.event, GameEvent::OpponentGone(gone) if gone.gone));
        let disconnect = records.next().await.unwrap_err();
        let Disconnect::NotJson {
            line, offset, head, ..
        } = &disconnect
        else {
            panic!("{disconnect:?}");
        };
        assert_eq!((*line, head.as_str()), (11, "<html>"));
        assert_eq!(*offset, text.find('<').unwrap() as u64);
        assert_eq!(
            records.next().await.unwrap_err(),
            disconnect,
            "a lost stream stays lost"
        );
    }

    #[tokio::test]
    async fn invalid_utf8_is_invalid_json() {
        let mut records = chopped::<Event>(&[b"{\"type\":\"\xff\xfe\"}\n"]);
        let disconnect = records.next().await.unwrap_err();
        assert!(
            matches!(disconnect, Disconnect::NotJson { line: 1, .. }),
            "{disconnect:?}"
        );
    }

    #[tokio::test]
    async fn a_line_without_end_is_cut_at_the_bound() {
        let chunk = vec![b' '; 60_000];
        let endless = stream::repeat(chunk).map(Ok::<_, std::io::Error>);
        let mut records = records::<Event>(reqwest::Body::wrap_stream(endless));
        let disconnect = records.next().await.unwrap_err();
        let limit = LINE_LIMIT;
        assert_eq!(disconnect, Disconnect::LineTooLong { line: 1, limit });
    }
}
