//! An interrupted match resumes from its journal.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use super::{Hall, Ran, command, games};

const MATCH: [&str; 6] = ["self", "self:nodes=60", "--nodes", "300", "--games", "6"];
/// How long a test waits before it says that something hangs.
const GUARD: Duration = Duration::from_secs(60);

fn play(hall: &Hall, journal: &str) -> Ran {
    let journal = hall.text(journal);
    hall.contest(&[&MATCH[..], &["--journal", &journal]].concat())
}

#[test]
fn a_journal_cut_anywhere_leads_to_the_same_match() {
    let hall = Hall::new();
    let whole = play(&hall, "whole");
    let text = fs::read_to_string(hall.path("whole")).unwrap();
    let heading = text.find('\n').unwrap();
    // Within the heading, after it, within a game, and before the last end of a line.
    for cut in [0, heading / 2, heading + 1, text.len() / 2, text.len() - 1] {
        fs::write(hall.path("cut"), &text[..cut]).unwrap();
        let resumed = play(&hall, "cut");
        assert_eq!(resumed.lasting(), whole.lasting(), "{cut}");
        assert_eq!(
            games(&hall.path("cut")),
            games(&hall.path("whole")),
            "{cut}"
        );
    }
    // With all of it there nothing is played, and the table is the same to the last figure of
    // speed.
    let again = play(&hall, "whole");
    assert_eq!(again.lasting(), whole.lasting());
    assert_eq!(again.field("speed A"), whole.field("speed A"));
    assert_eq!(fs::read_to_string(hall.path("whole")).unwrap(), text);
}

#[test]
fn a_result_whose_games_cannot_be_written_is_printed() {
    let hall = Hall::new();
    let play = |pgn: &str| {
        hall.contest(&[
            "self", "self", "--nodes", "50", "--games", "2", "--pgn", pgn,
        ])
    };
    let ran = play("/dev/full");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.field("games").starts_with('2'), "{ran:?}");
    assert!(ran.stderr.contains("/dev/full"), "{ran:?}");
    // What is wrong from the start ends the match before it begins.
    for wrong in ["no/folder/games.pgn", ""] {
        let ran = play(&hall.text(wrong));
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("--pgn"), "{ran:?}");
        assert_eq!(ran.stdout, "");
    }
    let pgn = hall.text("games.pgn");
    assert_eq!(play(&pgn).status, Some(0));
    assert_eq!(
        fs::read_to_string(pgn).unwrap().matches("[Round").count(),
        2
    );
}

#[test]
fn a_reader_that_leaves_costs_neither_the_games_nor_the_answer() {
    let hall = Hall::new();
    let (openings, pgn) = (hall.text("openings.epd"), hall.text("games.pgn"));
    let line = "match self self --nodes 50 --games 2 --sprt 0,10 --openings";
    let words: Vec<&str> = line.split(' ').chain([&*openings, "--pgn", &pgn]).collect();
    let mut child = command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(4), "undecided");
    let games = fs::read_to_string(pgn).unwrap();
    assert_eq!(games.matches("[Round").count(), 2);
}

#[test]
fn a_killed_match_resumes() {
    let hall = Hall::new();
    let whole = play(&hall, "whole");
    let (journal, openings) = (hall.text("killed"), hall.text("openings.epd"));
    let more = [
        "--journal",
        &journal,
        "--openings",
        &openings,
        "--concurrency",
        "2",
    ];
    let arguments = [&["match"][..], &MATCH[..], &more[..]].concat();
    let mut child = command(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let lines = || fs::read_to_string(&journal).map_or(0, |text| text.lines().count());
    while lines() < 3 {
        assert!(begun.elapsed() < GUARD, "no games");
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(play(&hall, "killed").lasting(), whole.lasting());
    assert_eq!(games(&hall.path("killed")), games(&hall.path("whole")));
}

#[test]
fn the_journal_of_another_match_is_refused_by_name() {
    let hall = Hall::new();
    play(&hall, "journal");
    let journal = hall.text("journal");
    for (other, what) in [
        (
            ["self", "self:nodes=61", "--nodes", "300"],
            "b was \"self:nodes=60\"",
        ),
        (
            ["self", "self:nodes=60", "--nodes", "301"],
            "limit was \"300 nodes\", now it is \"301",
        ),
    ] {
        let ran = hall.contest(&[&other[..], &["--games", "6", "--journal", &journal]].concat());
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(what), "{ran:?}");
    }
    fs::write(hall.path("journal"), "no journal\n").unwrap();
    let ran = play(&hall, "journal");
    assert_eq!(ran.status, Some(2));
    assert!(
        ran.stderr.contains("line 1: this is not a journal"),
        "{ran:?}"
    );
}
