//! Endgame tables: the adapter's answers, the choice at the root, play to the end, with Syzygy files
//! and with the built-in tables; and how the search does without them.
//!
//! The Syzygy files and the 400 positions are shared data; without them what needs them is skipped.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::engine::{
    Clock, Dtz, Engine, EngineOptions, Evaluator, Limits, Pool, Score, SingleThread,
    TablebaseProbe, Tablebases, Wdl,
};
use megaton::rules::{Draw, Game, Move, Outcome, Position, RepetitionRule, Role};
use megaton::tablebase::{BuiltIn, OutcomeTables, Syzygy, tablebases};

use crate::{GUARD, answer, clock, game};

/// A move may be worse than the tables' verdict in so many of a thousand positions, without tables
/// and at [`NODES`] nodes.
const MISSED_PER_MILLE: usize = 120;
const NODES: u64 = 1000;

/// One line of the shared positions.
#[derive(serde::Deserialize)]
struct Row {
    fen: String,
    wdl: i32,
    dtz: i32,
    best: Vec<String>,
}

impl Row {
    fn position(&self) -> Position {
        Position::from_fen(&self.fen).expect("a legal position")
    }

    fn is_best(&self, mv: Move) -> bool {
        self.best.contains(&mv.to_string())
    }
}

/// The shared folder of tables and its positions.
fn shared() -> Option<(PathBuf, Vec<Row>)> {
    let shared = std::env::var_os("MEGATON_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")),
        PathBuf::from,
    );
    let folder = shared.join("syzygy");
    let Ok(text) = fs::read_to_string(folder.join("positions.jsonl")) else {
        // Where stderr is closed there is no one to tell.
        let _ = std::io::stderr().write_all(b"SKIPPED the endgame tables: no shared data\n");
        return None;
    };
    let rows = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row"));
    Some((folder, rows.collect()))
}

fn open(folder: &std::path::Path) -> Arc<Syzygy> {
    Arc::new(Syzygy::open(&[folder.join("atomic")]).expect("tables"))
}

fn searcher(tables: Option<Tablebases>) -> SingleThread {
    SingleThread::new(&EngineOptions {
        hash_mb: 1,
        tables,
        ..EngineOptions::default()
    })
}

fn choice(searcher: &mut SingleThread, game: &Game, nodes: u64) -> (Move, Score) {
    let result = searcher.think(game, &Limits::nodes(nodes));
    (result.best.expect("a move"), result.score)
}

#[test]
fn every_shared_position_is_probed_as_it_stands_in_the_file() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let tables = open(&folder);
    assert_eq!(
        tables.found().to_string(),
        "35 WDL and 35 DTZ tables, up to 4 pieces"
    );
    assert_eq!(rows.len(), 400);
    for row in &rows {
        let position = row.position();
        let wdl = tables.wdl(&position).map(|wdl| wdl as i32);
        let dtz = tables.dtz(&position).map(|dtz| dtz.plies);
        assert_eq!((wdl, dtz), (Some(row.wdl), Some(row.dtz)), "{}", row.fen);
    }
}

#[test]
fn an_incomplete_set_answers_what_it_can() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let tables = Syzygy::open(&[folder.join("atomic5"), folder.join("atomic")]).unwrap();
    assert_eq!(tables.most_pieces(), 5);
    let probe = |fen: &str| tables.wdl(&Position::from_fen(fen).unwrap());
    assert_eq!(probe("7k/8/8/8/8/8/8/KBBB4 w - - 0 1"), Some(Wdl::Win));
    assert_eq!(probe("7k/8/8/8/8/8/8/KQBB4 w - - 0 1"), None);
    assert_eq!(probe("6qk/8/8/8/8/8/8/KBBB4 w - - 0 1"), None);
    assert!(rows.iter().all(|row| tables.dtz(&row.position()).is_some()));
}

#[test]
fn with_tables_the_move_is_among_the_best() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let mut searcher = searcher(Some(Tablebases::new(open(&folder))));
    for row in &rows {
        let game = Game::from_position(row.position());
        let (best, score) = choice(&mut searcher, &game, 200);
        assert!(row.is_best(best), "{}: {best}, not {:?}", row.fen, row.best);
        let told = match row.wdl {
            2 => score.centipawns() > 29_000,
            -2 => score.centipawns() < -29_000,
            verdict => score == Score::Cp(verdict),
        };
        assert!(told, "{}: {score}, but {}", row.fen, row.wdl);
    }
}

