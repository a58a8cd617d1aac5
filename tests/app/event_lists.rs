//! `megaton challenges` and `megaton events`.

use std::sync::Arc;

use megaton::archive::{
    ArchiveEntry, ChallengeRecord, ChallengeVerdict, Database, Direction, EventRecord,
    PlayerRecord, TimeControlRecord,
};
use megaton::lichess::Speed;
use serde_json::Value;

use super::records::{BEGAN, DAY, Ground};

pub(super) fn challenge(id: &str, at: u64, name: &str) -> ChallengeRecord {
    ChallengeRecord {
        id: id.to_owned(),
        at,
        direction: Direction::In,
        user: PlayerRecord {
            id: Some(name.to_lowercase()),
            name: name.to_owned(),
            rating: Some(1900),
            ..PlayerRecord::default()
        },
        rated: true,
        variant: "atomic".to_owned(),
        speed: Speed::Blitz,
        control: TimeControlRecord::Clock {
            initial: 180_000,
            increment: 2000,
        },
        color: None,
        verdict: ChallengeVerdict::Accepted,
        reason: None,
        rule: None,
        why: None,
        settled: Some(at + 100),
        json: None,
    }
}

fn event(at: u64, kind: &str, text: &str, game: Option<&str>) -> ArchiveEntry {
    ArchiveEntry::Event(Arc::new(EventRecord {
        at,
        kind: kind.to_owned(),
        text: text.to_owned(),
        game: game.map(str::to_owned),
    }))
}

/// A challenge a day: taken, declined, and one of ours that the server refused. An event an hour.
fn with_notes() -> Ground {
    let ground = Ground::new();
    let mut declined = challenge("decl0002", BEGAN + DAY, "Blast");
    declined.verdict = ChallengeVerdict::Declined;
    declined.reason = Some("later".to_owned());
    declined.rule = Some("NoSlot".to_owned());
    declined.why = Some("all slots are taken, \"8\" of them".to_owned());
    declined.user.title = Some("BOT".to_owned());
    let mut failed = challenge("fail0003", BEGAN + 2 * DAY, "Nuke");
    failed.verdict = ChallengeVerdict::Failed;
    failed.direction = Direction::Out;
    failed.rated = false;
    let asked = [challenge("took0001", BEGAN, "Nuke"), declined, failed];
    let mut entries: Vec<ArchiveEntry> =
        asked.map(|it| ArchiveEntry::Challenge(Arc::new(it))).into();
    let hour = DAY / 24;
    entries.extend([
        event(BEGAN, "offline", "reset by peer", None),
        event(BEGAN + hour, "online", "the event stream is open", None),
        event(
            BEGAN + 2 * hour,
            "limited",
            "POST move: 429",
            Some("took0001"),
        ),
        event(BEGAN + 3 * hour, "operator", "pause: it is paused", None),
    ]);
    ground.keep(&entries);
    ground
}

#[test]
fn challenges_are_listed_in_three_forms_and_by_every_filter() {
    let ground = with_notes();
    let table = ground.told(&["challenges"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 4, "{table}");
    assert!(lines[0].starts_with("created"), "{table}");
    assert!(lines[1].contains("fail0003   out        Nuke"), "{table}");
    assert!(lines[1].contains("casual  failed"), "{table}");
    assert!(
        lines[2].contains(
            "in         BOT Blast    1900  3+2   rated   declined (later)  NoSlot  all slots"
        ),
        "{table}"
    );
    assert!(
        lines[3].starts_with("2026-11-21 13:05  took0001"),
        "{table}"
    );
    let json = ground.told(&["challenges", "--json"]);
    assert_eq!(json, ground.told(&["challenges", "--format", "json"]));
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json[1]["verdict"], "declined");
    assert_eq!(json[1]["reason"], "later");
    assert_eq!(json[1]["rule"], "NoSlot");
    assert_eq!(json[1]["opponent_title"], "BOT");
    assert_eq!(json[0]["direction"], "out");
    assert_eq!(json[0]["why"], Value::Null);
    assert_eq!(json[2]["at"], "2026-11-21T13:05:59Z");
    assert_eq!(json[2]["url"], "http://127.0.0.1:9/took0001");
    let csv = ground.told(&["challenges", "--csv", "--oldest", "--limit", "2"]);
    assert!(csv.starts_with("id,at,direction,opponent,"), "{csv}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(
        csv.contains("\ntook0001,2026-11-21T13:05:59Z,in,Nuke,"),
        "{csv}"
    );
    assert!(
        csv.contains("\"all slots are taken, \"\"8\"\" of them\""),
        "{csv}"
    );
    for (filter, expected) in [
        (&["--verdict", "declined"][..], "decl0002"),
        (&["--verdict", "accepted"], "took0001"),
        (&["--opponent", "BLAST"], "decl0002"),
        (&["--direction", "out"], "fail0003"),
        (&["--opponent", "nuke", "--direction", "in"], "took0001"),
        (&["--since", "2026-11-23"], "fail0003"),
        (&["--until", "2026-11-22"], "took0001"),
        (&["--limit", "1"], "fail0003"),
        (&["--limit", "1", "--oldest"], "took0001"),
    ] {
        let told = ground.told(&[&["challenges"], filter].concat());
        assert!(
            told.lines().count() == 2 && told.contains(expected),
            "{filter:?}: {told}"
        );
    }
    let none = ["challenges", "--opponent", "nobody"];
    assert_eq!(ground.told(&none), "no such challenges\n");
    assert_eq!(ground.told(&[&none[..], &["--json"]].concat()), "[]\n");
}

