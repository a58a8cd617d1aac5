//! Every row of the recorded data beside the project, where it is present.

use std::fmt::Debug;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use megaton::rules::{Draw, Game, Outcome, Position, RepetitionRule, Win};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Opens a recorded file, or says that the test is skipped.
fn recorded(name: &str) -> Option<Box<dyn Read>> {
    let root = std::env::var_os("MEGATON_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")),
        Into::into,
    );
    let path = root.join("positions").join(name);
    let Ok(file) = File::open(&path) else {
        let _ = writeln!(std::io::stderr(), "SKIPPED {name}: not beside the project");
        return None;
    };
    if path.extension().is_some_and(|extension| extension == "gz") {
        Some(Box::new(GzDecoder::new(file)))
    } else {
        Some(Box::new(file))
    }
}

fn rows<T: DeserializeOwned>(name: &str) -> Option<Vec<T>> {
    let lines = BufReader::new(recorded(name)?).lines();
    Some(
        lines
            .map(|line| serde_json::from_str(&line.expect("a readable line")).expect("a row"))
            .collect(),
    )
}

/// The word for an outcome in the recorded data.
fn word(outcome: Option<Outcome>) -> Option<&'static str> {
    Some(match outcome? {
        Outcome::Win { winner, .. } => match winner {
            megaton::rules::Color::White => "white",
            megaton::rules::Color::Black => "black",
        },
        Outcome::Draw(Draw::Stalemate) => "draw-stalemate",
        Outcome::Draw(Draw::Insufficient) => "draw-insufficient",
        Outcome::Draw(Draw::FiftyMoves) => "draw-fifty-moves",
        Outcome::Draw(_) => "draw-history",
    })
}

fn sorted_moves(position: &Position) -> Vec<String> {
    let mut moves: Vec<String> = position
        .legal_moves()
        .iter()
        .map(ToString::to_string)
        .collect();
    moves.sort();
    moves
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "callers hand in what they have just made"
)]
fn same<T: PartialEq + Debug>(what: &str, fen: &str, ours: T, theirs: T) {
    assert!(
        ours == theirs,
        "{what} of {fen}\n  ours     {ours:?}\n  expected {theirs:?}"
    );
}

#[derive(Deserialize)]
struct LegalMoves {
    fen: String,
    moves: Vec<String>,
    outcome: Option<String>,
    check: bool,
    insufficient: bool,
}

#[test]
fn every_recorded_move_list_replays() {
    let Some(rows) = rows::<LegalMoves>("legal-moves.jsonl.gz") else {
        return;
    };
    assert_eq!(rows.len(), 20_000);
    for row in rows {
        let position = Position::from_fen(&row.fen).unwrap();
        same("fen", &row.fen, position.fen(), row.fen.clone());
        same("moves", &row.fen, sorted_moves(&position), row.moves);
        same(
            "outcome",
            &row.fen,
            word(position.outcome()),
            row.outcome.as_deref(),
        );
        same("check", &row.fen, position.in_check(), row.check);
        same(
            "insufficient",
            &row.fen,
            position.insufficient_material(),
            row.insufficient,
        );
    }
}

#[derive(Deserialize)]
struct RecordedGame {
    result: String,
    termination: String,
    plies: usize,
    repetition_rule: u8,
    first_threefold_ply: Option<usize>,
    final_fen: String,
    moves: String,
    san: String,
}

