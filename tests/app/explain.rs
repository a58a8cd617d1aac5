//! `megaton explain-challenge` as a user runs it.

use std::fs;
use std::io::Write;
use std::process::Stdio;
use std::sync::Arc;

use megaton::archive::{ArchiveEntry, ChallengeRecord, ChallengeVerdict, Direction};

use crate::event_lists::challenge;
use crate::program::{command, megaton};
use crate::records::{BEGAN, Ground};

const CHALLENGE: &str = r#"{"type":"challenge","challenge":{"id":"q7ZxVt2B","status":"created",
    "challenger":{"id":"blastcap","name":"BlastCap","rating":1874},
    "destUser":{"id":"atomforgebot","name":"AtomForgeBot","title":"BOT"},
    "variant":{"key":"atomic","name":"Atomic","short":"Atom"},"rated":true,"speed":"blitz",
    "timeControl":{"type":"clock","limit":180,"increment":2,"show":"3+2"},"color":"random",
    "finalColor":"white"},"compat":{"bot":true,"board":true}}"#;

/// A folder with a challenge, a config, and a list of names.
fn folder(config: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    write("challenge.json", CHALLENGE).expect("written");
    write("config.toml", config).expect("written");
    write("foes.txt", "# stalls\nBLASTCAP\n").expect("written");
    folder
}

