//! `megaton openings`: the same file for the same seed, even after a kill.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Hall, command, megaton};

const MAKE: [&str; 7] = ["openings", "--count", "30", "--seed", "4", "--nodes", "640"];
/// How long a test waits before it says that something hangs.
const GUARD: Duration = Duration::from_secs(60);

#[test]
fn a_killed_run_resumes_to_the_same_file() {
    let hall = Hall::new();
    let (whole, killed) = (hall.text("whole"), hall.text("killed"));
    let ran = megaton(&[&MAKE[..], &["--out", &whole, "--threads", "1"]].concat());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.stdout.starts_with("30 openings of "), "{ran:?}");
    let mut child = command(&[&MAKE[..], &["--out", &killed]].concat())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let lines = || fs::read_to_string(&killed).map_or(0, |text| text.lines().count());
    while lines() < 5 {
        assert!(begun.elapsed() < GUARD, "no openings");
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = megaton(&[&MAKE[..], &["--out", &killed]].concat());
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let (whole, killed) = (fs::read_to_string(whole), fs::read_to_string(killed));
    assert_eq!(whole.unwrap(), killed.unwrap());
}

#[test]
fn another_seed_gives_other_openings_and_a_foreign_file_is_kept() {
    let hall = Hall::new();
    let out = hall.text("openings");
    let make = |seed: &str| {
        megaton(&[
            "openings", "--count", "3", "--seed", seed, "--nodes", "64", "--out", &out,
        ])
    };
    assert_eq!(make("1").status, Some(0));
    let text = fs::read_to_string(&out).unwrap();
    let ran = make("2");
    assert_eq!(ran.status, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("was not made this way"), "{ran:?}");
    assert_eq!(fs::read_to_string(&out).unwrap(), text);
}

#[test]
fn a_full_disk_leaves_whole_openings_and_the_same_command_continues() {
    let hall = Hall::new();
    let (whole, full) = (hall.text("whole"), hall.text("full"));
    // A limit on the size of files stands for the disk.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_megaton")]);
    let ran = shell.args(MAKE).args(["--out", &full]).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let text = fs::read_to_string(&full).unwrap();
    assert!(
        text.ends_with("\";\n") && text.lines().count() < 31,
        "{text}"
    );
    for out in [&whole, &full] {
        let ran = megaton(&[&MAKE[..], &["--out", out]].concat());
        assert_eq!(ran.status, Some(0), "{ran:?}");
    }
    assert_eq!(
        fs::read_to_string(&whole).unwrap(),
        fs::read_to_string(&full).unwrap()
    );
}
