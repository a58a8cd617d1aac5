//! Bad arguments get an error that names the right ones.

use std::fs;

use super::{Hall, Ran};

#[track_caller]
fn assert_refused(ran: &Ran, what: &str) {
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(what), "{what:?} expected: {ran:?}");
    assert!(!ran.stderr.contains("panicked"), "{ran:?}");
}

#[test]
fn a_bad_player_option_or_limit_is_explained() {
    let hall = Hall::new();
    for (arguments, what) in [
        (&["me", "self", "--nodes", "9"][..], "cmd:PROGRAM"),
        (
            &["self", "self:hash=big", "--nodes", "9"],
            "hash takes a number",
        ),
        (
            &["self", "self:colour=red", "--nodes", "9"],
            "self has no option \"colour\"",
        ),
        (&["self", "self:evalfile=no.net", "--nodes", "9"], "no.net"),
        (&["self", "self"], "--nodes"),
        (
            &["self", "self", "--nodes", "9", "--depth", "3"],
            "cannot be used with",
        ),
        (&["self", "self", "--tc", "3:00"], "seconds+increment"),
        (
            &["self", "self", "--nodes", "9", "--sprt", "10,0"],
            "elo0,elo1",
        ),
        (
            &["self", "self", "--nodes", "9", "--a-option", "Hash"],
            "name=value",
        ),
        (
            &["self", "self", "--nodes", "9", "--games", "26"],
            "repeated game",
        ),
        (
            &["self", "cmd:x", "--nodes", "9", "--soft-nodes", "5"],
            "`self` on both sides",
        ),
        (
            &["self", "cmd:x", "--tc", "2+0.02@5"],
            "`self` on both sides",
        ),
        (&["self", "self", "--tc", "2+0.02@0"], "10+0.1@20"),
        (
            &["self", "self", "--nodes", "9", "--games", "4000000000"],
            "1..=10000000",
        ),
        (
            &["self", "self", "--depth", "2", "--soft-nodes", "5"],
            "--nodes",
        ),
        (
            &["self", "self", "--nodes", "9", "--soft-nodes", "10"],
            "at least as many",
        ),
    ] {
        assert_refused(&hall.contest(arguments), what);
    }
}

#[test]
fn the_games_replace_no_file_that_the_match_uses() {
    let hall = Hall::new();
    fs::create_dir(hall.path("inside")).unwrap();
    std::os::unix::fs::symlink(hall.path("openings.epd"), hall.path("link")).unwrap();
    fs::write(hall.path("my.net"), "a net").unwrap();
    let before = fs::read(hall.path("openings.epd")).unwrap();
    let net = format!("self:evalfile={}", hall.text("my.net"));
    for (player, pgn) in [
        ("self", "openings.epd"),
        ("self", "inside/../openings.epd"),
        ("self", "link"),
        ("self", "inside/../journal"),
        (net.as_str(), "my.net"),
    ] {
        let ran = hall.contest(&[
            "self",
            player,
            "--nodes",
            "9",
            "--journal",
            &hall.text("journal"),
            "--pgn",
            &hall.text(pgn),
        ]);
        assert_refused(&ran, "this very file is used here: name another");
    }
    assert_eq!(fs::read(hall.path("openings.epd")).unwrap(), before);
    assert_eq!(fs::read(hall.path("my.net")).unwrap(), b"a net");
}

#[test]
fn a_bad_opening_file_is_named_with_its_line() {
    let hall = Hall::new();
    for (text, what) in [
        ("\nrnbqkbnr/8 w - -\n", "line 2"),
        ("# nothing\n", "no positions"),
    ] {
        fs::write(hall.path("openings.epd"), text).unwrap();
        assert_refused(&hall.contest(&["self", "self", "--nodes", "9"]), what);
    }
    fs::remove_file(hall.path("openings.epd")).unwrap();
    assert_refused(
        &hall.contest(&["self", "self", "--nodes", "9"]),
        "openings.epd",
    );
}

#[test]
fn at_fixed_nodes_no_opening_pair_is_played_twice() {
    let hall = Hall::new();
    let ran = hall.contest(&["self", "self", "--nodes", "20"]);
    // The usual number of games is cut to what the openings allow.
    assert_eq!(ran.field("games"), "24 of 24, from 12 openings, seed 1");
}
