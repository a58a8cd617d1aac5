//! Playing strength basics: mates, draws, the suite, and reproducible searches.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc;

use megaton::engine::{Evaluator, Info, Limits, Score, SearchParams, StopReason, bench, suite};
use megaton::rules::{Game, Move, Outcome, Position, RepetitionRule};

use crate::{answer, clock, engine, game, pool, think};

/// The node count of `megaton bench`. It changes with every change of play, and only then.
const BENCH_SIGNATURE: u64 = 616_502;

/// Whether the side to move can force a win in `moves` moves, by trying everything.
fn wins_in(position: &Position, moves: u32) -> bool {
    position.legal_moves().into_iter().any(|mv| {
        let child = position.play(mv);
        match child.outcome() {
            Some(Outcome::Win { .. }) => true,
            Some(Outcome::Draw(_)) => false,
            None => moves > 1 && loses_in(&child, moves - 1),
        }
    })
}

fn loses_in(position: &Position, moves: u32) -> bool {
    position.legal_moves().into_iter().all(|mv| {
        let child = position.play(mv);
        child.outcome().is_none() && wins_in(&child, moves)
    })
}

/// Positions won by force, with the length of the win; every length is proved by `wins_in`.
pub(crate) const WINS: [(&str, u32); 14] = [
    ("4k3/8/8/8/7Q/8/8/4K3 w - - 0 1", 1),
    (
        "rnb1kbnr/ppp1pppp/8/3q4/8/7P/PPPP1PP1/RNBQKBNR b KQkq - 0 1",
        1,
    ),
    ("1k6/8/8/8/8/7r/PP6/K7 b - - 0 1", 1),
    ("8/2k5/8/3pP3/8/8/8/K7 w - d6 0 2", 1),
    ("k1K5/pp5R/8/8/3Q4/P7/1P6/2r5 w - - 0 1", 1),
    (
        "r4b1r/pb1k4/npp1pppp/1Q1p1P1n/PPqP2P1/2P1PK1P/3B4/RN3BNR w - - 3 20",
        1,
    ),
    (
        "rnb1k1nr/pp1pppbp/1qp5/6p1/8/PP1P3P/1BPKPPP1/RNQ2BNR b kq - 2 7",
        2,
    ),
    (
        "rnbqkb1r/p1pppp2/5n2/1p4pp/2P5/6P1/PP1PPP1P/RNBQKBNR b KQkq - 3 6",
        2,
    ),
    (
        "3q1b1r/p1p2pp1/2k2n2/4p2p/1p6/PQP4P/1P1P1PPR/RNBB1K2 w - - 0 18",
        2,
    ),
    (
        "3q2nr/r1pp2bp/b2k1p2/1p4p1/pnP1P2P/P7/1P2NPP1/RNBKQB1R w - - 7 18",
        2,
    ),
    (
        "rnbqk1n1/p2pbppr/2p1p3/7p/PpPP2P1/2N5/1P2PP1P/1RBQKBNR b Kq - 1 8",
        3,
    ),
    (
        "rnbqkb1r/ppp1pppp/5n2/3p4/1P1P1P2/8/P1PNPKPP/R1BQ1BNR b kq - 3 5",
        3,
    ),
    (
        "5rr1/p2k3p/b1n5/1ppp4/PP1Pp2P/2P1P1P1/RR6/1N2K1N1 b - - 6 27",
        3,
    ),
    (
        "r1bqk1nr/p2Np2p/2p4b/1pnpBpp1/1P1P4/N7/P1P1PPPP/R2QKB1R b KQkq - 3 9",
        3,
    ),
];

/// Asserts that a line is this long and ends the game.
fn assert_decides(root: &Position, line: &[Move], plies: u32) {
    let last = line.iter().fold(*root, |position, &mv| position.play(mv));
    assert!(
        line.len() == plies as usize && last.outcome().is_some(),
        "{}: {line:?}",
        root.fen()
    );
}

