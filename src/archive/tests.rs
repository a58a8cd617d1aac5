//! Records through the file and back, files that cannot be used, and a disk that fills up.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;

use super::*;
use crate::engine::Score;
use crate::lichess::{Side, Speed, Status};

pub(super) fn ground() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    (folder, path)
}

/// A blitz game that we won as White, begun at that second.
pub(super) fn game(id: &str, began: Millis, opponent: &str) -> GameRecord {
    let own = |uci: &str, at, clock| MoveRecord {
        at: Some(at),
        clock: Some(clock),
        spent: Some(900),
        score: Some(Score::Cp(35)),
        depth: Some(12),
        seldepth: Some(20),
        nodes: Some(123_456),
        time: Some(800),
        source: Source::Engine,
        lag: Some(40),
        line: "g1f3 f7f6".to_owned(),
        ..MoveRecord::bare(uci)
    };
    let began = began * 1000;
    GameRecord {
        id: id.to_owned(),
        white: PlayerRecord {
            id: Some("megaton".to_owned()),
            name: "Megaton".to_owned(),
            title: Some("BOT".to_owned()),
            rating: Some(2000),
            provisional: false,
            rating_diff: Some(5),
        },
        black: PlayerRecord {
            id: Some(opponent.to_lowercase()),
            name: opponent.to_owned(),
            rating: Some(1900),
            ..PlayerRecord::default()
        },
        us: Some(Side::White),
        rated: true,
        speed: Speed::Blitz,
        control: TimeControlRecord::Clock {
            initial: 180_000,
            increment: 2000,
        },
        created: Some(began),
        joined: began + 50,
        origin: Origin::Incoming,
        program: Some("Megaton 0.1.0".to_owned()),
        moves: vec![
            own("g1f3", began + 1000, 180_000),
            MoveRecord::bare("a7a6"),
            own("f3g5", began + 3000, 9_000),
            MoveRecord::bare("a6a5"),
            own("g5f7", began + 5000, 8_000),
        ],
        ending: Some(EndingRecord {
            status: Status::VariantEnd,
            winner: Some(Side::White),
            at: began + 6000,
        }),
        ..GameRecord::default()
    }
}

/// A rated blitz challenge to us that waits, seen at that millisecond.
pub(super) fn challenge(id: &str, at: Millis, user: &str) -> ChallengeRecord {
    let like = game(id, 1, user);
    ChallengeRecord {
        id: id.to_owned(),
        at,
        direction: Direction::In,
        user: like.black,
        rated: true,
        variant: "atomic".to_owned(),
        speed: like.speed,
        control: like.control,
        color: None,
        verdict: ChallengeVerdict::Waiting,
        reason: None,
        rule: None,
        why: None,
        settled: None,
        json: None,
    }
}

pub(super) fn keep(disk: &mut Database, game: &GameRecord) {
    disk.commit(&[ArchiveEntry::Game(Arc::new(game.clone()))])
        .unwrap();
}