#[test]
fn outcomes_without_distances_keep_the_verdict() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let outcomes = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder.join("atomic")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "atbw") {
            fs::copy(&path, outcomes.path().join(path.file_name().unwrap())).unwrap();
        }
    }
    let tables = Arc::new(Syzygy::open(&[outcomes.path()]).unwrap());
    let mut searcher = searcher(Some(Tablebases::new(Arc::clone(&tables) as _)));
    // A quiet move may leave too few of the fifty moves: that, outcomes do not tell.
    for row in rows.iter().filter(|row| row.dtz.abs() < 90) {
        let game = Game::from_position(row.position());
        assert_eq!(tables.dtz(game.position()), None);
        let (best, _) = choice(&mut searcher, &game, 200);
        let child = game.position().play(best);
        let after = match child.outcome() {
            Some(Outcome::Win { .. }) => 2,
            Some(Outcome::Draw(_)) => 0,
            None => -(tables.wdl(&child).unwrap() as i32),
        };
        assert!(after >= row.wdl, "{}: {best}", row.fen);
    }
}

/// What the side that defends plays.
#[derive(Clone, Copy, Debug)]
enum Defence {
    /// The move that puts the next capture, pawn move or mate off longest.
    Stubborn,
    Random,
}

fn defend(position: &Position, defence: Defence, tables: &Syzygy, rng: &mut fastrand::Rng) -> Move {
    let moves = position.legal_moves();
    let random = fastrand::Rng::choice(rng, moves.iter().copied()).expect("a move");
    if matches!(defence, Defence::Random) {
        return random;
    }
    // The child's distance is the winner's: the longest is best, and a loss of its own worst.
    let distance = |mv: Move| {
        let child = position.play(mv);
        match child.outcome() {
            Some(Outcome::Win { .. }) => 1000,
            Some(Outcome::Draw(_)) => 500,
            None => match tables.dtz(&child).expect("a complete set").plies {
                won if won > 0 && child.halfmove_clock() == 0 => 0,
                won if won > 0 => won,
                _ => 500,
            },
        }
    };
    moves
        .into_iter()
        .max_by_key(|&mv| distance(mv))
        .expect("a move")
}

#[test]
fn won_endings_are_won_within_the_fifty_moves() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let tables = open(&folder);
    let mut searcher = searcher(Some(Tablebases::new(Arc::clone(&tables) as _)));
    let mut rng = fastrand::Rng::with_seed(7);
    let won: Vec<&Row> = rows.iter().filter(|row| row.wdl == 2).collect();
    assert_eq!(won.len(), 195);
    for row in won {
        for defence in [Defence::Stubborn, Defence::Random] {
            let mut game = Game::from_position(row.position());
            let us = game.position().turn();
            let outcome = loop {
                if let Some(outcome) = game.outcome(RepetitionRule::Threefold) {
                    break outcome;
                }
                let mv = if game.position().turn() == us {
                    choice(&mut searcher, &game, 30).0
                } else {
                    defend(game.position(), defence, &tables, &mut rng)
                };
                game.push(mv);
            };
            let line = || {
                let moves: Vec<String> = game.moves().iter().map(Move::to_string).collect();
                moves.join(" ")
            };
            assert_eq!(
                outcome.winner(),
                Some(us),
                "{} {defence:?}: {}",
                row.fen,
                line()
            );
        }
    }
}

#[test]
fn drawn_endings_are_not_lost() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let tables = open(&folder);
    let mut searcher = searcher(Some(Tablebases::new(Arc::clone(&tables) as _)));
    let mut rng = fastrand::Rng::with_seed(8);
    for row in rows.iter().filter(|row| row.wdl.abs() < 2) {
        let mut game = Game::from_position(row.position());
        let us = game.position().turn();
        for _ in 0..12 {
            if game.outcome(RepetitionRule::Threefold).is_some() {
                break;
            }
            let mv = if game.position().turn() == us {
                choice(&mut searcher, &game, 30).0
            } else {
                defend(game.position(), Defence::Stubborn, &tables, &mut rng)
            };
            game.push(mv);
        }
        let lost = game
            .outcome(RepetitionRule::Threefold)
            .is_some_and(|outcome| outcome.winner() == Some(!us));
        assert!(!lost, "{}", row.fen);
    }
}