#[test]
fn short_wins_are_found_with_their_true_length() {
    for (fen, moves) in WINS {
        let position = Position::from_fen(fen).unwrap();
        assert!(wins_in(&position, moves), "{fen}: no win in {moves}");
        assert!(
            moves == 1 || !wins_in(&position, moves - 1),
            "{fen}: a quicker win"
        );
        let result = think(fen, Limits::depth(2 * moves + 2));
        assert_eq!(result.score, Score::Mate(moves as i32), "{fen}: {result:?}");
        let best = result.best.unwrap();
        let child = position.play(best);
        assert!(
            child.outcome().is_some() || loses_in(&child, moves - 1),
            "{fen}: {best}"
        );
        assert_decides(&position, &result.line, 2 * moves - 1);
    }
}

#[test]
fn a_lost_side_knows_how_long_it_has() {
    for (fen, moves) in WINS.into_iter().filter(|&(_, moves)| moves > 1) {
        let position = Position::from_fen(fen).unwrap();
        let best = think(fen, Limits::depth(2 * moves + 2)).best.unwrap();
        let lost = position.play(best);
        let left = moves - 1;
        assert!(loses_in(&lost, left), "{fen}: {best}");
        let result = think(&lost.fen(), Limits::depth(2 * moves + 2));
        let expected = Score::Mate(-(left as i32));
        assert_eq!(result.score, expected, "{fen} {best}: {result:?}");
        // Nothing it can play lasts longer.
        let answer = result.best.unwrap();
        assert!(wins_in(&lost.play(answer), left), "{fen} {best} {answer}");
        assert!(
            left == 1 || !wins_in(&lost.play(answer), left - 1),
            "{fen} {best} {answer} is sooner over"
        );
        assert_decides(&lost, &result.line, 2 * left);
    }
}

/// Solve the shared suite, if it is there, with so many nodes a position.
fn solve_suite(nodes: u64) {
    let shared = std::env::var_os("MEGATON_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared")),
        PathBuf::from,
    );
    let Ok(text) = std::fs::read_to_string(shared.join("suites/atomic-tactics.epd")) else {
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED the tactics suite: no shared data"
        );
        return;
    };
    let puzzles = suite::parse(&text).expect("the suite is well formed");
    let mut missed = Vec::new();
    let report = suite::run(&Evaluator::default(), &puzzles, nodes, &mut missed)
        .expect("a vector takes all");
    assert!(
        report.solved * 100 >= report.total * 95,
        "{}",
        String::from_utf8_lossy(&missed)
    );
}

#[test]
fn the_tactics_suite_is_solved_quickly() {
    solve_suite(5_000);
}

#[test]
#[ignore = "takes half a minute: megaton bench --suite FILE does the same"]
fn the_tactics_suite_is_solved() {
    solve_suite(100_000);
}

#[test]
fn bench_visits_the_same_nodes_as_ever() {
    let report = bench(&Evaluator::default(), &SearchParams::default(), None);
    assert_eq!(report.nodes, BENCH_SIGNATURE);
}

#[test]
fn the_same_search_twice_visits_the_same_nodes() {
    let fen = "r1b1kb1r/pp1n1p1p/2p1p1p1/q2p4/3P1P2/2N1P3/PP1B2PP/R2QKB1R w KQkq - 0 10";
    let first = think(fen, Limits::depth(8));
    let second = think(fen, Limits::depth(8));
    assert_eq!(
        (first.nodes, first.best, first.score),
        (second.nodes, second.best, second.score)
    );
}

#[test]
fn a_cleared_table_is_as_good_as_an_empty_one() {
    let fen = "r1b1kb1r/pp1n1p1p/2p1p1p1/q2p4/3P1P2/2N1P3/PP1B2PP/R2QKB1R w KQkq - 0 10";
    let pool = pool(1);
    let search = || {
        let result = pool.lease().think(&game(fen), Limits::depth(7)).wait();
        (result.nodes, result.best, result.score)
    };
    let first = search();
    assert_ne!(search(), first, "the table remembers");
    pool.clear_hash();
    assert_eq!(search(), first);
}

