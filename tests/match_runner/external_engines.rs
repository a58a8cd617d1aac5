//! UCI programs that misbehave: each fault is named and harms nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::{Hall, Ran, games, ourselves};

/// A program that sets up well and answers `go` with these shell commands.
fn script(hall: &Hall, name: &str, go: &str) -> String {
    let text = format!(
        "#!/bin/sh\nwhile read -r word rest; do case \"$word\" in\n\
         uci) echo 'id name script'; echo 'option name UCI_Variant type combo default chess';\n\
         echo 'option name Hash type spin default 1 min 1 max 9'; echo uciok;;\n\
         isready) echo readyok;;\n\
         position) line=\"$rest\";;\n\
         go) {go};;\n\
         quit) exit 0;;\n\
         esac; done\n"
    );
    raw(hall, name, &text)
}

fn raw(hall: &Hall, name: &str, text: &str) -> String {
    let path = hall.path(name);
    fs::write(&path, text).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a script that may run");
    format!("cmd:'{}'", path.display())
}

/// Four games of ours against a program.
fn against(hall: &Hall, program: &str, more: &[&str]) -> Ran {
    let arguments = ["self", program, "--games", "4", "--concurrency", "2"];
    hall.contest(&[&arguments[..], more].concat())
}

/// Every game was won by us through this fault of theirs.
#[track_caller]
fn assert_forfeits(ran: &Ran, what: &str) {
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert_eq!(ran.field("W-D-L"), "4-0-0", "{ran:?}");
    assert_eq!(ran.field("forfeits B"), what, "{ran:?}");
    assert_eq!(
        ran.field("forfeits A"),
        "0 illegal, 0 crashes, 0 hangs, 0 on time"
    );
}

#[test]
fn illegal_moves_lose() {
    let hall = Hall::new();
    let journal = hall.text("journal");
    for (name, answer) in [
        ("illegal", "echo bestmove a1a8"),
        ("none", "echo 'bestmove (none)'"),
        ("nothing", "echo bestmove"),
        (
            "noise",
            "echo 'info depth x score cp score mate'; printf 'bestmove \\377\\n'",
        ),
    ] {
        let program = script(&hall, name, answer);
        let ran = against(&hall, &program, &["--nodes", "100"]);
        assert_forfeits(&ran, "4 illegal, 0 crashes, 0 hangs, 0 on time");
    }
    let program = script(&hall, "illegal", "echo bestmove a1a8");
    against(&hall, &program, &["--nodes", "100", "--journal", &journal]);
    for game in games(&hall.path("journal")) {
        assert_eq!(game["end"], "illegal");
        assert!(
            game["note"].as_str().unwrap().contains("a1a8 is not legal"),
            "{game}"
        );
    }
}

#[test]
fn a_crash_loses_and_the_program_restarts() {
    let hall = Hall::new();
    let program = script(&hall, "crash", "exit 3");
    let ran = against(&hall, &program, &["--nodes", "100"]);
    assert_forfeits(&ran, "0 illegal, 4 crashes, 0 hangs, 0 on time");
}

#[test]
fn a_silent_program_is_killed_and_restarted() {
    let hall = Hall::new();
    let program = script(&hall, "hang", "echo info depth 1");
    let ran = against(&hall, &program, &["--nodes", "100", "--watchdog", "1"]);
    assert_forfeits(&ran, "0 illegal, 0 crashes, 4 hangs, 0 on time");
}

#[test]
fn a_patience_of_nothing_or_of_ages_is_refused() {
    let hall = Hall::new();
    for patience in ["0", "86401", "18446744073709551615"] {
        let options = ["--nodes", "100", "--watchdog", patience];
        let ran = against(&hall, &ourselves(), &options);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("is not in 1..=86400"), "{ran:?}");
    }
}

#[test]
fn a_program_with_endless_output_is_killed() {
    let hall = Hall::new();
    // The second writes faster than lines are read.
    let flood = format!("exec yes info {}", "depth 1 ".repeat(400));
    for (name, answer) in [
        ("talk", "while echo info string blah; do :; done"),
        ("flood", &flood),
    ] {
        let program = script(&hall, name, answer);
        let ran = against(&hall, &program, &["--nodes", "100", "--watchdog", "1"]);
        assert_forfeits(&ran, "0 illegal, 0 crashes, 4 hangs, 0 on time");
    }
}