/// A queen against a bare king, with 98 half-moves gone: only a win at once is one.
#[test]
fn the_fifty_move_rule_counts_at_the_root_and_can_be_switched_off() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let tables = Tablebases::new(open(&folder));
    let far = rows.iter().filter(|row| row.wdl == 2 && row.dtz > 20);
    for row in far.take(10) {
        let late = row.fen.replace(" 0 1", " 90 100");
        let game = || Game::from_position(Position::from_fen(&late).unwrap());
        let (_, score) = choice(&mut searcher(Some(tables.clone())), &game(), 100);
        assert_eq!(score, Score::Cp(1), "{late}");
        let unruled = tables.clone().with_fifty_moves(false);
        let (_, score) = choice(&mut searcher(Some(unruled)), &game(), 100);
        assert!(score.centipawns() > 29_000, "{late}: {score}");
    }
}

#[test]
fn a_win_that_stood_twice_is_not_repeated() {
    let Some((folder, rows)) = shared() else {
        return;
    };
    let mut searcher = searcher(Some(Tablebases::new(open(&folder))));
    let row = rows
        .iter()
        .filter(|row| row.wdl == 2 && row.dtz > 10)
        .find(|row| {
            let mut game = Game::from_position(row.position());
            shuffle(&mut game, &mut searcher).is_some()
        });
    assert!(row.is_some(), "some position can be shuffled back to");
}

/// Play the engine's choice and take it back by shuffling until it would be the third time; the
/// engine must then choose otherwise.
fn shuffle(game: &mut Game, searcher: &mut SingleThread) -> Option<()> {
    let (first, _) = choice(searcher, game, 30);
    let back = |position: &Position, mv: Move| {
        let back = format!("{}{}", mv.to(), mv.from());
        position.parse_uci(&back).ok()
    };
    let child = game.position().play(first);
    let reply = child.legal_moves().into_iter().find(|&mv| {
        let after = child.play(mv);
        back(&after, first).is_some_and(|ours| {
            let later = after.play(ours);
            back(&later, mv).is_some_and(|theirs| later.play(theirs).key() == game.position().key())
        })
    })?;
    for _ in 0..2 {
        game.push(first);
        game.push(reply);
        let ours = back(game.position(), first)?;
        game.push(ours);
        let theirs = back(game.position(), reply)?;
        game.push(theirs);
        if game.outcome(RepetitionRule::Threefold).is_some() {
            break;
        }
    }
    let (again, score) = choice(searcher, game, 30);
    let mut next = game.clone();
    next.push(again);
    assert_ne!(
        next.outcome(RepetitionRule::Threefold),
        Some(Outcome::Draw(Draw::Threefold)),
        "{again} {score}"
    );
    Some(())
}

fn with_built_in() -> SingleThread {
    searcher(tablebases(BuiltIn::On, None))
}

/// How a game goes on if the built-in tables play against the longest defence, or a random one.
fn played_out(fen: &str, nodes: u64, defence: Defence) -> Outcome {
    let (mut searcher, tables) = (with_built_in(), OutcomeTables::built_in());
    let mut rng = fastrand::Rng::with_seed(7);
    let mut game = Game::from_position(Position::from_fen(fen).expect("a legal position"));
    let us = game.position().turn();
    loop {
        if let Some(outcome) = game.outcome(RepetitionRule::Threefold) {
            return outcome;
        }
        let position = game.position();
        let moves = position.legal_moves();
        let distance = |mv: &Move| {
            let child = position.play(*mv);
            match child.outcome() {
                Some(_) => 0,
                None if child.halfmove_clock() == 0 => 1,
                None => tables
                    .computed_dtz(&child, &|| false)
                    .map_or(0, |dtz| dtz.plies),
            }
        };
        let mv = match defence {
            _ if position.turn() == us => choice(&mut searcher, &game, nodes).0,
            Defence::Stubborn => moves.into_iter().max_by_key(distance).expect("a move"),
            Defence::Random => rng.choice(moves).expect("a move"),
        };
        game.push(mv);
    }
}

/// Tables that know who wins, and whose distances are never ready.
#[derive(Debug)]
struct EndlessTables;

impl TablebaseProbe for EndlessTables {
    fn most_pieces(&self) -> usize {
        4
    }

