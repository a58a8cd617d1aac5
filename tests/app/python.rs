//! `megaton export`, read by an independent program: python-chess.
//!
//! `.ci/run` installs it and names its Python in `MEGATON_PYTHON`; without it this says SKIPPED and
//! passes.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use megaton::archive::{
    ArchiveEntry, Database, EndingRecord, FILE_NAME, GameRecord, MoveRecord, Origin, PlayerRecord,
    Source, TimeControlRecord,
};
use megaton::book::{BookFile, Candidate, Graph};
use megaton::engine::Score;
use megaton::lichess::{Side, Speed, Status};
use megaton::rules::{Color, Game, Outcome, Position};
use serde_json::{Value, json};

use super::program::{command, ran};

/// 2026-11-21 13:05:59.
const BEGAN: u64 = 1_795_266_359_000;
/// So many games are written.
const GAMES: u64 = 48;
/// What has not ended after so many half-moves ends in another way.
const LONG: usize = 60;
const SHORT: usize = 6;
/// Where every fourth game begins.
const FEN: &str = "r1bqk2r/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/R1BQK2R w KQkq - 0 5";

/// Reads a file of games and says in JSON what it understood.
const READER: &str = r#"
import json, sys
import chess.pgn

def told(game):
    moves = []
    for node in game.mainline():
        score = node.eval()
        white = None if score is None else score.white()
        in_ms = lambda time: None if time is None else round(time * 1000)
        moves.append({
            "uci": node.move.uci(),
            "clock": in_ms(node.clock()),
            "spent": in_ms(node.emt()),
            "cp": None if white is None else white.score(),
            "mate": None if white is None else white.mate(),
            "depth": node.eval_depth(),
        })
    return {
        "site": game.headers["Site"],
        "variant": game.headers["Variant"],
        "board": type(game.board()).__name__,
        "result": game.headers["Result"],
        "white": game.headers["White"],
        "errors": [str(error) for error in game.errors],
        "moves": moves,
        "last": game.end().board().board_fen(),
    }

games = []
with open(sys.argv[1], encoding="utf-8") as file:
    while (game := chess.pgn.read_game(file)) is not None:
        games.append(told(game))
print(json.dumps(games))
"#;

/// A Python that has python-chess, if there is one; one that was named has to.
fn python() -> Option<String> {
    let named = env::var("MEGATON_PYTHON").ok();
    let python = named.clone().unwrap_or_else(|| "python3".to_owned());
    let tried = Command::new(&python)
        .args(["-c", "import chess.pgn"])
        .output();
    let works = tried.is_ok_and(|tried| tried.status.success());
    assert!(works || named.is_none(), "{python} has no python-chess");
    works.then_some(python)
}

/// A game of random moves with everything that a comment can say, and the pieces that are left.
fn game(number: u64) -> (GameRecord, String) {
    let mut random = fastrand::Rng::with_seed(number);
    let initial_fen = number.is_multiple_of(4).then(|| FEN.to_owned());
    let start = initial_fen
        .as_deref()
        .map_or_else(Position::default, |fen| {
            Position::from_fen(fen).expect("a good position")
        });
    let mut board = Game::from_position(start);
    let most = if number.is_multiple_of(3) {
        SHORT
    } else {
        LONG
    };
    let mut moves: Vec<MoveRecord> = Vec::new();
    while moves.len() < most && board.position().outcome().is_none() {
        let legal = board.position().legal_moves();
        let made = legal[random.usize(..legal.len())];
        let ours = GameRecord::mover(moves.len()) == Side::White;
        let known = if ours {
            annotated(made.to_string(), &mut random)
        } else {
            MoveRecord::bare(made.to_string())
        };
        let ply = moves.len() as u64;
        moves.push(MoveRecord {
            // Whole seconds and parts of them.
            clock: Some(180_000 - 1000 * ply - 13 * (ply % 3)),
            spent: Some(1000 + ply),
            ..known
        });
        board.push(made);
    }
    let ending = ending(board.position().outcome(), number);
    let record = GameRecord {
        id: format!("game{number:04}"),
        white: PlayerRecord {
            id: Some("megaton".to_owned()),
            name: "Megaton".to_owned(),
            title: Some("BOT".to_owned()),
            rating: Some(2000),
            ..PlayerRecord::default()
        },
        black: PlayerRecord {
            id: Some("nuke".to_owned()),
            name: "Nuke".to_owned(),
            ..PlayerRecord::default()
        },
        us: Some(Side::White),
        rated: true,
        speed: Speed::Blitz,
        control: TimeControlRecord::Clock {
            initial: 180_000,
            increment: 0,
        },
        initial_fen,
        created: Some(BEGAN + number * 60_000),
        joined: BEGAN + number * 60_000,
        origin: Origin::Incoming,
        moves,
        ending: ending.map(|(status, winner)| EndingRecord {
            status,
            winner,
            at: BEGAN + number * 60_000 + 50_000,
        }),
        ..GameRecord::default()
    };
    let fen = board.position().fen();
    let men = fen.split(' ').next().unwrap_or_default().to_owned();
    (record, men)
}

/// A move of ours with a score, or out of the tables.
fn annotated(uci: String, random: &mut fastrand::Rng) -> MoveRecord {
    let score = match random.u8(..4) {
        0 => Score::Mate(random.i32(1..30)),
        1 => Score::Mate(random.i32(-30..0)),
        _ => Score::Cp(random.i32(-2000..2000)),
    };
    let source = if random.bool() {
        Source::Engine
    } else {
        Source::Table
    };
    MoveRecord {
        score: Some(score),
        depth: Some(random.u32(1..60)),
        source,
        ..MoveRecord::bare(uci)
    }
}