#[test]
fn every_stored_record_reads_back() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let won = game("abcdefgh", 1000, "Nuke");
    let asked = ChallengeRecord {
        direction: Direction::Out,
        color: Some(Side::White),
        ..challenge("abcdefgh", 999, "Nuke")
    };
    let answered = ChallengeRecord {
        verdict: ChallengeVerdict::Declined,
        reason: Some("later".to_owned()),
        settled: Some(1005),
        ..asked.clone()
    };
    let with_json = ChallengeRecord {
        json: Some(r#"{"id":"abcdefgh"}"#.into()),
        ..answered.clone()
    };
    let event = EventRecord {
        at: 1_003_000,
        kind: "stream".to_owned(),
        text: "lost: reset".to_owned(),
        game: Some("abcdefgh".to_owned()),
    };
    disk.commit(&[
        ArchiveEntry::Game(Arc::new(won.clone())),
        ArchiveEntry::Challenge(Arc::new(asked)),
        ArchiveEntry::Challenge(Arc::new(with_json.clone())),
        ArchiveEntry::Event(Arc::new(event.clone())),
    ])
    .unwrap();
    let reader = ArchiveReader::open(&path).unwrap();
    let mut known = reader.game("abcdefgh").unwrap().unwrap();
    assert_eq!(known.moves[4].san.as_deref(), Some("Nxf7#"));
    for made in &mut known.moves {
        made.san = None;
    }
    assert_eq!(known, won);
    assert_eq!(reader.game("other").unwrap(), None);
    assert_eq!(
        reader.challenges(9).unwrap(),
        std::slice::from_ref(&answered)
    );
    // The lists leave the JSON in the file; a later record without any keeps what is there.
    assert_eq!(
        reader.challenge("abcdefgh").unwrap().as_ref(),
        Some(&with_json)
    );
    disk.commit(&[ArchiveEntry::Challenge(Arc::new(answered))])
        .unwrap();
    assert_eq!(reader.challenge("abcdefgh").unwrap(), Some(with_json));
    assert_eq!(reader.challenge("other").unwrap(), None);
    assert_eq!(reader.events(9).unwrap(), std::slice::from_ref(&event));
    assert_eq!(reader.events_of(&won).unwrap(), [event]);
    assert_eq!(reader.account().unwrap().as_deref(), Some("megaton"));
    assert_eq!(reader.ids_like("abc").unwrap(), ["abcdefgh"]);
    let line = &reader
        .games(&Filter::default(), Order::Newest, 9, None)
        .unwrap()[0];
    assert_eq!(line.result, Some(Outcome::Win));
    assert_eq!(
        (line.plies, line.hurried, line.least_clock),
        (5, 2, Some(8_000))
    );
    assert_eq!(
        (line.opening.as_str(), line.lag),
        ("g1f3 a7a6 f3g5 a6a5 g5f7", Some(40))
    );
}

#[test]
fn a_rewritten_game_keeps_details_of_the_earlier_record() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let mut first = game("abcdefgh", 1000, "Nuke");
    first.ending = None;
    first.moves.truncate(4);
    keep(&mut disk, &first);
    // After a restart the server reports the moves, and no details are known.
    let mut again = first.clone();
    again.joined += 9000;
    again.origin = Origin::Unknown;
    again.moves = ["g1f3", "a7a6", "f3g5", "a6a5", "g5f7"]
        .map(MoveRecord::bare)
        .into();
    keep(&mut disk, &again);
    let known = disk.game("abcdefgh").unwrap().unwrap();
    assert_eq!(known.moves[..4], first.moves[..]);
    assert_eq!(known.moves[4], MoveRecord::bare("g5f7"));
    assert_eq!(
        (known.joined, known.origin),
        (first.joined, Origin::Incoming)
    );
    // A takeback shortens the game, and another move replaces the old one.
    again.moves.truncate(2);
    again.moves.push(MoveRecord::bare("e2e4"));
    keep(&mut disk, &again);
    let known = disk.game("abcdefgh").unwrap().unwrap();
    assert_eq!(known.moves.len(), 3);
    assert_eq!(known.moves[2], MoveRecord::bare("e2e4"));
    assert_eq!(disk.unfinished(0).unwrap(), [known]);
}

#[test]
fn an_export_of_a_game_whose_end_was_seen_adds_only_its_rating_changes() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let mut seen = game("abcdefgh", 1000, "Nuke");
    seen.white.rating_diff = None;
    keep(&mut disk, &seen);
    let mut exported = seen.clone();
    exported.joined = exported.began();
    exported.ending.as_mut().unwrap().at -= 900;
    (exported.white.rating_diff, exported.black.rating_diff) = (Some(5), Some(-5));
    keep(&mut disk, &exported);
    let known = disk.game("abcdefgh").unwrap().unwrap();
    (seen.white.rating_diff, seen.black.rating_diff) = (Some(5), Some(-5));
    assert_eq!(known, seen);
}

