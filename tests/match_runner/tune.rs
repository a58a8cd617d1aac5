//! `megaton tune` as a user runs it: a few steps, interrupted or not, and what it prints.
//!
//! Only where the program was built with the feature `tune`.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{Hall, Ran, command, megaton};

/// How long a test waits before it says that something hangs.
const GUARD: Duration = Duration::from_secs(60);

fn arguments(hall: &Hall, journal: &str, more: &[&str]) -> Vec<String> {
    let files = [
        "--openings",
        &hall.text("openings.epd"),
        "--journal",
        &hall.text(journal),
    ];
    let words = ["tune", "lmr_pv", "rfp_*", "--start", "hash=1,lmr_pv=700"];
    let words = [&words[..], &files, more].concat();
    words.into_iter().map(str::to_owned).collect()
}

fn tune(hall: &Hall, journal: &str, more: &[&str]) -> Ran {
    let arguments = arguments(hall, journal, more);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    megaton(&arguments)
}

const STEPS: [&str; 6] = ["--nodes", "50", "--steps", "12", "--gain", "0.5"];

#[test]
fn a_tuning_prints_a_player_for_matches_and_resumes_where_it_was_cut() {
    let hall = Hall::new();
    let whole = tune(&hall, "whole", &STEPS);
    assert_eq!(whole.status, Some(0), "{whole:?}");
    let lines: Vec<&str> = whole.stdout.lines().collect();
    assert!(
        lines[0].starts_with("name") && lines[1].starts_with("rfp_depth"),
        "{whole:?}"
    );
    assert!(lines[3].starts_with("lmr_pv"), "{whole:?}");
    assert_eq!(lines[4], "12 of 12 steps, 24 games");
    let player = lines[5];
    assert!(player.starts_with("self:hash=1,rfp_depth="), "{whole:?}");
    let text = fs::read(hall.path("whole")).unwrap();
    for cut in [text.len() / 3, 2 * text.len() / 3, text.len()] {
        fs::write(hall.path("cut"), &text[..cut]).unwrap();
        assert_eq!(tune(&hall, "cut", &STEPS).stdout, whole.stdout, "{cut}");
        assert_eq!(fs::read(hall.path("cut")).unwrap(), text, "{cut}");
    }
    let ran = hall.contest(&[player, "self", "--nodes", "50", "--games", "2"]);
    assert_eq!(ran.status, Some(0), "{ran:?}");
}

#[test]
fn ctrl_c_keeps_the_finished_steps_and_says_how_to_go_on() {
    let hall = Hall::new();
    let endless = ["--nodes", "50", "--steps", "1000000", "--concurrency", "2"];
    let arguments = arguments(&hall, "journal", &endless);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let child = command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = || fs::read_to_string(hall.path("journal")).map_or(0, |it| it.lines().count());
    let begun = Instant::now();
    while lines() < 4 {
        assert!(begun.elapsed() < GUARD, "no steps");
        thread::sleep(Duration::from_millis(2));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    let steps = lines() - 1;
    let counts = format!(
        "{steps} of 1000000 steps, {} games; the same command continues",
        2 * steps
    );
    assert!(stdout.contains(&counts), "{stdout}");
    assert!(
        stdout.lines().last().unwrap().starts_with("self:hash=1,"),
        "{stdout}"
    );
}

#[test]
fn a_tuning_on_the_clock_moves_the_time_of_a_move() {
    let hall = Hall::new();
    let (openings, journal) = (hall.text("openings.epd"), hall.text("journal"));
    let clock = [
        "tune",
        "time_moves_ahead",
        "--tc",
        "0.2+0.01",
        "--steps",
        "1",
    ];
    let files = ["--openings", &openings, "--journal", &journal];
    let ran = megaton(&[&clock[..], &files].concat());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("1 of 1 steps, 2 games"), "{ran:?}");
}

#[test]
fn what_cannot_be_tuned_is_said() {
    let hall = Hall::new();
    for (more, what) in [
        (
            &["nonsense", "--nodes", "50"][..],
            "no parameter \"nonsense\"",
        ),
        (&["time_*", "--nodes", "50"], "add --tc"),
        (
            &["--nodes", "50", "--gain", "0"],
            "the gain is a number above 0",
        ),
        (&["--nodes", "50", "--tc", "2+0.02"], "cannot be used with"),
        (&[], "required"),
    ] {
        let ran = tune(&hall, "journal", more);
        assert_eq!(ran.status, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(what), "{ran:?}");
    }
    let _ = tune(&hall, "journal", &STEPS);
    let ran = tune(
        &hall,
        "journal",
        &["--nodes", "60", "--steps", "12", "--gain", "0.5"],
    );
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("limit was \"50 nodes\", now it is \"60 nodes\""),
        "{ran:?}"
    );
}
