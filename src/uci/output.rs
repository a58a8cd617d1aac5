//! The output lines of the protocol, with one writer for all threads.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::engine::{Info, ScoreBound, SearchResult};
use crate::rules::UciStyle;

/// A writer that threads share line by line.
#[derive(Debug)]
pub(super) struct Output<W>(Arc<Mutex<W>>);

impl<W> Clone for Output<W> {
    fn clone(&self) -> Self {
        Output(Arc::clone(&self.0))
    }
}

impl<W: Write> Output<W> {
    pub(super) fn new(writer: W) -> Output<W> {
        Output(Arc::new(Mutex::new(writer)))
    }

    /// Writes one or more lines without interleaving.
    pub(super) fn write_line(&self, text: &str) -> io::Result<()> {
        self.write(|writer| writeln!(writer, "{text}"))
    }

    pub(super) fn write(&self, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        let mut writer = self.0.lock();
        write(&mut writer)?;
        writer.flush()
    }
}

/// A report as an `info` line.
pub(super) fn info_line(info: &Info, style: UciStyle) -> String {
    let millis = info.time.as_millis();
    let speed = u128::from(info.nodes) * 1_000_000 / info.time.as_micros().max(1);
    let bound = match info.bound {
        ScoreBound::Exact => "",
        ScoreBound::Lower => " lowerbound",
        ScoreBound::Upper => " upperbound",
    };
    let mut line = format!(
        "info depth {} seldepth {} multipv {} score {}{bound} nodes {} nps {speed} hashfull {} \
         tbhits {} time {millis} pv",
        info.depth,
        info.seldepth,
        info.multipv,
        info.score,
        info.nodes,
        info.hashfull,
        info.table_hits,
    );
    for mv in &info.line {
        // Writing to a string cannot fail.
        let _ = write!(line, " {}", mv.uci(style));
    }
    line
}

/// The `info` line of an answer that no search has reported: a game that is over, or an only move.
pub(super) fn unsearched_line(result: &SearchResult, style: UciStyle) -> String {
    let (depth, score, nodes) = (result.depth, result.score, result.nodes);
    let mut line = format!("info depth {depth} score {score} nodes {nodes}");
    if let Some(best) = result.best {
        let _ = write!(line, " pv {}", best.uci(style));
    }
    line
}

/// The answer to `go`.
pub(super) fn best_move_line(result: &SearchResult, style: UciStyle) -> String {
    match (result.best, result.ponder) {
        (None, _) => "bestmove (none)".to_owned(),
        (Some(best), None) => format!("bestmove {}", best.uci(style)),
        (Some(best), Some(ponder)) => {
            format!("bestmove {} ponder {}", best.uci(style), ponder.uci(style))
        }
    }
}
