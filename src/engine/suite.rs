//! Tactical suites: positions with their correct moves, searched with an empty table.
//!
//! Reads EPD lines with the opcodes `c0` or `bm` (the correct moves, in UCI or SAN) and `id`; skips
//! other opcodes.

use std::io::{self, Write};

use super::{EngineOptions, Evaluator, Limits, Pool};
use crate::rules::{FenError, Game, Position};

/// One position of a suite.
#[derive(Clone, Debug)]
pub struct Puzzle {
    pub id: String,
    pub position: Position,
    /// The correct moves, in UCI.
    pub answers: Vec<String>,
}

/// An invalid line of a suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuiteError {
    /// The position is invalid.
    #[error("line {line}: {error}")]
    Fen { line: usize, error: FenError },
    /// Neither opcode `c0` nor `bm` is a legal move.
    #[error("line {line}: no answer (legal moves in opcode c0 or bm)")]
    NoAnswer { line: usize },
}

/// The result of a suite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SuiteReport {
    pub total: usize,
    /// Positions whose final best move is correct.
    pub solved: usize,
    /// The names of the others.
    pub missed: Vec<String>,
}

/// Reads a suite; skips blank lines and lines starting with `#`.
pub fn parse(text: &str) -> Result<Vec<Puzzle>, SuiteError> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(number, line)| puzzle(number, line))
        .collect()
}

fn puzzle(line: usize, text: &str) -> Result<Puzzle, SuiteError> {
    let fields: Vec<&str> = text.split_ascii_whitespace().take(4).collect();
    let position = Position::from_fen(&format!("{} 0 1", fields.join(" ")))
        .map_err(|error| SuiteError::Fen { line, error })?;
    let opcode = |name: &str| {
        text.split(';').find_map(|part| {
            // The first opcode follows the position in the same part.
            let words: Vec<&str> = part.split_ascii_whitespace().collect();
            let at = words.iter().rposition(|&word| word == name)?;
            Some(words[at + 1..].join(" ").trim_matches('"').to_owned())
        })
    };
    let read = |word: &str| {
        let mv = position
            .parse_uci(word)
            .or_else(|_| position.parse_san(word));
        mv.map(|mv| mv.to_string()).ok()
    };
    let moves = |name| opcode(name)?.split(' ').map(read).collect();
    let answers: Option<Vec<String>> = ["c0", "bm"].into_iter().find_map(moves);
    Ok(Puzzle {
        id: opcode("id").unwrap_or_else(|| format!("line {line}")),
        position,
        answers: answers.ok_or(SuiteError::NoAnswer { line })?,
    })
}

/// Searches every puzzle for `nodes` nodes, each with an empty table, and writes a line for each
/// one missed and a summary.
pub fn run(
    evaluator: &Evaluator,
    puzzles: &[Puzzle],
    nodes: u64,
    output: &mut impl Write,
) -> io::Result<SuiteReport> {
    let pool = Pool::new(&EngineOptions {
        hash_mb: 16,
        evaluator: evaluator.clone(),
        ..EngineOptions::default()
    });
    let engine = pool.lease();
    let mut report = SuiteReport {
        total: puzzles.len(),
        ..SuiteReport::default()
    };
    for puzzle in puzzles {
        pool.clear_hash();
        engine.new_game();
        let game = Game::from_position(puzzle.position);
        let result = engine.think(&game, Limits::nodes(nodes)).wait();
        let played = result.best.map(|best| best.to_string()).unwrap_or_default();
        if puzzle.answers.contains(&played) {
            report.solved += 1;
            continue;
        }
        let (id, score, answers) = (&puzzle.id, result.score, puzzle.answers.join(" or "));
        writeln!(output, "{id}: {played} ({score}) instead of {answers}")?;
        report.missed.push(puzzle.id.clone());
    }
    let (solved, total) = (report.solved, report.total);
    let percent = 100.0 * solved as f64 / total.max(1) as f64;
    writeln!(
        output,
        "{solved} of {total} solved ({percent:.1}%) at {nodes} nodes a position"
    )?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "1k5r/1p2bR2/8/p2p4/3P3P/2P1p3/PP1B2P1/R3K3 b Q - bm exd2#; dm 1; \
                        id \"atac.001\"; c0 \"e3d2\"; c1 \"A\";";

    #[test]
    fn a_puzzle_is_read_with_its_opcodes() {
        let puzzles = parse(&format!("# comment\n\n{LINE}\n")).unwrap();
        let [puzzle] = &puzzles[..] else {
            panic!("one puzzle expected")
        };
        assert_eq!(
            (puzzle.id.as_str(), puzzle.answers.join(" ").as_str()),
            ("atac.001", "e3d2")
        );
        let by_san = parse("8/8/8/8/8/8/8/K1k5 w - - bm Ka2;").unwrap();
        assert_eq!(by_san[0].answers, ["a1a2"]);
    }

    #[test]
    fn answers_are_legal_moves_in_either_notation() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
        for answer in [
            "c0 \"g1f3\";",
            "c0 \"Nf3\";",
            "bm g1f3;",
            "bm Nf3; c0 \"a free comment\";",
        ] {
            let puzzles = parse(&format!("{start} {answer} id \"the first move\";")).unwrap();
            assert_eq!(puzzles[0].answers, ["g1f3"], "{answer}");
            assert_eq!(puzzles[0].id, "the first move");
        }
        let two = parse(&format!("{start} bm Nf3 Nc3; id \"two\";")).unwrap();
        assert_eq!(two[0].answers, ["g1f3", "b1c3"]);
        // The line to the position, as the files of `megaton openings` have it, and others.
        for answer in [
            "c0 \"g1f3 g8f6 f3g1 f6g8\";",
            "bm Nf3 Nc6;",
            "c0 \"e7e5\";",
            "c0;",
        ] {
            let error = parse(&format!("{start} {answer}")).unwrap_err();
            assert_eq!(error, SuiteError::NoAnswer { line: 1 }, "{answer}");
        }
    }

    #[test]
    fn a_line_without_an_answer_is_refused_with_its_number() {
        let error = parse("\n8/8/8/8/8/8/8/K1k5 w - - bm Ka3;").unwrap_err();
        assert_eq!(error, SuiteError::NoAnswer { line: 2 });
    }

    #[test]
    fn a_solved_suite_is_reported_as_such() {
        let mut output = Vec::new();
        let puzzles = parse(LINE).unwrap();
        let report = run(&Evaluator::default(), &puzzles, 200, &mut output).unwrap();
        assert_eq!((report.solved, report.total), (1, 1));
        assert!(String::from_utf8(output).unwrap().contains("1 of 1 solved"));
    }
}