    fn wdl(&self, position: &Position) -> Option<Wdl> {
        let has_queen = position.us().intersects(position.by_role(Role::Queen));
        Some(if has_queen { Wdl::Win } else { Wdl::Loss })
    }

    fn dtz(&self, _: &Position) -> Option<Dtz> {
        None
    }

    fn computed_dtz(&self, _: &Position, gives_up: &dyn Fn() -> bool) -> Option<Dtz> {
        while !gives_up() {
            std::thread::yield_now();
        }
        None
    }
}

fn with_endless_tables() -> Engine {
    let options = EngineOptions {
        tables: Some(Tablebases::new(Arc::new(EndlessTables))),
        ..EngineOptions::default()
    };
    Pool::new(&options).lease()
}

fn won_ending() -> Game {
    game("8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1")
}

#[test]
fn a_deadline_holds_while_distances_are_computed() {
    let (engine, begun) = (with_endless_tables(), Instant::now());
    let limits = Limits {
        hard_deadline: Some(begun + Duration::from_millis(50)),
        ..clock(600_000)
    };
    let search = engine.think(&won_ending(), limits);
    assert!(answer(&search).best.is_some());
    assert!(begun.elapsed() < GUARD / 4, "{:?}", begun.elapsed());
}

#[test]
fn a_search_stops_while_distances_are_computed() {
    let (engine, begun) = (with_endless_tables(), Instant::now());
    let search = engine.think(&won_ending(), Limits::nodes(1_000));
    search.stop();
    assert!(answer(&search).best.is_some());
    assert!(begun.elapsed() < GUARD / 4, "{:?}", begun.elapsed());
}

/// Both sides on a clock: the winner computes distances while its clock runs.
#[test]
#[ignore = "plays up to a minute of real time"]
fn a_won_ending_is_won_over_a_real_clock() {
    for fen in [
        "8/8/1k6/8/6p1/2K3R1/8/8 w - - 0 1",
        "8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1",
    ] {
        let options = EngineOptions {
            tables: tablebases(BuiltIn::On, None),
            ..EngineOptions::default()
        };
        let engine = Pool::new(&options).lease();
        let mut game = game(fen);
        let us = game.position().turn();
        let (mut left, increment) = (Duration::from_secs(10), Duration::from_millis(100));
        let mut rng = fastrand::Rng::with_seed(7);
        let outcome = loop {
            if let Some(outcome) = game.outcome(RepetitionRule::Threefold) {
                break outcome;
            }
            let mv = if game.position().turn() == us {
                let begun = Instant::now();
                let limits = Limits {
                    clock: Some(Clock {
                        time: left,
                        increment,
                        moves_to_go: None,
                        overhead: Duration::ZERO,
                    }),
                    ..Limits::default()
                };
                let result = answer(&engine.think(&game, limits));
                left = left.checked_sub(begun.elapsed()).expect("the flag stands");
                left += increment;
                result.best.expect("a move")
            } else {
                rng.choice(game.position().legal_moves()).expect("a move")
            };
            game.push(mv);
        };
        assert_eq!(
            outcome.winner(),
            Some(us),
            "{fen}: {outcome:?}, {left:?} left"
        );
    }
}

#[test]
fn built_in_tables_win_within_the_fifty_moves_without_files() {
    for fen in [
        "8/8/4k3/8/8/3K4/8/3Q4 w - - 0 1",
        "8/8/4k3/8/8/3K4/6PP/8 w - - 0 1",
        // The longest there is: 96 plies to the next capture, pawn move or mate.
        "8/8/1k6/8/6p1/2K3R1/8/8 w - - 0 1",
    ] {
        let us = Position::from_fen(fen).unwrap().turn();
        for defence in [Defence::Stubborn, Defence::Random] {
            let outcome = played_out(fen, 30, defence);
            assert_eq!(outcome.winner(), Some(us), "{fen} {defence:?}: {outcome:?}");
        }
    }
}

/// Lost on the board, drawn by the count: only some moves reach the hundredth half-move.
#[test]
fn a_lost_ending_is_held_by_the_fifty_moves_with_built_in_tables() {
    for (fen, saving) in [
        ("8/8/1r5K/1P6/8/8/2k5/8 w - - 4 99", &["h6h5", "h6g5"][..]),
        ("8/7r/8/6K1/8/k4P2/8/8 w - - 78 80", &["g5f4"]),
        ("6q1/3q4/8/8/8/8/5Kk1/8 w - - 87 99", &[]),
    ] {
        let game = Game::from_position(Position::from_fen(fen).unwrap());
        let (best, score) = choice(&mut with_built_in(), &game, 2000);
        assert_eq!(score, Score::Cp(-1), "{fen}: {best}");
        let told = saving.is_empty() || saving.contains(&best.to_string().as_str());
        assert!(told, "{fen}: {best}");
    }
}

