//! The byte adapter under `ndjson-stream`: one line at a time, with statistics.
//!
//! It timestamps every arrival, blank lines included, counts lines and bytes, keeps the head of the current
//! line for error messages, and ends a stream whose line is too long. It does not parse.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::Stream;
use parking_lot::{Mutex, MutexGuard};

/// The longest line of a stream. A game of 600 plies takes four kilobytes.
pub(super) const LINE_LIMIT: usize = 1 << 20;

/// The length of the head of a line that error messages quote.
const HEAD_BYTES: usize = 256;

/// Why the bytes end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    Reset(String),
    LineTooLong,
}

/// Statistics of a stream so far.
#[derive(Debug)]
pub(super) struct StreamStats {
    /// When the last bytes arrived.
    pub(super) received: Instant,
    /// When the current line began.
    began: Instant,
    /// The number of the current line, from one, counting blank lines.
    pub(super) line: u64,
    /// The byte of the stream at which that line begins.
    pub(super) offset: u64,
    head: Vec<u8>,
    /// Bytes of the line so far.
    length: usize,
    /// Bytes of the stream so far.
    total: u64,
    /// Whether the last byte ended a line.
    at_start: bool,
}

impl StreamStats {
    fn new(now: Instant) -> Self {
        Self {
            received: now,
            began: now,
            line: 0,
            offset: 0,
            head: Vec::new(),
            length: 0,
            total: 0,
            at_start: true,
        }
    }

    fn enter(&mut self, piece: &[u8]) {
        if self.at_start {
            self.began = self.received;
            self.line += 1;
            self.offset = self.total;
            self.length = 0;
            self.head.clear();
        }
        let room = HEAD_BYTES.saturating_sub(self.head.len());
        self.head.extend_from_slice(&piece[..piece.len().min(room)]);
        self.length += piece.len();
        self.total += piece.len() as u64;
        self.at_start = piece.last() == Some(&b'\n');
    }

    /// When the next bytes are due if `idle` is the longest silence. An unfinished line counts as
    /// silence, even while its bytes trickle in.
    pub(super) fn deadline(&self, idle: Duration) -> Instant {
        let since = if self.at_start {
            self.received
        } else {
            self.began
        };
        since + idle
    }

    /// The beginning of the current line.
    pub(super) fn head(&self) -> String {
        String::from_utf8_lossy(&self.head).trim_end().to_owned()
    }
}

/// The statistics, shared by both sides of the parser.
#[derive(Clone, Debug)]
pub(super) struct SharedStats(Arc<Mutex<StreamStats>>);

impl SharedStats {
    fn new(now: Instant) -> Self {
        Self(Arc::new(Mutex::new(StreamStats::new(now))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, StreamStats> {
        self.0.lock()
    }
}

/// Splits a stream of chunks into pieces that lie within one line each.
#[derive(Debug)]
pub(super) struct LineReader<S> {
    chunks: S,
    pending: Bytes,
    limit: usize,
    stats: SharedStats,
}

impl<S> LineReader<S> {
    /// Reads `chunks` with at most `limit` bytes per line.
    pub(super) fn new(chunks: S, limit: usize) -> Self {
        Self {
            chunks,
            pending: Bytes::new(),
            limit,
            stats: SharedStats::new(Instant::now()),
        }
    }

    pub(super) fn stats(&self) -> SharedStats {
        self.stats.clone()
    }

    /// The next piece of the current chunk, up to the end of a line.
    fn piece(&mut self) -> Result<Bytes, EndReason> {
        let newline = self.pending.iter().position(|&byte| byte == b'\n');
        let end = newline.map_or(self.pending.len(), |at| at + 1);
        let piece = self.pending.split_to(end);
        let mut stats = self.stats.lock();
        stats.enter(&piece);
        if stats.length > self.limit {
            return Err(EndReason::LineTooLong);
        }
        Ok(piece)
    }
}

impl<S, E> Stream for LineReader<S>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::error::Error,
{
    type Item = Result<Bytes, EndReason>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if !self.pending.is_empty() {
                return Poll::Ready(Some(self.piece()));
            }
            match ready!(Pin::new(&mut self.chunks).poll_next(cx)) {
                Some(Ok(chunk)) => {
                    self.stats.lock().received = Instant::now();
                    self.pending = chunk;
                }
                Some(Err(error)) => {
                    let reason = super::error::describe(&error);
                    return Poll::Ready(Some(Err(EndReason::Reset(reason))));
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt, stream};

    use super::*;

    fn lines(
        chunks: &[&'static str],
        limit: usize,
    ) -> LineReader<impl Stream<Item = Result<Bytes, std::io::Error>> + Unpin + use<>> {
        let chunks: Vec<_> = chunks
            .iter()
            .map(|chunk| Ok(Bytes::from_static(chunk.as_bytes())))
            .collect();
        LineReader::new(stream::iter(chunks), limit)
    }

    fn pull<S: Stream + Unpin>(stream: &mut S) -> Option<S::Item> {
        stream.next().now_or_never().expect("nothing to wait for")
    }

    #[test]
    fn a_chunk_of_many_lines_is_handed_on_line_by_line() {
        let mut lines = lines(&["a\n\nb", "c\r\nd"], 10);
        let stats = lines.stats();
        let mut seen = Vec::new();
        while let Some(piece) = pull(&mut lines) {
            let stats = stats.lock();
            seen.push((piece.unwrap(), stats.line, stats.offset));
        }
        let expected = [
            ("a\n", 1, 0),
            ("\n", 2, 2),
            ("b", 3, 3),
            ("c\r\n", 3, 3),
            ("d", 4, 7),
        ];
        assert_eq!(
            seen,
            expected.map(|(p, l, o)| (Bytes::from_static(p.as_bytes()), l, o))
        );
    }

    #[test]
    fn the_bound_counts_bytes_of_one_line_over_all_its_chunks() {
        let mut fitting = lines(&["12345\n12345\n", "12", "345\n"], 6);
        while let Some(piece) = pull(&mut fitting) {
            piece.unwrap();
        }
        let mut too_long = lines(&["123", "456", "7\n"], 6);
        pull(&mut too_long).unwrap().unwrap();
        pull(&mut too_long).unwrap().unwrap();
        assert_eq!(pull(&mut too_long), Some(Err(EndReason::LineTooLong)));
    }

    #[test]
    fn a_line_without_an_end_is_waited_for_from_its_beginning() {
        let mut lines = lines(&["a\n", "b", "c", "\n"], 10);
        let stats = lines.stats();
        let idle = Duration::from_secs(10);
        let mut deadlines = Vec::new();
        while let Some(piece) = pull(&mut lines) {
            piece.unwrap();
            let stats = stats.lock();
            deadlines.push((stats.deadline(idle), stats.received + idle));
            drop(stats);
            // Moments tell them apart only if time continues.
            let now = Instant::now();
            while Instant::now() == now {}
        }
        let [first, begun, more, whole] = deadlines[..] else {
            panic!("{deadlines:?}");
        };
        assert_eq!((first.0, begun.0, whole.0), (first.1, begun.1, whole.1));
        assert_eq!(more.0, begun.1, "bytes of the same line are no news");
    }

    #[test]
    fn the_head_of_a_line_is_kept_over_its_chunks_and_bounded() {
        let long: &'static str = "x".repeat(500).leak();
        let mut lines = lines(&["ab", "cd", long], 1000);
        let stats = lines.stats();
        while pull(&mut lines).is_some() {}
        let head = stats.lock().head();
        assert!(head.starts_with("abcdxx") && head.len() == HEAD_BYTES);
    }
}
