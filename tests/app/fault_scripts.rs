//! `megaton practice` with faults from a file.

use std::fs;

use super::program::megaton;

#[test]
fn a_practice_with_scripted_faults_is_played_cleanly() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("faults.toml");
    let text = "[[fault]]\nkind = \"lose-reply\"\ntimes = 2\n\
                [[fault]]\nkind = \"answer\"\nstatus = 502\nphase = \"posting\"\nply = 4\n\
                [[fault]]\nkind = \"break\"\nphase = \"our-turn\"\nply = 6\n\
                [[fault]]\nkind = \"talks\"\n";
    fs::write(&file, text).expect("a script");
    let script = file.to_str().expect("a path in text");
    let ran = megaton(&["practice", "--games", "2", "--headless", "--faults", script]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("2 of 2 games: "), "{}", ran.stdout);
}

#[test]
fn a_script_with_a_mistake_is_refused_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("faults.toml");
    fs::write(&file, "\n[[fault]]\nkind = \"earthquake\"\n").expect("a script");
    let script = file.to_str().expect("a path in text");
    let ran = megaton(&["practice", "--games", "1", "--headless", "--faults", script]);
    assert_eq!(ran.status, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(
        ran.stderr.contains("line 3: kind = \"earthquake\""),
        "{}",
        ran.stderr
    );
}
