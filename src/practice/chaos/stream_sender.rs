//! Turns the lines of a stream into the chunks to send, and applies stream faults on the way.
//!
//! Pure: takes lines and faults, returns chunks.

use std::collections::VecDeque;

use axum::body::Bytes;
use serde_json::Value;

use crate::practice::chaos::StreamFault;

/// The next output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::practice) enum OutgoingChunk {
    Bytes(Bytes),
    End,
    Break,
    Silence,
}

/// How a stream sends its lines.
#[derive(Debug, Default)]
pub(in crate::practice) struct StreamSender {
    ready: VecDeque<OutgoingChunk>,
    chop: Option<usize>,
    cut: Option<(usize, OutgoingChunk)>,
    repeat: usize,
    skip: usize,
    noise: usize,
    /// Lines held back, and how many to hold.
    held: Vec<String>,
    hold: usize,
    swap: bool,
}

impl StreamSender {
    /// Applies a fault.
    pub(in crate::practice) fn stream_fault(&mut self, stream_fault: StreamFault) {
        match stream_fault {
            StreamFault::End => self.ready.push_back(OutgoingChunk::End),
            StreamFault::Break => self.ready.push_back(OutgoingChunk::Break),
            StreamFault::Silence => self.ready.push_back(OutgoingChunk::Silence),
            StreamFault::Truncate(bytes) => self.cut = Some((bytes, OutgoingChunk::End)),
            StreamFault::Tear(bytes) => self.cut = Some((bytes, OutgoingChunk::Break)),
            StreamFault::Chop(size) => self.chop = Some(size.max(1)),
            StreamFault::Merge(lines) => self.hold = lines,
            StreamFault::Repeat(lines) => self.repeat += lines,
            StreamFault::Swap => {
                self.swap = true;
                self.hold = 2;
            }
            StreamFault::Skip(lines) => self.skip += lines,
            StreamFault::Noise(lines) => self.noise += lines,
            StreamFault::Say(bytes) => self.write(&bytes),
            StreamFault::Overlong => self
                .ready
                .push_back(OutgoingChunk::Bytes(StreamFault::overlong().into())),
        }
    }

    /// Sends a line.
    pub(in crate::practice) fn line(&mut self, line: String) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        if self.hold == 0 {
            return self.send(line);
        }
        self.held.push(line);
        if self.held.len() >= self.hold {
            self.let_go();
        }
    }

    /// Nothing was sent for a while: releases held lines, or else sends an empty line.
    pub(in crate::practice) fn keep_alive(&mut self) {
        if self.held.is_empty() {
            self.write(b"\n");
        } else {
            self.let_go();
        }
    }

    /// Whether lines are held back.
    pub(in crate::practice) fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    /// Whether a line is still to be cut.
    pub(in crate::practice) fn cuts(&self) -> bool {
        self.cut.is_some()
    }

    /// The next output.
    pub(in crate::practice) fn next(&mut self) -> Option<OutgoingChunk> {
        self.ready.pop_front()
    }

    fn let_go(&mut self) {
        self.hold = 0;
        let mut lines = std::mem::take(&mut self.held);
        let swapped = std::mem::take(&mut self.swap);
        if swapped {
            lines.reverse();
        }
        let before = self.ready.len();
        for line in lines {
            self.send(line);
        }
        if !swapped && self.chop.is_none() {
            self.join(before);
        }
    }

    /// Merges everything that is ready from an index on into one chunk.
    fn join(&mut self, from: usize) {
        let mut whole = Vec::new();
        while self.ready.len() > from {
            let Some(OutgoingChunk::Bytes(bytes)) = self.ready.get(from) else {
                break;
            };
            whole.extend_from_slice(bytes);
            self.ready.remove(from);
        }
        self.ready.insert(from, OutgoingChunk::Bytes(whole.into()));
    }

    fn send(&mut self, line: String) {
        let mut line = line;
        if self.noise > 0 {
            self.noise -= 1;
            self.write(b"{\"type\":\"weather\",\"sunny\":[true,{\"at\":null}]}\n");
            line = noisy(&line).unwrap_or(line);
        }
        line.push('\n');
        if let Some((bytes, end)) = self.cut.take() {
            // At least the line feed is missing.
            let kept = bytes.min(line.len() - 1);
            self.write(&line.as_bytes()[..kept]);
            self.ready.push_back(end);
            return;
        }
        self.write(line.as_bytes());
        if self.repeat > 0 {
            self.repeat -= 1;
            self.write(line.as_bytes());
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        let size = self.chop.unwrap_or(bytes.len().max(1));
        let pieces = bytes
            .chunks(size)
            .map(|piece| OutgoingChunk::Bytes(Bytes::copy_from_slice(piece)));
        self.ready.extend(pieces);
    }
}

/// The same line with unknown fields.
fn noisy(line: &str) -> Option<String> {
    let Ok(Value::Object(mut object)) = serde_json::from_str(line) else {
        return None;
    };
    object.insert(
        "brandNew".to_owned(),
        serde_json::json!({ "deep": [1, "two", null] }),
    );
    object.insert("rematchOf".to_owned(), Value::Null);
    Some(Value::Object(object).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(faults: &[StreamFault], lines: &[&str]) -> Vec<String> {
        let mut sender = StreamSender::default();
        for stream_fault in faults {
            sender.stream_fault(stream_fault.clone());
        }
        for line in lines {
            sender.line((*line).to_owned());
        }
        sender.keep_alive();
        let mut sent = Vec::new();
        while let Some(piece) = sender.next() {
            sent.push(match piece {
                OutgoingChunk::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
                other => format!("{other:?}"),
            });
        }
        sent
    }

    #[test]
    fn lines_are_cut_chopped_joined_doubled_swapped_and_left_out() {
        assert_eq!(sent(&[], &["ab"]), ["ab\n", "\n"]);
        assert_eq!(
            sent(&[StreamFault::Truncate(1)], &["ab"]),
            ["a", "End", "\n"]
        );
        assert_eq!(
            sent(&[StreamFault::Tear(9)], &["ab"]),
            ["ab", "Break", "\n"]
        );
        assert_eq!(
            sent(&[StreamFault::Chop(1)], &["ab"]),
            ["a", "b", "\n", "\n"]
        );
        assert_eq!(
            sent(&[StreamFault::Merge(2)], &["a", "b", "c"])[..2],
            ["a\nb\n", "c\n"]
        );
        assert_eq!(sent(&[StreamFault::Merge(3)], &["a"]), ["a\n"]);
        assert_eq!(
            sent(&[StreamFault::Repeat(1)], &["a", "b"])[..3],
            ["a\n", "a\n", "b\n"]
        );
        assert_eq!(
            sent(&[StreamFault::Swap], &["a", "b", "c"])[..3],
            ["b\n", "a\n", "c\n"]
        );
        assert_eq!(sent(&[StreamFault::Skip(1)], &["a", "b"])[..1], ["b\n"]);
        assert_eq!(
            sent(&[StreamFault::Silence], &["a"])[..2],
            ["Silence", "a\n"]
        );
    }

    #[test]
    fn noise_is_json_with_more_in_it() {
        let sent = sent(&[StreamFault::Noise(1)], &["{\"type\":\"gameState\"}"]);
        for line in &sent[..2] {
            let value: Value = serde_json::from_str(line).unwrap();
            assert!(value["type"].is_string());
        }
        assert!(sent[1].contains("brandNew"));
        assert!(StreamFault::overlong().len() > 1 << 20);
    }
}