/// How it ended: by itself, or in one of the other ways; none while it runs.
fn ending(outcome: Option<Outcome>, number: u64) -> Option<(Status, Option<Side>)> {
    match outcome {
        Some(outcome) => {
            let winner = outcome.winner().map(|winner| match winner {
                Color::White => Side::White,
                Color::Black => Side::Black,
            });
            let status = if winner.is_some() {
                Status::VariantEnd
            } else {
                Status::Draw
            };
            Some((status, winner))
        }
        None => match number % 5 {
            0 => Some((Status::Resign, Some(Side::White))),
            1 => Some((Status::OutOfTime, Some(Side::Black))),
            2 => Some((Status::Draw, None)),
            3 => Some((Status::Aborted, None)),
            _ => None,
        },
    }
}

/// What is to be understood of a game.
fn expected(game: &GameRecord, men: &str) -> Value {
    let moves = game.moves.iter().enumerate().map(|(ply, made)| {
        let (cp, mate) = match made.white_score(ply) {
            Some(Score::Cp(cp)) => (Some(cp), None),
            Some(Score::Mate(moves)) => (None, Some(moves)),
            None => (None, None),
        };
        json!({
            "uci": made.uci, "clock": made.clock, "spent": made.spent,
            "cp": cp, "mate": mate, "depth": made.depth,
        })
    });
    json!({
        "site": format!("https://lichess.org/{}", game.id),
        "variant": "Atomic",
        "board": "AtomicBoard",
        "result": game.result(),
        "white": "Megaton",
        "errors": [],
        "moves": moves.collect::<Vec<Value>>(),
        "last": men,
    })
}

fn export(archive: &Path, to: &Path) {
    let mut export = command(&["export", "--archive"]);
    // No config of this machine says where the games were played.
    export.current_dir(to.parent().expect("a folder"));
    let told = ran(export.arg(archive).arg("--out").arg(to));
    assert_eq!(told.status, Some(0), "{}", told.stderr);
    let written = format!("{GAMES} games written");
    assert!(told.stderr.contains(&written), "{}", told.stderr);
}

#[test]
fn python_chess_reads_what_is_exported_as_it_was_played() {
    let Some(python) = python() else {
        let _ = writeln!(
            io::stderr(),
            "SKIPPED python-chess: no python3 with the module chess"
        );
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join(FILE_NAME);
    let games: Vec<(GameRecord, String)> = (0..GAMES).map(game).collect();
    let entries: Vec<ArchiveEntry> = games
        .iter()
        .map(|(game, _)| ArchiveEntry::Game(game.clone().into()))
        .collect();
    let mut disk = Database::open(&archive, BEGAN).expect("an archive");
    disk.commit(&entries).expect("it is written");
    drop(disk);
    let results: Vec<&str> = games.iter().map(|(game, _)| game.result()).collect();
    for result in ["1-0", "0-1", "1/2-1/2", "*"] {
        assert!(results.contains(&result), "no {result} in {results:?}");
    }

    let pgn = folder.path().join("all.pgn");
    export(&archive, &pgn);
    let reader = folder.path().join("reader.py");
    fs::write(&reader, READER).expect("a file");
    let read = Command::new(python).arg(&reader).arg(&pgn).output();
    let read = read.expect("it starts");
    let complaint = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success() && complaint.is_empty(), "{complaint}");
    let understood: Vec<Value> = serde_json::from_slice(&read.stdout).expect("JSON");
    assert_eq!(understood.len(), games.len());
    for (found, (game, men)) in understood.iter().zip(&games) {
        assert_eq!(*found, expected(game, men), "{}", game.id);
    }
}

/// Says in JSON which moves a Polyglot file has for each position.
const BOOK_READER: &str = r#"
import json, sys
import chess.polyglot, chess.variant

fens = json.load(open(sys.argv[2], encoding="utf-8"))
with chess.polyglot.open_reader(sys.argv[1]) as reader:
    boards = map(chess.variant.AtomicBoard, fens)
    print(json.dumps([[it.move.uci() for it in reader.find_all(board)] for board in boards]))
"#;

#[test]
fn an_exported_book_is_understood() {
    let Some(python) = python() else {
        let _ = writeln!(io::stderr(), "SKIPPED: no python-chess");
        return;
    };
    let mut random = fastrand::Rng::with_seed(7);
    let mut graph = Graph::new(Position::default());
    let (mut fens, mut expected) = (Vec::new(), Vec::new());
    for _ in 0..GAMES {
        let mut game = Game::new();
        while game.ply() < LONG && game.position().outcome().is_none() {
            let legal = game.position().legal_moves();
            // Castling and en passant are rare: they are preferred.
            let special = legal.iter().copied().find(|mv| mv.is_special());
            let mv = special.unwrap_or_else(|| legal[random.usize(..legal.len())]);
            if !graph.contains(game.position()) {
                let candidate = Candidate {
                    mv,
                    score: 10,
                    win_in: None,
                    loss_in: None,
                };
                graph.insert(game.position(), &[candidate]);
                fens.push(game.position().fen());
                expected.push(json!([mv.to_string()]));
            }
            game.push(mv);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let [book, positions] = ["book.bin", "fens.json"].map(|name| folder.path().join(name));
    fs::write(&book, BookFile::from_graph(&graph, 0).polyglot()).unwrap();
    fs::write(&positions, Value::from(fens).to_string()).unwrap();
    let script = folder.path().join("read.py");
    fs::write(&script, BOOK_READER).unwrap();
    let ran = ran(Command::new(python).args([script, book, positions]));
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found, Value::from(expected));
}