#[test]
fn a_late_answer_loses_on_time() {
    let hall = Hall::new();
    // A legal move of either side, since each plays its first move only.
    let late = "sleep 1.5; case \"$line\" in *moves*) echo bestmove a7a6;; \
                *) echo bestmove a2a3;; esac";
    let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\n\
               rnbqkbnr/pppppp1p/6p1/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq - 0 2\n";
    fs::write(hall.path("openings.epd"), fen).unwrap();
    let program = script(&hall, "late", late);
    // All at once, since they do nothing but sleep.
    let play = |limit: [&str; 2]| {
        let games = ["self", &program, "--games", "4", "--concurrency", "4"];
        hall.contest(&[&games[..], &limit, &["--margin", "1000"]].concat())
    };
    let ran = play(["--movetime", "0.1"]);
    assert_forfeits(&ran, "0 illegal, 0 crashes, 0 hangs, 4 on time");
    let ran = play(["--tc", "0.1+0.01"]);
    assert!(ran.field("forfeits B").ends_with("4 on time"), "{ran:?}");
}

#[test]
fn forfeits_of_the_opponent_are_left_out_on_request() {
    let hall = Hall::new();
    let program = script(&hall, "crash", "exit 3");
    let ran = against(&hall, &program, &["--nodes", "100", "--drop-forfeits", "b"]);
    assert_eq!(ran.field("W-D-L"), "0-0-0", "{ran:?}");
    assert_eq!(ran.field("dropped"), "2 pairs with a forfeit");
    assert_eq!(
        ran.field("forfeits B"),
        "0 illegal, 4 crashes, 0 hangs, 0 on time"
    );
    let kept = against(&hall, &program, &["--nodes", "100", "--drop-forfeits", "a"]);
    assert_forfeits(&kept, "0 illegal, 4 crashes, 0 hangs, 0 on time");
}

#[test]
fn a_program_that_cannot_play_ends_the_match() {
    let hall = Hall::new();
    for (program, what) in [
        (
            "cmd:no/such/engine".to_owned(),
            "does not start: No such file",
        ),
        (raw(&hall, "ends", "#!/bin/sh\nexit 7\n"), "exit status: 7"),
        (
            raw(
                &hall,
                "closes",
                "#!/bin/sh\nexec >&-\nread line; read line\n",
            ),
            "does not start",
        ),
        (
            script(&hall, "fine", ":"),
            "no option \"Contempt\"; its options are UCI_Variant, Hash",
        ),
    ] {
        let ran = against(
            &hall,
            &program,
            &["--nodes", "100", "--b-option", "Contempt=0"],
        );
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(what), "{ran:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{ran:?}");
    }
}

#[test]
fn the_games_before_a_program_died_for_good_are_reported() {
    let hall = Hall::new();
    let dies = "echo >>\"$0.games\"; test $(wc -l <\"$0.games\") -lt 3 || rm \"$0\"; exit 3";
    let program = script(&hall, "dies", dies);
    let pgn = hall.text("pgn");
    let asked = [
        "self", &program, "--games", "4", "--nodes", "100", "--pgn", &pgn,
    ];
    let ran = hall.contest(&asked);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.field("games").starts_with("2 of 4"), "{ran:?}");
    assert_eq!(ran.field("W-D-L"), "2-0-0");
    assert!(ran.stderr.contains("does not start"), "{ran:?}");
    let kept = fs::read_to_string(pgn).expect("the games until then");
    assert_eq!(kept.matches("[Event ").count(), 2, "{kept}");
}

#[test]
fn options_reach_a_child_by_name() {
    let hall = Hall::new();
    let journal = hall.text("journal");
    let ran = hall.contest(&[
        "self:hash=2",
        &ourselves(),
        "--b-option",
        "hash=2",
        "--nodes",
        "200",
        "--games",
        "2",
        "--journal",
        &journal,
    ]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.field("pairs").starts_with("[0, 0, 1, 0, 0]"), "{ran:?}");
}
