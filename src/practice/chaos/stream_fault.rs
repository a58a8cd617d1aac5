//! Faults of an open stream.

/// Length of an overlong line, beyond what a client should accept.
const OVERLONG: usize = (1 << 20) + 4096;

/// A fault of a stream, in order with its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamFault {
    End,
    Break,
    /// It falls silent, keep-alives included, and stays open.
    Silence,
    /// The next line stops after this many bytes, and the stream ends cleanly.
    Truncate(usize),
    /// The next line stops after this many bytes, and the connection breaks.
    Tear(usize),
    /// From now on data comes in chunks of this many bytes.
    Chop(usize),
    /// The next lines come in one chunk.
    Merge(usize),
    /// The next lines come twice.
    Repeat(usize),
    /// The next two lines come in the other order.
    Swap,
    /// The next lines are dropped.
    Skip(usize),
    /// The next lines carry unknown fields, each after a line of an unknown type.
    Noise(usize),
    /// These bytes come between the lines.
    Say(Vec<u8>),
    /// A line of more than a megabyte comes between the lines.
    Overlong,
}

impl StreamFault {
    /// A line of text between the lines.
    pub fn say(text: &str) -> Self {
        Self::Say(format!("{text}\n").into_bytes())
    }

    /// Whether the stream is unusable afterwards: a client has to open another.
    pub fn is_a_loss(&self) -> bool {
        match self {
            Self::End
            | Self::Break
            | Self::Silence
            | Self::Truncate(_)
            | Self::Tear(_)
            | Self::Overlong => true,
            Self::Say(bytes) => serde_json::from_slice::<serde_json::Value>(bytes).is_err(),
            _ => false,
        }
    }

    /// Its name in summaries.
    pub fn name(&self) -> &'static str {
        match self {
            Self::End => "stream ended",
            Self::Break => "stream reset",
            Self::Silence => "stream silent",
            Self::Truncate(_) => "line cut short",
            Self::Tear(_) => "line torn off",
            Self::Chop(_) => "stream in small pieces",
            Self::Merge(_) => "lines in one piece",
            Self::Repeat(_) => "lines twice",
            Self::Swap => "lines in wrong order",
            Self::Skip(_) => "line missing",
            Self::Noise(_) => "unknown fields and types",
            Self::Say(_) if self.is_a_loss() => "no JSON",
            Self::Say(_) => "an unknown line",
            Self::Overlong => "a line without end",
        }
    }

    /// The bytes of a line that seems endless.
    pub(crate) fn overlong() -> Vec<u8> {
        let mut line = b"{\"type\":\"gameState\",\"moves\":\"".to_vec();
        line.resize(OVERLONG, b'e');
        line
    }
}
