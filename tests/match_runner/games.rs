//! Successful matches: reproducible and meaningful results.

use std::fs;
use std::path::Path;

use super::{Hall, games, ourselves};

#[test]
fn a_match_is_reproducible_with_any_concurrency() {
    let hall = Hall::new();
    // The second is a clock that counts nodes.
    for limit in [["--nodes", "300"], ["--tc", "1+0.01@4"]] {
        let play = |journal: &str, concurrency: &str| {
            let journal = hall.text(&format!("{journal} {}", limit[0]));
            let arguments = ["self", "self:nodes=60", "--games", "12"];
            let more = ["--journal", &journal, "--concurrency", concurrency];
            let ran = hall.contest(&[&arguments[..], &limit[..], &more[..]].concat());
            assert_eq!(ran.status, Some(0), "{ran:?}");
            (ran.lasting(), games(Path::new(&journal)))
        };
        let first = play("first", "1");
        assert_eq!(first.1.len(), 12);
        for (name, concurrency) in [("second", "1"), ("third", "3")] {
            assert_eq!(play(name, concurrency), first, "{limit:?}");
        }
    }
}

/// The twenty games of the continuous integration: in process and over pipes the engine is the
/// same, so that each pair is one game played twice.
#[test]
fn twenty_games_against_ourselves_as_a_child_end_level() {
    let hall = Hall::new();
    let (pgn, ourselves) = (hall.text("games.pgn"), ourselves());
    let ran = hall.contest(&[
        "self",
        &ourselves,
        "--nodes",
        "400",
        "--games",
        "20",
        "--concurrency",
        "2",
        "--pgn",
        &pgn,
    ]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(
        ran.field("pairs").starts_with("[0, 0, 10, 0, 0]"),
        "{ran:?}"
    );
    assert_eq!(ran.field("games"), "20 of 20, from 12 openings, seed 1");
    for name in ["forfeits A", "forfeits B"] {
        assert_eq!(ran.field(name), "0 illegal, 0 crashes, 0 hangs, 0 on time");
    }
    let pgn = fs::read_to_string(pgn).unwrap();
    assert_eq!(pgn.matches("[Variant \"Atomic\"]").count(), 20);
    assert_eq!(pgn.matches("[White \"self\"]").count(), 10);
    assert!(pgn.contains("[Termination \""), "{pgn}");
}

#[test]
fn more_nodes_win() {
    let hall = Hall::new();
    let ran = hall.contest(&["self", "self:nodes=30", "--nodes", "600", "--games", "24"]);
    let wins: u32 = ran
        .field("W-D-L")
        .split('-')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(wins >= 18, "{ran:?}");
    assert!(ran.field("Elo").starts_with('+'), "{ran:?}");
}

#[test]
fn clocks_are_kept_by_both_kinds_of_players() {
    let hall = Hall::new();
    let ourselves = ourselves();
    for limit in [
        ["--tc", "0.3+0.02"],
        ["--movetime", "0.03"],
        ["--depth", "3"],
    ] {
        let arguments = ["self", &ourselves, "--games", "2", "--margin", "2000"];
        let ran = hall.contest(&[&arguments[..], &limit[..]].concat());
        assert_eq!(ran.status, Some(0), "{limit:?} {ran:?}");
        assert!(ran.field("games").starts_with("2 of 2"), "{ran:?}");
        assert!(ran.field("speed B").contains("median depth"), "{ran:?}");
        for name in ["forfeits A", "forfeits B"] {
            assert_eq!(ran.field(name), "0 illegal, 0 crashes, 0 hangs, 0 on time");
        }
    }
}

#[test]
fn the_exit_status_follows_the_sprt() {
    let hall = Hall::new();
    let openings = hall.text("many.epd");
    let many = [
        "openings", "--count", "60", "--nodes", "64", "--most", "400",
    ];
    let made = super::megaton(&[&many[..], &["--out", &openings]].concat());
    assert_eq!(made.status, Some(0), "{made:?}");
    let play = |strong: &str, weak: &str, games: &str| {
        super::megaton(&[
            "match",
            strong,
            weak,
            "--openings",
            &openings,
            "--nodes",
            "200",
            "--sprt",
            "0,100",
            "--games",
            games,
            "--concurrency",
            "2",
        ])
    };
    let better = play("self", "self:nodes=10", "120");
    assert_eq!(better.status, Some(0), "{better:?}");
    assert!(
        better.field("LLR").ends_with("[0, 100]: accepted"),
        "{better:?}"
    );
    let worse = play("self:nodes=10", "self", "120");
    assert_eq!(worse.status, Some(3), "{worse:?}");
    assert!(worse.field("LLR").ends_with("rejected"), "{worse:?}");
    // It ends with the pair that decides, though more games were allowed.
    assert!(worse.field("games").starts_with("100 of 120"), "{worse:?}");
    let short = play("self", "self:nodes=10", "4");
    assert_eq!(short.status, Some(4), "{short:?}");
    assert!(short.field("LLR").ends_with("undecided"), "{short:?}");
}