#[test]
fn with_built_in_tables_the_move_is_among_the_best() {
    let Some((_, rows)) = shared() else { return };
    let mut searcher = with_built_in();
    let with_pawns = rows
        .iter()
        .filter(|row| row.fen.to_lowercase().contains('p'));
    for row in with_pawns.step_by(40) {
        let game = Game::from_position(row.position());
        let (best, score) = choice(&mut searcher, &game, 200);
        assert!(row.is_best(best), "{}: {best}, not {:?}", row.fen, row.best);
        let told = score.centipawns();
        assert_eq!(
            (told / 29_000).signum(),
            row.wdl / 2,
            "{}: {score}",
            row.fen
        );
    }
}

#[test]
#[ignore = "takes minutes: every slice is solved"]
fn with_built_in_tables_no_move_is_worse_at_many_nodes() {
    let Some((_, rows)) = shared() else { return };
    let mut searcher = with_built_in();
    let is_worse = |row: &&Row| {
        let game = Game::from_position(row.position());
        searcher.new_game();
        !row.is_best(choice(&mut searcher, &game, 100_000).0)
    };
    let worse: Vec<&str> = rows
        .iter()
        .filter(is_worse)
        .map(|row| row.fen.as_str())
        .collect();
    assert_eq!(worse, [""; 0], "{} of {}", worse.len(), rows.len());
}

#[test]
#[ignore = "takes minutes: every slice is solved"]
fn all_won_endings_are_won_with_built_in_tables() {
    let Some((_, rows)) = shared() else { return };
    for row in rows.iter().filter(|row| row.wdl == 2) {
        for defence in [Defence::Stubborn, Defence::Random] {
            let outcome = played_out(&row.fen, 30, defence);
            assert_eq!(outcome.winner(), Some(row.position().turn()), "{}", row.fen);
        }
    }
}

/// The search alone: how often its move is worse than what the tables know.
#[test]
fn without_tables_few_moves_are_worse_than_the_verdict() {
    let Some((_, rows)) = shared() else { return };
    let mut searcher = searcher(None);
    let mut missed = [0; 5];
    for row in &rows {
        searcher.new_game();
        let game = Game::from_position(row.position());
        let (best, _) = choice(&mut searcher, &game, NODES);
        if !row.is_best(best) {
            missed[(row.wdl + 2) as usize] += 1;
        }
    }
    let all: usize = missed.iter().sum();
    let told = format!(
        "{all} of {} moves at {NODES} nodes are worse than the verdict \
         (lost, blessed, drawn, cursed, won: {missed:?})",
        rows.len()
    );
    writeln!(std::io::stderr(), "{told}").unwrap();
    assert!(all * 1000 <= rows.len() * MISSED_PER_MILLE, "{told}");
}

/// The same with other numbers of nodes.
#[test]
#[ignore = "a measurement, for docs/strength.md"]
fn the_share_of_moves_worse_than_the_verdict() {
    let Some((_, rows)) = shared() else { return };
    for (name, evaluator, built_in) in [
        ("built-in tables", Evaluator::default(), BuiltIn::On),
        ("net", Evaluator::default(), BuiltIn::Off),
        ("classical", Evaluator::classical(), BuiltIn::Off),
    ] {
        let engine = Pool::new(&EngineOptions {
            hash_mb: 16,
            evaluator,
            tables: tablebases(built_in, None),
            ..EngineOptions::default()
        })
        .lease();
        for nodes in [1_000, 10_000, 100_000] {
            let is_worse = |row: &&Row| {
                engine.pool().clear_hash();
                engine.new_game();
                let game = Game::from_position(row.position());
                let result = engine.think(&game, Limits::nodes(nodes)).wait();
                !row.is_best(result.best.unwrap())
            };
            let worse = rows.iter().filter(is_worse).count();
            writeln!(std::io::stderr(), "{name}, {nodes} nodes: {worse}").unwrap();
        }
    }
}