#[test]
fn a_third_repetition_is_a_draw() {
    // Black is far behind, and to stand for the third time is all it can hope for.
    let mut game = game("4k3/pppp4/8/8/8/8/PPPP4/R2QK3 w - - 0 1");
    for mv in ["a1b1", "e8e7", "b1a1", "e7e8", "a1b1", "e8e7", "b1a1"] {
        game.push_uci(mv).unwrap();
    }
    let back = game.position().parse_uci("e7e8").unwrap();
    let limits = Limits {
        searchmoves: vec![back],
        ..Limits::depth(4)
    };
    let engine = engine();
    assert_eq!(engine.think(&game, limits).wait().score, Score::Cp(0));
    assert_eq!(
        engine.think(&game, Limits::depth(6)).wait().best,
        Some(back)
    );
    game.push(back);
    assert!(game.outcome(RepetitionRule::Threefold).is_some());
}

#[test]
fn contempt_decides_between_a_draw_and_a_level_game() {
    // White can repeat for the third time.
    let mut game = game("4k3/pppppppp/8/8/8/8/PPPPPPPP/4K2R w - - 0 1");
    for mv in ["h1g1", "e8d8", "g1h1", "d8e8", "h1g1", "e8d8", "g1h1"] {
        game.push_uci(mv).unwrap();
    }
    let back = game.position().parse_uci("d8e8").unwrap();
    let score = |contempt| {
        let limits = Limits {
            searchmoves: vec![back],
            contempt,
            ..Limits::depth(4)
        };
        engine().think(&game, limits).wait().score
    };
    assert_eq!(score(0), Score::Cp(0));
    assert_eq!(score(25), Score::Cp(-25));
    assert_eq!(score(-25), Score::Cp(25));
    assert_eq!(score(5000), Score::Cp(-100));
}

#[test]
fn what_a_search_with_another_contempt_stored_is_not_used() {
    let game = game("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    let with = |contempt| Limits {
        contempt,
        ..Limits::depth(9)
    };
    let alone = engine().think(&game, with(-40)).wait();
    let engine = engine();
    let search = |contempt| {
        engine.new_game();
        engine.think(&game, with(contempt)).wait()
    };
    let _ = search(40);
    let second = search(-40);
    assert_eq!((second.nodes, second.score), (alone.nodes, alone.score));
    assert_ne!(search(-40).nodes, alone.nodes, "the same contempt again");
}

#[test]
fn the_hundredth_quiet_half_move_is_a_draw_unless_it_wins() {
    let quiet = "7k/8/8/8/8/8/R7/KQ6 w - - 99 80";
    let position = Position::from_fen(quiet).unwrap();
    let step = position.parse_uci("a2a3").unwrap();
    let result = think(
        quiet,
        Limits {
            searchmoves: vec![step],
            ..Limits::depth(4)
        },
    );
    assert_eq!(result.score, Score::Cp(0));
    let winning = think("4k3/8/8/8/7Q/8/8/4K3 w - - 99 80", Limits::depth(4));
    assert_eq!(winning.score, Score::Mate(1));
}

#[test]
fn a_threat_without_a_parry_loses_unless_the_fifty_moves_are_over_before() {
    // The queen on g6 attacks both pieces beside the king.
    let fen = |clock: u32| format!("6bk/7n/Q7/8/8/8/8/K7 w - - {clock} 80");
    let threat = Position::from_fen(&fen(0)).unwrap();
    let threat = threat.parse_uci("a6g6").unwrap();
    let score = |clock| {
        let limits = Limits {
            searchmoves: vec![threat],
            ..Limits::depth(4)
        };
        think(&fen(clock), limits).score
    };
    assert_eq!(score(97), Score::Mate(2));
    assert_eq!(score(98), Score::Cp(0));
}

