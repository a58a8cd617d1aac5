//! Lists of games: filters, limits, and a note if more would match.

use std::fs;

use megaton::archive::{ArchiveEntry, Origin};
use megaton::lichess::Status;
use serde_json::Value;

use super::event_lists::challenge;
use super::records::{BEGAN, DAY, Ground, game};

/// An archive of so many games, an hour between them.
fn with(games: u64) -> Ground {
    let ground = Ground::new();
    let games = (0..games).map(|number| {
        let id = format!("game{number:04}");
        ArchiveEntry::Game(game(&id, BEGAN + number * DAY / 24).into())
    });
    ground.keep(&games.collect::<Vec<_>>());
    ground
}

#[test]
fn a_truncated_list_says_that_there_are_more() {
    let ground = with(31);
    let shown = ground.run(&["games"]);
    assert_eq!(shown.stdout.lines().count(), 31, "{}", shown.stdout);
    let more = "megaton: showing the latest 30; use --limit or --all for more\n";
    assert_eq!(shown.stderr, more);
    let json = ground.run(&["games", "--json", "--oldest"]);
    let rows: Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(30));
    assert_eq!(json.stderr, more.replace("latest", "earliest"));
    for (wanted, shown) in [
        (&["--all"][..], 31),
        (&["--limit", "30"], 30),
        (&["--until", "2026-11-22"], 11),
    ] {
        let ran = ground.run(&[&["games", "--csv"], wanted].concat());
        assert_eq!(ran.stdout.lines().count(), 1 + shown, "{wanted:?}");
        assert_eq!(ran.stderr, "", "{wanted:?}");
    }
    let whole = with(30).run(&["games"]);
    assert_eq!((whole.stdout.lines().count(), &*whole.stderr), (31, ""));
}

#[test]
fn a_list_without_rows_has_its_header_line_in_csv() {
    let (full, empty) = (Ground::with_games(), Ground::new());
    full.keep(&[ArchiveEntry::Challenge(
        challenge("took0001", BEGAN, "Nuke").into(),
    )]);
    empty.keep(&[]);
    for list in ["games", "challenges", "events"] {
        let told = full.told(&[list, "--csv"]);
        let header = told.lines().next().expect("a header line");
        assert!(told.lines().count() > 1, "{told}");
        for (ground, arguments) in [(&empty, &[][..]), (&full, &["--until", "2020-01-01"])] {
            let told = ground.told(&[&[list, "--csv"], arguments].concat());
            assert_eq!(told, format!("{header}\n"), "{list} {arguments:?}");
        }
    }
    let told = empty.told(&["stats", "--by", "opponent", "--csv"]);
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn games_are_found_by_their_stakes_their_arena_and_who_played_them() {
    let ground = with(1);
    let mut casual = game("casual01", BEGAN);
    casual.rated = false;
    let mut arena = game("arena001", BEGAN);
    arena.tournament = Some("hourly99".to_owned());
    let mut imported = game("import01", BEGAN);
    imported.origin = Origin::Imported;
    ground.keep(&[casual, arena, imported].map(|game| ArchiveEntry::Game(game.into())));
    for (wanted, found) in [
        (&["--casual"][..], &["casual01"][..]),
        (&["--tournament", "hourly99"], &["arena001"]),
        (&["--played"], &["arena001", "casual01", "game0000"]),
        (&["--played", "--rated"], &["arena001", "game0000"]),
    ] {
        let told = ground.told(&[&["games", "--csv"], wanted].concat());
        let rows = told.lines().skip(1);
        let ids = rows.map(|row| row.split(',').next().unwrap_or_default());
        let mut ids: Vec<&str> = ids.collect();
        ids.sort_unstable();
        assert_eq!(ids, found, "{wanted:?}");
    }
}

#[test]
fn games_of_a_file_before_one_that_cannot_be_read_are_taken_and_counted() {
    let pgn = with(3).told(&["export"]);
    let ground = Ground::new();
    let (file, nothing) = (ground.file("all.pgn"), ground.file("nothere.pgn"));
    fs::write(&file, pgn).expect("a file");
    let ran = ground.run(&["import", "--account", "Megaton", &file, &nothing]);
    assert_ne!(ran.status, Some(0));
    assert!(ran.stderr.contains("nothere.pgn"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("3 games new"), "{}", ran.stdout);
    let kept = ground.told(&["games", "--csv"]);
    assert_eq!(kept.lines().count(), 1 + 3, "{kept}");
}

#[test]
fn games_are_exported_by_their_addresses_too() {
    let ground = with(2);
    let address = "https://lichess.org/game0001/black";
    assert_eq!(
        ground.told(&["export", address]),
        ground.told(&["export", "game0001"])
    );
}

#[test]
fn statistics_of_games_that_ended_otherwise_know_of_no_flag() {
    let ground = Ground::with_games();
    let lost = |ended: &str| {
        let told = ground.told(&["stats", "--json", "--ended", ended]);
        let stats: Value = serde_json::from_str(&told).expect("JSON");
        stats["time_losses"].as_array().map(Vec::len)
    };
    assert_eq!(lost(Status::OutOfTime.as_str()), Some(1));
    assert_eq!(lost(Status::VariantEnd.as_str()), Some(0));
    let csv = ["stats", "--by", "opponent"];
    assert_eq!(
        ground.told(&[&csv[..], &["--csv"]].concat()),
        ground.told(&[&csv[..], &["--format", "csv"]].concat())
    );
}
