//! Data written by our own generator and committed, so that the tests mean something where the
//! recorded data is absent: a change of behaviour shows as a difference.
//!
//! The generator below checks every position against shakmaty and the slow implementation before it
//! writes it; the games are replayed by our own rules alone. To write the files anew (they change
//! only with the seed or the format):
//! `cargo test --test rules -- --ignored write_our_own_data`

use std::io::Write;
use std::path::PathBuf;

use fastrand::Rng;
use megaton::rules::{Draw, Game, Outcome, Position, RepetitionRule, Win};
use serde::{Deserialize, Serialize};

use crate::properties::quiet_attacks_agree;
use crate::{differential, sampling};

const SEED: u64 = 20_261_121;
const POSITIONS: usize = 400;
const GAMES: usize = 40;

#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct PositionRow {
    fen: String,
    moves: String,
    outcome: Option<String>,
    check: bool,
    insufficient: bool,
    perft: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq)]
struct GameRow {
    moves: String,
    san: String,
    outcome: Option<String>,
    first_threefold_ply: Option<usize>,
    final_fen: String,
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/rules")).join(name)
}

fn name(outcome: Outcome) -> String {
    let how = match outcome {
        Outcome::Win {
            by: Win::Explosion, ..
        } => "explosion",
        Outcome::Win { by: Win::Mate, .. } => "mate",
        Outcome::Draw(Draw::Stalemate) => "stalemate",
        Outcome::Draw(Draw::Insufficient) => "insufficient",
        Outcome::Draw(Draw::FiftyMoves) => "fifty moves",
        Outcome::Draw(Draw::Threefold) => "threefold",
        Outcome::Draw(Draw::Fivefold) => "fivefold",
        Outcome::Draw(Draw::PlyCap) => "ply cap",
    };
    format!("{} {how}", outcome.result())
}

fn position_row(position: &Position) -> PositionRow {
    let mut moves: Vec<String> = position
        .legal_moves()
        .iter()
        .map(ToString::to_string)
        .collect();
    moves.sort();
    PositionRow {
        fen: position.fen(),
        moves: moves.join(" "),
        outcome: position.outcome().map(name),
        check: position.in_check(),
        insufficient: position.insufficient_material(),
        perft: (1..=3).map(|depth| position.perft(depth)).collect(),
    }
}

fn game_row(moves: &str) -> GameRow {
    let mut game = Game::new();
    let mut san = Vec::new();
    let mut first_threefold_ply = None;
    for uci in moves.split(' ') {
        let mv = game.position().parse_uci(uci).expect("a legal move");
        san.push(game.position().san(mv));
        assert_eq!(game.position().parse_san(&san[game.ply()]), Ok(mv));
        game.push(mv);
        if game.repetitions() >= 3 && first_threefold_ply.is_none() {
            first_threefold_ply = Some(game.ply());
        }
    }
    GameRow {
        moves: moves.to_owned(),
        san: san.join(" "),
        outcome: game.outcome(RepetitionRule::Threefold).map(name),
        first_threefold_ply,
        final_fen: game.position().fen(),
    }
}

#[test]
fn our_positions_replay() {
    let text = std::fs::read_to_string(path("positions.jsonl")).expect("the data is committed");
    for line in text.lines() {
        let row: PositionRow = serde_json::from_str(line).expect("a row");
        let position = Position::from_fen(&row.fen).expect("a good FEN");
        assert_eq!(position_row(&position), row);
    }
    assert_eq!(text.lines().count(), POSITIONS);
}

#[test]
fn our_games_replay() {
    let text = std::fs::read_to_string(path("games.jsonl")).expect("the data is committed");
    for line in text.lines() {
        let row: GameRow = serde_json::from_str(line).expect("a row");
        assert_eq!(game_row(&row.moves), row);
    }
    assert_eq!(text.lines().count(), GAMES);
}

#[test]
fn attacks_of_quiet_moves_agree_in_our_positions_and_games() {
    let text = std::fs::read_to_string(path("positions.jsonl")).expect("the data is committed");
    for line in text.lines() {
        let row: PositionRow = serde_json::from_str(line).expect("a row");
        let position = Position::from_fen(&row.fen).expect("a good FEN");
        quiet_attacks_agree(&position);
        for mv in position.legal_moves() {
            quiet_attacks_agree(&position.play(mv));
        }
    }
    let text = std::fs::read_to_string(path("games.jsonl")).expect("the data is committed");
    for line in text.lines() {
        let row: GameRow = serde_json::from_str(line).expect("a row");
        let mut position = Position::default();
        for uci in row.moves.split(' ') {
            quiet_attacks_agree(&position);
            position = position.play(position.parse_uci(uci).expect("a legal move"));
        }
    }
}

#[test]
#[ignore = "writes tests/data/rules, by hand only"]
fn write_our_own_data() {
    let mut rng = Rng::with_seed(SEED);
    std::fs::create_dir_all(path("")).expect("a writable checkout");
    let mut file = std::fs::File::create(path("positions.jsonl")).expect("a writable file");
    for position in &chosen_positions(&mut rng) {
        let row = position_row(position);
        if let Ok(twin) = differential::read(&row.fen) {
            differential::compare(position, &twin);
            differential::compare_children(position, &twin);
            let counts: Vec<u64> = (1..=3).map(|depth| shakmaty::perft(&twin, depth)).collect();
            assert_eq!(row.perft, counts, "{}", row.fen);
        } else {
            assert_eq!(row.perft, [0, 0, 0], "{}", row.fen);
        }
        writeln!(file, "{}", serde_json::to_string(&row).expect("plain data")).expect("written");
    }
    let mut file = std::fs::File::create(path("games.jsonl")).expect("a writable file");
    for _ in 0..GAMES {
        let game = finished_game(&mut rng);
        let moves: Vec<String> = game.moves().iter().map(ToString::to_string).collect();
        let row = serde_json::to_string(&game_row(&moves.join(" "))).expect("plain data");
        writeln!(file, "{row}").expect("written");
    }
}

/// A random game up to its end by itself, if it comes within 240 half-moves.
fn finished_game(rng: &mut Rng) -> Game {
    let mut game = Game::new();
    for mv in sampling::random_game(240, rng) {
        if game.outcome(RepetitionRule::Threefold).is_some() {
            break;
        }
        game.push(mv);
    }
    game
}

/// A quarter from the midst of games, a quarter their ends, half placed.
fn chosen_positions(rng: &mut Rng) -> Vec<Position> {
    let quarter = POSITIONS / 4;
    let mut positions: Vec<Position> = sampling::from_games(quarter * 100, rng)
        .into_iter()
        .step_by(100)
        .collect();
    positions.extend((0..quarter).map(|_| *finished_game(rng).position()));
    positions.extend(sampling::from_placements(POSITIONS - 2 * quarter, rng));
    positions
}