#[test]
fn the_last_events_of_a_game_with_very_many_are_returned() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let long = game("abcdefgh", 1, "Nuke");
    keep(&mut disk, &long);
    let events = (0..1100).map(|number| {
        ArchiveEntry::Event(Arc::new(EventRecord {
            at: 1_000 + number,
            kind: "stream".to_owned(),
            text: format!("lost: {number}"),
            game: Some("abcdefgh".to_owned()),
        }))
    });
    disk.commit(&events.collect::<Vec<_>>()).unwrap();
    let told = ArchiveReader::open(&path)
        .unwrap()
        .events_of(&long)
        .unwrap();
    let text = |event: Option<&EventRecord>| event.unwrap().text.clone();
    assert_eq!(told.len(), 1000);
    assert_eq!(text(told.first()), "lost: 100", "the earliest first");
    assert_eq!(text(told.last()), "lost: 1099");
}

type Set = fn(&mut Filter);

#[test]
fn games_are_found_by_every_condition_and_listed_page_by_page() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    for number in 0..10_u64 {
        let mut one = game(&format!("game{number:04}"), 1000 + number / 2, "Nuke");
        if number == 3 {
            one.us = Some(Side::Black);
            one.speed = Speed::Bullet;
            one.rated = false;
        }
        if number == 4 {
            one.ending = Some(EndingRecord {
                status: Status::OutOfTime,
                winner: Some(Side::Black),
                at: 9,
            });
        }
        if number == 5 {
            one.ending = None;
        }
        keep(&mut disk, &one);
    }
    let reader = ArchiveReader::open(&path).unwrap();
    let find = |filter: &Filter| -> Vec<String> {
        let lines = reader.games(filter, Order::Oldest, 99, None).unwrap();
        lines.into_iter().map(|line| line.game.id).collect()
    };
    let any = Filter::default;
    let conditions: [(usize, Set); 15] = [
        (10, |_| {}),
        (9, |filter| filter.opponent = Some("NUKE".into())),
        (0, |filter| filter.opponent = Some("' OR 1 --".into())),
        (1, |filter| filter.us = Some(Side::Black)),
        (1, |filter| filter.speed = Some(Speed::Bullet)),
        (9, |filter| filter.rated = Some(true)),
        (1, |filter| filter.bots = Some(true)),
        (1, |filter| filter.result = Some(ResultFilter::Running)),
        (0, |filter| filter.result = Some(ResultFilter::Void)),
        (2, |filter| {
            filter.result = Some(ResultFilter::Result(Outcome::Loss));
        }),
        (2, |filter| filter.since = Some(1_004_000)),
        (8, |filter| filter.until = Some(1_004_000)),
        (10, |filter| filter.opening = Some("g1f3 a7a6".into())),
        (0, |filter| filter.opening = Some("g1f3 a7a5".into())),
        (0, |filter| filter.opening = Some("g1f".into())),
    ];
    for (games, set) in conditions {
        let mut filter = any();
        set(&mut filter);
        assert_eq!(find(&filter).len(), games, "{filter:?}");
    }
    let lost_on_time = Filter {
        result: Some(ResultFilter::Result(Outcome::Loss)),
        status: vec![Status::OutOfTime, Status::Timeout],
        ..any()
    };
    assert_eq!(find(&lost_on_time), ["game0004"]);
    for order in [Order::Newest, Order::Oldest] {
        let all = reader.games(&any(), order, 99, None).unwrap();
        let mut paged: Vec<GameLine> = Vec::new();
        loop {
            let mark = paged.last().map(GameLine::mark);
            let page = reader.games(&any(), order, 3, mark.as_ref()).unwrap();
            if page.is_empty() {
                break;
            }
            paged.extend(page);
        }
        assert_eq!(paged, all);
    }
}

