//! Parses the output of a UCI program line by line. Pure, and trusts nothing.

use crate::engine::Score;

/// The greatest score; higher ones are clamped.
const MOST_CP: i32 = 31_000;
/// The longest credible mate, in moves.
const LONGEST_MATE: i32 = 400;

/// A line that matters to a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UciLine {
    /// An option of the program.
    Option(String),
    UciOk,
    /// The program has processed all commands.
    ReadyOk,
    /// The current evaluation.
    Info(InfoFields),
    /// The move in the program's spelling.
    BestMove(String),
    Other,
}

/// The relevant fields of an `info` line, as far as present.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InfoFields {
    pub(super) depth: Option<u32>,
    pub(super) nodes: Option<u64>,
    pub(super) score: Option<Score>,
}

impl InfoFields {
    /// Merges a later line.
    pub(super) fn update(&mut self, later: InfoFields) {
        self.depth = later.depth.or(self.depth);
        self.nodes = later.nodes.or(self.nodes);
        self.score = later.score.or(self.score);
    }
}

/// Parses a line.
pub(super) fn read(line: &str) -> UciLine {
    let mut words = line.split_ascii_whitespace();
    match words.next() {
        Some("uciok") => UciLine::UciOk,
        Some("readyok") => UciLine::ReadyOk,
        Some("bestmove") => UciLine::BestMove(words.next().unwrap_or_default().to_owned()),
        Some("option") if words.next() == Some("name") => {
            let name = words.take_while(|&word| word != "type");
            UciLine::Option(name.collect::<Vec<_>>().join(" "))
        }
        Some("info") => UciLine::Info(info(words)),
        _ => UciLine::Other,
    }
}

fn info<'a>(mut words: impl Iterator<Item = &'a str>) -> InfoFields {
    let mut info = InfoFields::default();
    while let Some(word) = words.next() {
        match word {
            "depth" => info.depth = words.next().and_then(|word| word.parse().ok()),
            "nodes" => info.nodes = words.next().and_then(|word| word.parse().ok()),
            "score" => {
                let (kind, value) = (words.next(), words.next());
                let value = value.and_then(|word| word.parse::<i32>().ok());
                info.score = match (kind, value) {
                    (Some("cp"), Some(cp)) => Some(Score::Cp(cp.clamp(-MOST_CP, MOST_CP))),
                    (Some("mate"), Some(moves)) => {
                        Some(Score::Mate(moves.clamp(-LONGEST_MATE, LONGEST_MATE)))
                    }
                    _ => None,
                };
            }
            // Not the best line: ignored.
            "multipv" if words.next() != Some("1") => return InfoFields::default(),
            // The rest is moves or free text.
            "pv" | "string" => break,
            _ => {}
        }
    }
    info
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_lines_of_a_session_are_understood() {
        assert_eq!(read("id name Fairy-Stockfish 14"), UciLine::Other);
        assert_eq!(
            read("option name Use NNUE type check default true"),
            UciLine::Option("Use NNUE".to_owned())
        );
        assert_eq!(read("  uciok "), UciLine::UciOk);
        assert_eq!(read("readyok"), UciLine::ReadyOk);
        let best = |text: &str| UciLine::BestMove(text.to_owned());
        assert_eq!(read("bestmove e2e4 ponder e7e5"), best("e2e4"));
        assert_eq!(read("bestmove"), best(""));
        for noise in [
            "",
            "id author x",
            "info string x",
            "Hello",
            "registration ok",
        ] {
            assert!(matches!(
                read(noise),
                UciLine::Other
                    | UciLine::Info(InfoFields {
                        depth: None,
                        nodes: None,
                        score: None
                    })
            ));
        }
    }

    #[test]
    fn depth_nodes_and_score_of_an_info_line_are_kept() {
        let line = "info depth 12 seldepth 20 multipv 1 score cp -35 upperbound nodes 4711 nps 9 \
                    pv depth 3 nodes 4";
        let info = InfoFields {
            depth: Some(12),
            nodes: Some(4711),
            score: Some(Score::Cp(-35)),
        };
        assert_eq!(read(line), UciLine::Info(info));
        let mate = read("info depth 3 score mate -2 nodes 9");
        assert!(matches!(mate, UciLine::Info(info) if info.score == Some(Score::Mate(-2))));
        let second = read("info depth 3 multipv 2 score cp 900 nodes 9");
        assert_eq!(second, UciLine::Info(InfoFields::default()));
        let mut kept = info;
        kept.update(InfoFields {
            nodes: Some(5000),
            ..InfoFields::default()
        });
        assert_eq!((kept.nodes, kept.score), (Some(5000), Some(Score::Cp(-35))));
    }

    proptest! {
        #[test]
        fn no_line_causes_a_panic(line in ".*") {
            read(&line);
        }

        #[test]
        fn no_sequence_of_words_causes_a_panic(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "info", "depth", "nodes", "score", "cp", "mate", "multipv", "1", "-1",
                    "99999999999999999999", "pv", "bestmove", "option", "name", "type", "id",
                ]),
                0..12,
            )
        ) {
            read(&words.join(" "));
        }
    }
}