#[test]
fn every_recorded_game_replays() {
    let Some(rows) = rows::<RecordedGame>("games.jsonl.gz") else {
        return;
    };
    assert_eq!(rows.len(), 2_000);
    for row in rows {
        let rule = match row.repetition_rule {
            3 => RepetitionRule::Threefold,
            _ => RepetitionRule::Fivefold,
        };
        let mut game = Game::new();
        let mut first_threefold = None;
        for (uci, san) in row.moves.split(' ').zip(row.san.split(' ')) {
            assert_eq!(game.outcome(rule), None, "{}", row.moves);
            let mv = game.position().parse_uci(uci).unwrap();
            assert_eq!(game.position().san(mv), san, "{}", game.position());
            assert_eq!(
                game.position().parse_san(san),
                Ok(mv),
                "{}",
                game.position()
            );
            game.push(mv);
            if game.repetitions() >= 3 && first_threefold.is_none() {
                first_threefold = Some(game.ply());
            }
        }
        let outcome = game.outcome(rule).expect("the game is over");
        let termination = match outcome {
            Outcome::Win {
                by: Win::Explosion, ..
            } => "explosion",
            Outcome::Win { by: Win::Mate, .. } => "checkmate",
            Outcome::Draw(Draw::Stalemate) => "stalemate",
            Outcome::Draw(Draw::Insufficient) => "insufficient",
            Outcome::Draw(Draw::FiftyMoves) => "fifty-moves",
            Outcome::Draw(Draw::Threefold) => "threefold",
            Outcome::Draw(Draw::Fivefold) => "fivefold",
            Outcome::Draw(Draw::PlyCap) => "ply cap",
        };
        let fen = &row.final_fen;
        same("termination", fen, termination, row.termination.as_str());
        same("result", fen, outcome.result(), row.result.as_str());
        same("plies", fen, game.ply(), row.plies);
        same(
            "first threefold",
            fen,
            first_threefold,
            row.first_threefold_ply,
        );
        same("final fen", fen, game.position().fen(), fen.clone());
    }
}

#[derive(Deserialize)]
struct Perft {
    fen: String,
    perft: Vec<u64>,
}

#[test]
fn every_recorded_perft_matches() {
    let Some(file) = recorded("perft.json") else {
        return;
    };
    let rows: Vec<Perft> = serde_json::from_reader(file).unwrap();
    assert_eq!(rows.len(), 40);
    for row in rows {
        let position = Position::from_fen(&row.fen).unwrap();
        for (depth, &nodes) in (1..).zip(&row.perft) {
            same(
                "perft",
                &row.fen,
                (depth, position.perft(depth)),
                (depth, nodes),
            );
        }
    }
}

#[derive(Deserialize)]
struct RuleCase {
    note: String,
    fen: String,
    moves: Vec<String>,
    last_move_legal: bool,
    #[serde(default)]
    san: Vec<String>,
    fen_after: Option<String>,
    check_after: Option<bool>,
    outcome_after: Option<String>,
    fen_before_last: Option<String>,
}

#[test]
fn every_rule_case_matches() {
    let Some(rows) = rows::<RuleCase>("rule-cases.jsonl") else {
        return;
    };
    assert_eq!(rows.len(), 182);
    for row in rows {
        let mut position = Position::from_fen(&row.fen).unwrap();
        let (last, before) = row.moves.split_last().unwrap();
        let mut san = Vec::new();
        for uci in before {
            let mv = position.parse_uci(uci).unwrap();
            san.push(position.san(mv));
            position = position.play(mv);
        }
        let judged = position.parse_uci(last);
        assert_eq!(
            judged.is_ok(),
            row.last_move_legal,
            "{}: {last} in {position}",
            row.note
        );
        if let Ok(mv) = judged {
            san.push(position.san(mv));
            let gives_check = position.gives_check(mv);
            position = position.play(mv);
            same("san", &row.fen, san, row.san);
            same("fen after", &row.fen, Some(position.fen()), row.fen_after);
            same(
                "check after",
                &row.fen,
                Some(position.in_check()),
                row.check_after,
            );
            same("gives check", &row.fen, Some(gives_check), row.check_after);
            same(
                "outcome after",
                &row.fen,
                word(position.outcome()),
                row.outcome_after.as_deref(),
            );
        } else if let Some(fen) = row.fen_before_last {
            same("fen before", &row.fen, position.fen(), fen);
        }
    }
}

#[derive(Deserialize)]
struct FenCase {
    fen: String,
    canonical: String,
    moves: Vec<String>,
    outcome: Option<String>,
    check: bool,
}

#[test]
fn every_fen_case_matches() {
    let Some(rows) = rows::<FenCase>("fen-cases.jsonl") else {
        return;
    };
    assert_eq!(rows.len(), 14);
    for row in rows {
        let position = Position::from_fen(&row.fen).unwrap();
        same("canonical", &row.fen, position.fen(), row.canonical);
        same("moves", &row.fen, sorted_moves(&position), row.moves);
        same(
            "outcome",
            &row.fen,
            word(position.outcome()),
            row.outcome.as_deref(),
        );
        same("check", &row.fen, position.in_check(), row.check);
    }
}