#[test]
fn a_file_that_cannot_be_used_is_named_and_left_as_it_is() {
    let (folder, path) = ground();
    assert_eq!(
        ArchiveReader::open(&path).unwrap_err(),
        ArchiveError::Missing(path.clone())
    );
    fs::write(
        &path,
        "this is no database, whatever its name says; it is only text",
    )
    .unwrap();
    let before = fs::read(&path).unwrap();
    for error in [
        Database::open(&path, 1).unwrap_err(),
        ArchiveReader::open(&path).unwrap_err(),
    ] {
        assert!(matches!(error, ArchiveError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("restore a backup"), "{error}");
    }
    assert_eq!(fs::read(&path).unwrap(), before);
    // A file of another program.
    let other = folder.path().join("other.db");
    let db = Connection::open(&other).unwrap();
    db.execute_batch("CREATE TABLE notes (x)").unwrap();
    drop(db);
    let error = Database::open(&other, 1).unwrap_err();
    assert!(error.to_string().contains("another program"), "{error}");
    // A file of a later version.
    let later = folder.path().join("later.db");
    drop(Database::open(&later, 1).unwrap());
    let db = Connection::open(&later).unwrap();
    db.execute("INSERT INTO schema (version, at) VALUES (99, 0)", [])
        .unwrap();
    drop(db);
    for error in [
        Database::open(&later, 1).unwrap_err(),
        ArchiveReader::open(&later).unwrap_err(),
    ] {
        assert!(
            matches!(error, ArchiveError::Newer { found: 99, .. }),
            "{error}"
        );
    }
    // A folder that does not exist.
    let error = Database::open(&folder.path().join("no/such/folder.db"), 1).unwrap_err();
    assert!(error.may_pass(), "{error}");
}

#[test]
fn a_corrupt_page_is_an_error_and_never_a_new_file() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    for number in 0..200 {
        keep(
            &mut disk,
            &game(&format!("game{number:04}"), number, "Nuke"),
        );
    }
    drop(disk);
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[8192..length / 2].fill(0x55);
    fs::write(&path, &bytes).unwrap();
    let error = Database::open(&path, 1).unwrap_err();
    assert!(matches!(error, ArchiveError::Damaged { .. }), "{error}");
    // Nor is it the fault of a copy.
    let reader = ArchiveReader::open(&path);
    let copied = reader.and_then(|reader| reader.backup(&path.with_file_name("copy.db")));
    let error = copied.unwrap_err();
    assert!(matches!(error, ArchiveError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&path.display().to_string()));
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn a_full_disk_loses_new_records_and_no_stored_ones() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    keep(&mut disk, &game("first000", 1, "Nuke"));
    disk.limit(40);
    let mut refused = None;
    for number in 0..2000 {
        let entry = ArchiveEntry::Game(Arc::new(game(&format!("more{number:04}"), 2, "Nuke")));
        if let Err(error) = disk.commit(&[entry]) {
            refused = Some(error);
            break;
        }
    }
    let error = refused.expect("the disk is full");
    assert!(
        error.may_pass() && error.to_string().contains("full"),
        "{error}"
    );
    assert!(disk.game("first000").unwrap().is_some());
    disk.limit(100_000);
    keep(&mut disk, &game("last0000", 3, "Nuke"));
    assert!(
        ArchiveReader::open(&path)
            .unwrap()
            .game("last0000")
            .unwrap()
            .is_some()
    );
}

