//! Opening files: start positions of games in EPD or FEN, one per line.
//!
//! Text after the position is ignored, and so is a repeated position.

use std::collections::HashSet;
use std::hash::Hasher as _;

use fnv::FnvHasher;

use crate::rules::{FenError, Position};

/// A start position, with the number of its line, from 1.
#[derive(Clone, Debug)]
pub struct Opening {
    pub position: Position,
    pub line: usize,
}

/// Why a line is no start position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpeningError {
    #[error("line {line}: {error}")]
    Fen { line: usize, error: FenError },
    #[error("line {line}: the game is over in this position")]
    Over { line: usize },
    #[error("no positions in it")]
    Empty,
}

/// Reads an opening file, and skips blank lines and lines starting with `#`.
pub fn parse_openings(text: &str) -> Result<Vec<Opening>, OpeningError> {
    let mut seen = HashSet::new();
    let mut openings = Vec::new();
    for (index, text) in text.lines().enumerate() {
        let (line, text) = (index + 1, text.trim());
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let position =
            Position::from_fen(&fen(text)).map_err(|error| OpeningError::Fen { line, error })?;
        if position.outcome().is_some() {
            return Err(OpeningError::Over { line });
        }
        if seen.insert(position.key()) {
            openings.push(Opening { position, line });
        }
    }
    if openings.is_empty() {
        return Err(OpeningError::Empty);
    }
    Ok(openings)
}

/// A digest that tells lists of openings apart, as text (FNV-1a).
pub(super) fn digest(openings: &[Opening]) -> String {
    let mut digest = FnvHasher::default();
    for opening in openings {
        digest.write(opening.position.fen().as_bytes());
    }
    format!("{:016x}", digest.finish())
}

/// The FEN of a line: four fields, and the counters that follow.
fn fen(text: &str) -> String {
    let text = text.split(';').next().unwrap_or_default();
    let fields: Vec<&str> = text.split_ascii_whitespace().collect();
    let is_number = |field: &&str| field.bytes().all(|byte| byte.is_ascii_digit());
    let counters = fields.iter().skip(4).take(2).take_while(|it| is_number(it));
    fields[..fields.len().min(4) + counters.count()].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "rnbqkbnr/p1ppp2p/1p3pp1/6B1/1P1P4/8/P1P1PPPP/RN1QKBNR w KQkq - ce 69; \
                        hmvc 0; fmvn 4; id \"abal.001\"; c0 \"d2d4 g7g6\";";

    #[test]
    fn epd_and_fen_lines_are_read_and_repeated_positions_dropped() {
        let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 7 9";
        let text = format!("# openings\n\n{LINE}\n{fen}\n{LINE}\n");
        let openings = parse_openings(&text).unwrap();
        let lines: Vec<usize> = openings.iter().map(|opening| opening.line).collect();
        assert_eq!(lines, [3, 4]);
        assert!(openings[0].position.fen().ends_with(" w KQkq - 0 1"));
        assert_eq!(openings[1].position.fen(), fen);
        let five = parse_openings("4k3/8/8/8/8/8/6PP/4K3 w - - 90").unwrap();
        assert_eq!(five[0].position.halfmove_clock(), 90);
    }

    #[test]
    fn bad_lines_are_named() {
        let error = parse_openings(&format!("{LINE}\nnonsense w - -\n")).unwrap_err();
        assert!(
            error.to_string().starts_with("line 2: fen, board"),
            "{error}"
        );
        let over = parse_openings("8/8/8/8/8/8/8/K6k w - -").unwrap_err();
        assert_eq!(over, OpeningError::Over { line: 1 });
        assert_eq!(parse_openings("# none\n").unwrap_err(), OpeningError::Empty);
    }
}