#[test]
fn a_challenge_within_the_rules_is_accepted_with_status_0() {
    let folder = folder("");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let ran = megaton(&[
        "explain-challenge",
        "--config",
        &at("config.toml"),
        &at("challenge.json"),
    ]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(
        ran.stdout,
        "asked    BlastCap (human, 1874): rated atomic 180 s + 2 s\nverdict  accept\n"
    );
}

#[test]
fn the_answer_does_not_depend_on_a_reader() {
    let folder = folder("[challenge]\nblock = [\"blastcap\"]\n");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let words = [
        "explain-challenge",
        "-c",
        &at("config.toml"),
        &at("challenge.json"),
    ];
    let mut child = command(&words)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    assert_eq!(
        child.wait().expect("it ends").code(),
        Some(1),
        "it would decline"
    );
}

#[test]
fn the_level_of_a_casual_game_is_told() {
    let folder = folder("[engine]\ncasual_level = \"hard\"\n");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let casual = CHALLENGE.replace(r#""rated":true"#, r#""rated":false"#);
    fs::write(at("casual.json"), casual).expect("written");
    let config = at("config.toml");
    let told = |file: &str| megaton(&["explain-challenge", "-c", &config, &at(file)]).stdout;
    assert!(told("casual.json").ends_with("verdict  accept\nlevel    hard\n"));
    assert!(told("challenge.json").ends_with("verdict  accept\n"));
    let check = megaton(&["check", "--offline", "-c", &config]).stdout;
    assert!(
        check.contains("; casual games against humans at level hard\n"),
        "{check}"
    );
}

#[test]
fn every_violation_is_printed_with_status_1() {
    let folder = folder(
        "[challenge]\nblock = [\"file:foes.txt\", \"file:nowhere.txt\"]\n\
         [challenge.humans]\nrated = false\nmax_base = 60\n",
    );
    let at = |name: &str| folder.path().join(name).display().to_string();
    let config = at("config.toml");
    let ran = megaton(&["explain-challenge", "-c", &config, &at("challenge.json")]);
    assert_eq!(ran.status, Some(1), "{}", ran.stderr);
    assert_eq!(ran.stderr, "");
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines[1], "verdict  decline, with the reason \"generic\"");
    assert!(
        lines[2].starts_with("because  the challenger is blocked ([challenge] block: file:"),
        "{lines:?}"
    );
    assert_eq!(
        lines[3],
        "also     initial time too long (180 s, max_base = 60)"
    );
    assert_eq!(
        lines[4],
        "also     rated games are not accepted (rated = false)"
    );
    assert!(lines[5].contains("nowhere.txt: No such file"), "{lines:?}");
}

#[test]
fn stdin_is_read_and_an_invalid_challenge_ends_with_status_2() {
    let folder = folder("");
    let fed = |text: &str| {
        let mut child = command(&["explain-challenge", "-"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(text.as_bytes()).expect("written");
        drop(stdin);
        let output = child.wait_with_output().expect("an end");
        let said = String::from_utf8(output.stderr).expect("text");
        (output.status.code(), said)
    };
    assert_eq!(fed(CHALLENGE), (Some(0), String::new()));
    let (status, said) = fed("{\"id\": 3,\n oops}");
    assert_eq!(status, Some(2));
    assert_eq!(
        said,
        "megaton: stdin: invalid JSON: key must be a string at line 2 column 2\n"
    );
    let missing = megaton(&["explain-challenge", "/nowhere/at/all.json"]);
    assert_eq!(missing.status, Some(2));
    assert!(
        missing
            .stderr
            .contains("/nowhere/at/all.json: No such file")
    );
}

#[test]
fn check_reads_the_lists_too() {
    let folder = folder(
        "[challenge]\nblock = [\"file:foes.txt\", \"file:nowhere.txt\", \"https://example.org/x\"]\n",
    );
    let config = folder.path().join("config.toml").display().to_string();
    let ran = megaton(&["check", "--offline", "--config", &config]);
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    let lists: Vec<&str> = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("lists"))
        .collect();
    assert_eq!(lists.len(), 2, "{lists:?}");
    assert!(lists[0].ends_with("foes.txt: one name"), "{lists:?}");
    assert!(!lists[0].contains("WARNING"), "{lists:?}");
    assert!(
        lists[1].contains("WARNING: file:") && lists[1].contains("nowhere.txt: No such file"),
        "{lists:?}"
    );
    fs::write(folder.path().join("foes.txt"), "BLASTCAP\nnot a name\n").expect("written");
    let said = megaton(&["check", "--offline", "--config", &config]).stdout;
    let warned = said.lines().find(|line| line.contains("WARNING: file:"));
    let warned = warned.expect("a warning");
    let skipped = "foes.txt: one name; line 2 is no account name";
    assert!(warned.ends_with(skipped), "{warned}");
}

/// An archive with this challenge, and the verdict on it.
fn archived(json: Option<&str>, direction: Direction) -> Ground {
    let ground = Ground::new();
    let record = ChallengeRecord {
        id: "q7ZxVt2B".to_owned(),
        direction,
        verdict: ChallengeVerdict::Declined,
        reason: Some("casual".to_owned()),
        rule: Some("NoRated".to_owned()),
        why: Some("rated games are not accepted (rated = false)".to_owned()),
        json: json.map(Into::into),
        ..challenge("q7ZxVt2B", BEGAN, "BlastCap")
    };
    ground.keep(&[ArchiveEntry::Challenge(Arc::new(record))]);
    ground
}

#[test]
fn an_archived_challenge_is_judged_again_and_what_differs_is_shown() {
    let ground = archived(Some(CHALLENGE), Direction::In);
    let then = "then     2026-11-21 13:05, declined, with the reason casual, rule NoRated: rated \
                games are not accepted (rated = false)\n";
    assert_eq!(
        ground.told(&["explain-challenge", "q7ZxVt2B"]),
        format!(
            "asked    BlastCap (human, 1874): rated atomic 180 s + 2 s\nverdict  accept\n{then}\
             differs  verdict declined then, accepted now; reason casual then, none now; rule \
             NoRated then, none now\n"
        )
    );
    ground.append_config("[challenge.humans]\nrated = false\n");
    let ran = ground.run(&["explain-challenge", "q7ZxVt2B"]);
    assert_eq!(ran.status, Some(1), "{}", ran.stderr);
    assert!(ran.stdout.ends_with("differs  nothing\n"), "{}", ran.stdout);
}

#[test]
fn our_rating_then_counts_for_an_archived_challenge() {
    let rated = CHALLENGE.replace(r#""title":"BOT""#, r#""title":"BOT","rating":2500"#);
    let ground = archived(Some(&rated), Direction::In);
    ground.append_config("[challenge.humans]\nmax_rating_difference = 100\n");
    let ran = ground.run(&["explain-challenge", "q7ZxVt2B"]);
    assert!(ran.stdout.contains("too far from ours"), "{}", ran.stdout);
    let near = ground.run(&["explain-challenge", "q7ZxVt2B", "--rating", "1900"]);
    assert_eq!(near.status, Some(0), "{}", near.stdout);
}

#[test]
fn an_archived_challenge_that_cannot_be_judged_is_explained() {
    for (json, direction, id, expected) in [
        (None, Direction::In, "q7ZxVt2B", "has no JSON of it"),
        (
            Some(CHALLENGE),
            Direction::Out,
            "q7ZxVt2B",
            "the bot sent it",
        ),
        (
            Some(CHALLENGE),
            Direction::In,
            "q7ZxVt2C",
            "no challenge q7ZxVt2C in ",
        ),
    ] {
        let ran = archived(json, direction).run(&["explain-challenge", id]);
        assert_eq!(ran.status, Some(2), "{}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
}