#[test]
fn old_games_are_pruned_and_running_ones_stay() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    for number in 1..=700 {
        keep(&mut disk, &game(&format!("old{number:05}"), number, "Nuke"));
    }
    keep(&mut disk, &game("undated0", 0, "Nuke"));
    let mut running = game("running0", 5, "Nuke");
    running.ending = None;
    keep(&mut disk, &running);
    keep(&mut disk, &game("new00000", 5000, "Nuke"));
    let told = disk.prune(1_000_000, Prune::Details).unwrap();
    assert_eq!(told.games, 700);
    let thin = disk.game("old00003").unwrap().unwrap();
    assert_eq!(thin.moves[0].clock, Some(180_000));
    assert!(thin.moves[0].score.is_none() && thin.moves[0].line.is_empty());
    assert_eq!(disk.prune(1_000_000, Prune::Details).unwrap().games, 0);
    let length = || fs::metadata(&path).unwrap().len();
    let before = length();
    assert_eq!(disk.prune(1_000_000, Prune::Games).unwrap().games, 700);
    assert!(length() < before / 3, "{} of {before} bytes", length());
    let reader = ArchiveReader::open(&path).unwrap();
    let undated = reader.game("undated0").unwrap().unwrap();
    assert!(undated.moves[0].score.is_some(), "nobody knows its age");
    assert_eq!(reader.prunable(Millis::MAX).unwrap(), 1, "one runs");
    assert!(
        reader.game("new00000").unwrap().unwrap().moves[0]
            .score
            .is_some()
    );
}

#[test]
fn a_backup_is_whole_and_replaces_nothing() {
    let (folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    keep(&mut disk, &game("abcdefgh", 1, "Nuke"));
    let reader = ArchiveReader::open(&path).unwrap();
    let to = folder.path().join("copy.db");
    fs::write(folder.path().join("copy.db.partial"), "cut off").unwrap();
    assert!(reader.backup(&to).unwrap() > 0);
    assert!(
        ArchiveReader::open(&to)
            .unwrap()
            .game("abcdefgh")
            .unwrap()
            .is_some()
    );
    assert!(Database::open(&to, 1).is_ok());
    let error = reader.backup(&to).unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    assert!(!folder.path().join("copy.db.partial").exists());
    assert!(reader.backup(&folder.path().join("no/copy.db")).is_err());
}

#[test]
fn a_backup_leaves_alone_what_another_writes() {
    let (folder, path) = ground();
    drop(Database::open(&path, 1).unwrap());
    let reader = ArchiveReader::open(&path).unwrap();
    let to = folder.path().join("copy.db");
    let [partial, locked] = ["partial", "lock"].map(|it| to.with_added_extension(it));
    // On NFS a lock on the copy itself would keep SQLite from writing it.
    let other = fs::File::create(&locked).unwrap();
    other.lock().unwrap();
    fs::write(&partial, "so far").unwrap();
    let error = reader.backup(&to).unwrap_err();
    assert!(error.to_string().contains("another backup"), "{error}");
    assert_eq!(fs::read_to_string(&partial).unwrap(), "so far");
    drop(other);
    assert!(reader.backup(&to).unwrap() > 0);
    assert!(ArchiveReader::open(&to).is_ok() && !partial.exists() && !locked.exists());
}

#[test]
fn a_game_belongs_to_the_day_on_which_it_ended() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    // Begun at 1000 s and over 6 s later, with midnight between.
    keep(&mut disk, &game("abcdefgh", 1000, "Nuke"));
    assert_eq!(disk.day(0, 1_003_000).unwrap(), Day::default());
    let day = disk.day(1_003_000, 2_000_000).unwrap();
    assert_eq!((day.speeds[0].wins, day.lag), (1, Some(40)));
    assert_eq!(disk.day(2_000_000, 3_000_000).unwrap(), Day::default());
}

#[test]
fn a_day_counts_its_aborted_games() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    for (number, status) in [Status::Aborted, Status::Aborted, Status::Resign]
        .into_iter()
        .enumerate()
    {
        let mut game = game(&format!("game{number:04}"), 1000, "Nuke");
        let ending = game.ending.as_mut().unwrap();
        ending.status = status;
        if status == Status::Aborted {
            ending.winner = None;
        }
        keep(&mut disk, &game);
    }
    let day = disk.day(900_000, 2_000_000).unwrap();
    assert_eq!((day.aborted, day.speeds[0].wins), (2, 1));
    let said = day.to_string();
    assert!(said.contains("; 2 aborted"), "{said}");
}