#[test]
fn events_are_listed_in_three_forms_and_by_every_filter() {
    let ground = with_notes();
    let table = ground.told(&["events"]);
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 5, "{table}");
    assert!(
        lines[1].starts_with("2026-11-21 16:05:59  operator  -         pause: it is paused"),
        "{table}"
    );
    assert!(
        lines[2].contains("limited   took0001  POST move: 429"),
        "{table}"
    );
    let json: Value = serde_json::from_str(&ground.told(&["events", "--json"])).expect("JSON");
    assert_eq!(json[1]["url"], "http://127.0.0.1:9/took0001");
    assert_eq!(json[3]["game"], Value::Null);
    assert_eq!(json[3]["at"], "2026-11-21T13:05:59Z");
    let csv = ground.told(&["events", "--csv"]);
    assert!(csv.starts_with("at,kind,text,game,url\n"), "{csv}");
    for (filter, count, expected) in [
        (&["--kind", "limited"][..], 1, "POST move"),
        (&["--kind", "offline,online"], 2, "reset by peer"),
        (
            &["--kind", "offline", "--kind", "online"],
            2,
            "reset by peer",
        ),
        (&["--game", "took0001"], 1, "POST move"),
        (&["--game", "https://lichess.org/took0001"], 1, "POST move"),
        (&["--since", "2026-11-21 15:00"], 2, "POST move"),
        (&["--until", "2026-11-21T14:00"], 1, "reset by peer"),
        (&["--limit", "3"], 3, "POST move"),
    ] {
        let told = ground.told(&[&["events"], filter].concat());
        assert!(
            told.lines().count() == count + 1 && told.contains(expected),
            "{filter:?}: {told}"
        );
    }
    assert_eq!(
        ground.told(&["events", "--game", "other000"]),
        "no such events\n"
    );
    assert_eq!(
        ground.told(&["events", "--kind", "limit"]),
        "no such events; known kinds: limited, offline, online, operator\n"
    );
    assert_eq!(
        ground.told(&["events", "--kind", "limit", "--json"]),
        "[]\n"
    );
}

#[test]
fn invalid_filters_are_named() {
    let ground = with_notes();
    for (wrong, said) in [
        (&["challenges", "--since", "yesterday"][..], "yesterday"),
        (&["challenges", "--verdict", "maybe"], "declined"),
        (&["challenges", "--direction", "up"], "up"),
        (&["challenges", "--json", "--csv"], "--csv"),
        (
            &["events", "--until", "soon"],
            "--until \"soon\": use a date",
        ),
        (
            &["events", "--since", "1d", "--until", "2d"],
            "--since must be before --until",
        ),
        (&["events", "--limit", "5", "--all"], "--all"),
    ] {
        let ran = ground.run(wrong);
        assert_eq!(ran.status, Some(2), "{wrong:?}: {}", ran.stdout);
        assert!(ran.stderr.contains(said), "{wrong:?}: {}", ran.stderr);
    }
    let bare = Ground::new();
    for command in ["challenges", "events"] {
        let ran = bare.run(&[command]);
        assert_eq!(ran.status, Some(2), "{command}");
        assert!(ran.stderr.contains("there is no archive"), "{}", ran.stderr);
    }
}

#[test]
fn notes_are_read_while_the_bot_holds_the_archive_open_and_writes() {
    let ground = with_notes();
    let mut writer = Database::open(&ground.archive(), BEGAN).expect("an archive");
    let late = event(BEGAN + 3 * DAY, "alert", "disk: it is full", None);
    writer.commit(&[late]).expect("it is written");
    let told = ground.told(&["events", "--kind", "alert"]);
    assert!(told.contains("disk: it is full"), "{told}");
    let many = (0..1500).map(|n| event(BEGAN + n / 70, "search", &format!("late {n}"), None));
    let many: Vec<ArchiveEntry> = many.collect();
    writer.commit(&many).expect("they are written");
    let all = ground.told(&["events", "--kind", "search", "--all", "--csv"]);
    assert_eq!(all.lines().count(), 1501, "each of a moment once");
    assert!(all.contains("late 0,") && all.contains("late 1499,"));
    drop(writer);
}