#[test]
fn nothing_is_won_with_too_little_material() {
    // Taking the last pawn with the rook leaves a king against a king.
    let fen = "8/8/8/p7/8/2k5/8/R3K3 w - - 0 1";
    let take = Position::from_fen(fen).unwrap().parse_uci("a1a5").unwrap();
    let result = think(
        fen,
        Limits {
            searchmoves: vec![take],
            ..Limits::depth(3)
        },
    );
    assert_eq!(result.score, Score::Cp(0));
}

#[test]
fn a_mate_that_leaves_too_little_material_is_a_mate() {
    // The discovered check blocks the last pawn that could move.
    let fen = "8/4p3/4P3/2p1P1p1/2P1k1P1/4p1P1/2P1P3/KB6 w - - 0 1";
    assert_eq!(think(fen, Limits::depth(3)).score, Score::Mate(1));
}

#[test]
fn a_finished_game_has_no_best_move() {
    let finished = [
        ("8/8/8/8/8/8/8/K7 b - - 0 1", Score::Mate(0)),
        ("4k3/4Q3/8/8/8/8/8/4K3 b - - 1 1", Score::Mate(0)),
        ("k7/1R6/8/8/8/8/8/5K2 b - - 1 1", Score::Cp(0)),
    ];
    for (fen, score) in finished {
        for limits in [
            Limits::depth(3),
            clock(100),
            Limits {
                infinite: true,
                ..Limits::default()
            },
        ] {
            let engine = engine();
            let is_infinite = limits.infinite;
            let search = engine.think(&game(fen), limits);
            if is_infinite {
                search.stop();
            }
            let result = answer(&search);
            assert_eq!((result.best, result.score), (None, score), "{fen}");
            assert_eq!(result.ended, StopReason::NoMove);
        }
    }
}

#[test]
fn any_node_limit_gives_a_legal_move() {
    for fen in bench::POSITIONS {
        for nodes in [0, 1, 2, 50] {
            let position = Position::from_fen(fen).unwrap();
            let result = think(fen, Limits::nodes(nodes));
            assert!(
                result.best.is_some_and(|best| position.is_legal(best)),
                "{fen} {nodes}"
            );
            assert!(
                result.nodes <= nodes.max(1),
                "{fen} {nodes}: {}",
                result.nodes
            );
        }
    }
}

#[test]
fn a_reported_line_is_playable() {
    for fen in bench::POSITIONS {
        let result = think(fen, Limits::nodes(3_000));
        let mut position = Position::from_fen(fen).unwrap();
        assert_eq!(result.line.first(), result.best.as_ref());
        for &mv in &result.line {
            assert!(position.is_legal(mv), "{fen}: {mv} in {:?}", result.line);
            position = position.play(mv);
        }
    }
}

#[test]
fn only_the_searchmoves_are_searched() {
    let start = Position::default();
    let wanted: Vec<Move> = ["a2a3", "h2h3"]
        .map(|mv| start.parse_uci(mv).unwrap())
        .to_vec();
    let limits = Limits {
        searchmoves: wanted.clone(),
        ..Limits::depth(5)
    };
    let result = engine().think(&Game::new(), limits).wait();
    assert!(wanted.contains(&result.best.unwrap()));
}

#[test]
fn several_lines_are_different_and_ordered() {
    let (sender, infos) = mpsc::channel::<Info>();
    let limits = Limits {
        multipv: 4,
        ..Limits::depth(6)
    };
    let result = engine()
        .think_with(&Game::new(), limits, move |info| {
            sender.send(info.clone()).unwrap();
        })
        .wait();
    let last: Vec<Info> = infos.iter().filter(|info| info.depth == 6).collect();
    assert_eq!(
        last.iter().map(|info| info.multipv).collect::<Vec<_>>(),
        [1, 2, 3, 4]
    );
    assert_eq!(last[0].line.first(), result.best.as_ref());
    for pair in last.windows(2) {
        assert!(pair[0].score.centipawns() >= pair[1].score.centipawns());
        assert_ne!(pair[0].line[0], pair[1].line[0]);
    }
}