#[test]
fn a_day_names_the_new_opponents_that_beat_us() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let mut number = 0;
    let mut play = |began: u64, user: &str, winner: Side| {
        number += 1;
        let mut game = game(&format!("game{number:04}"), began, user);
        game.black.id = Some(user.to_lowercase());
        game.ending.as_mut().unwrap().winner = Some(winner);
        keep(&mut disk, &game);
    };
    // The day before: both are known since then, beaten or not.
    play(100, "Nuke", Side::Black);
    play(200, "Blast", Side::White);
    for user in ["Nuke", "Blast", "Fresh", "Twice", "Twice"] {
        play(1000, user, Side::Black);
    }
    play(1100, "Weak", Side::White);
    let day = disk.day(900_000, 2_000_000).unwrap();
    let winners = [("Twice".to_owned(), 2), ("Fresh".to_owned(), 1)];
    assert_eq!(day.new_winners, winners);
    let said = day.to_string();
    assert!(
        said.ends_with("; lost to new opponents Twice (2 times), Fresh"),
        "{said}"
    );
    let many = Day {
        new_winners: (1..=7).map(|number| (format!("N{number}"), 1)).collect(),
        ..Day::default()
    };
    let said = many.to_string();
    assert_eq!(
        said,
        "no games; lost to new opponents N1, N2, N3, N4, N5 and 2 more"
    );
}

#[test]
fn the_traffic_of_a_game_is_bounded_and_goes_with_it() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let line = |game: &str, at: Millis, text: String| {
        ArchiveEntry::Wire(Arc::new(WireRecord {
            game: game.to_owned(),
            at,
            kind: "in".to_owned(),
            text,
        }))
    };
    keep(&mut disk, &game("abcdefgh", 1000, "Nuke"));
    let mut lines = vec![line("abcdefgh", 1_000_000, "x".repeat(20_000))];
    lines.extend((1..4100).map(|number| line("abcdefgh", 1_000_000, format!("{number}"))));
    lines.push(line("other000", 2_000_000, "of another game".to_owned()));
    disk.commit(&lines).unwrap();
    let reader = ArchiveReader::open(&path).unwrap();
    let texts = |game: &str| {
        let wire = reader.wire(game).unwrap().into_iter();
        wire.map(|line| line.text).collect::<Vec<_>>()
    };
    let kept = texts("abcdefgh");
    assert_eq!(
        (kept.len(), kept[0].as_str(), kept[3999].as_str()),
        (4000, "(20000 bytes)", "3999")
    );
    assert_eq!(texts("other000"), ["of another game"]);
    disk.prune(1_500_000, Prune::Games).unwrap();
    assert_eq!(texts("abcdefgh"), Vec::<String>::new());
    assert_eq!(texts("other000").len(), 1, "still young");
    disk.prune(3_000_000, Prune::Games).unwrap();
    assert_eq!(
        texts("other000").len(),
        0,
        "of a game that was never stored"
    );
}

#[test]
fn the_json_of_a_challenge_goes_with_it() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let asked = |id: &str, at: Millis| {
        ArchiveEntry::Challenge(Arc::new(ChallengeRecord {
            json: Some("{}".into()),
            ..challenge(id, at, "Nuke")
        }))
    };
    disk.commit(&[asked("old00000", 1000), asked("new00000", 2000)])
        .unwrap();
    let count = || {
        let other = Connection::open(&path).unwrap();
        other
            .query_row("SELECT count(*) FROM challenge_json", [], |row| {
                row.get::<_, i64>(0)
            })
            .unwrap()
    };
    assert_eq!(count(), 2);
    disk.prune(1500, Prune::Games).unwrap();
    assert_eq!(count(), 1);
}

#[test]
fn a_read_never_waits_for_a_writer() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    keep(&mut disk, &game("abcdefgh", 1, "Nuke"));
    let mut running = game("runs0000", 2, "Nuke");
    running.ending = None;
    keep(&mut disk, &running);
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("BEGIN IMMEDIATE; DELETE FROM game")
        .unwrap();
    // A blocked writer would give up after a while.
    assert_eq!(disk.day(0, Millis::MAX).unwrap().speeds[0].wins, 1);
    assert_eq!(disk.unfinished(0).unwrap().len(), 1);
    assert_eq!(disk.next_unreviewed(0).unwrap(), None);
}

#[test]
fn a_slowly_read_list_blocks_no_one_and_is_complete() {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, 1).unwrap();
    let entries: Vec<ArchiveEntry> = (0..2500)
        .map(|number| game(&format!("game{number:04}"), number / 3, "Nuke"))
        .map(|game| ArchiveEntry::Game(Arc::new(game)))
        .collect();
    disk.commit(&entries).unwrap();
    let other = Connection::open(&path).unwrap();
    // The log can be merged while a reader looks at a line.
    let merged = || {
        other.query_row("PRAGMA wal_checkpoint(RESTART)", [], |row| {
            Ok(row.get::<_, i64>(0)? == 0)
        })
    };
    let reader = ArchiveReader::open(&path).unwrap();
    let mut ids = Vec::new();
    let listed = reader.each_line(&Filter::default(), Order::Newest, usize::MAX, |line| {
        ids.push(line.game.id);
        if ids.len().is_multiple_of(1200) {
            keep(&mut disk, &game("new00000", 9_000, "Nuke"));
            assert!(merged().unwrap(), "a reader is in the way");
        }
        Ok::<_, ArchiveError>(true)
    });
    listed.unwrap();
    let mut all: Vec<String> = (0..2500).map(|number| format!("game{number:04}")).collect();
    all.reverse();
    assert_eq!(ids, all);
    let mut games = Vec::new();
    let some = reader.each_game(&Filter::default(), Order::Oldest, 150, |game| {
        games.push(game.id);
        Ok::<_, ArchiveError>(games.len() < 120)
    });
    some.unwrap();
    assert_eq!((games.len(), games[119].as_str()), (120, "game0119"));
}

#[tokio::test]
async fn a_file_put_in_the_place_of_one_in_use_gets_the_next_game_and_keeps_its_log() {
    let (folder, path) = ground();
    let with = |name: &str, end: &str| folder.path().join(format!("{name}{end}"));
    let of = |path: &Path, id: &str| ArchiveReader::open(path).unwrap().game(id).unwrap();
    let writer = Writer::start(&path).unwrap();
    let mut backup = Database::open(&with("backup", ""), 1).unwrap();
    keep(&mut backup, &game("restored", 900, "Nuke"));
    let home = folder.path().to_owned();
    let replaced = writer.ask(move |disk| {
        keep(disk, &game("before01", 1000, "Nuke"));
        // Even while it is at work.
        let with = |name: &str, end: &str| home.join(format!("{name}{end}"));
        for end in ["", "-wal", "-shm"] {
            fs::rename(with(FILE_NAME, end), with("away.db", end)).unwrap();
        }
        // Its game is in the log alone.
        for end in ["", "-wal"] {
            fs::copy(with("backup", end), with(FILE_NAME, end)).unwrap();
        }
        Ok(())
    });
    replaced.await.unwrap();
    let after = writer.ask(|disk| {
        keep(disk, &game("after001", 1100, "Nuke"));
        Ok(())
    });
    after.await.unwrap();
    for (file, ids) in [
        (path, ["restored", "after001"].as_slice()),
        (with("away.db", ""), &["before01"]),
    ] {
        for id in ["restored", "before01", "after001"] {
            assert_eq!(
                of(&file, id).is_some(),
                ids.contains(&id),
                "{id} in {file:?}"
            );
        }
    }
}
