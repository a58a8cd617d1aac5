//! Files of every earlier format, opened by this version.

use std::path::Path;

use rusqlite::Connection;

use super::SCHEMA;
use crate::archive::tests::{game, ground, keep};
use crate::archive::{
    ArchiveEntry, ArchiveError, ArchiveReader, ChallengeRecord, ChallengeVerdict, Database,
    Direction, EndingRecord, EventRecord, Filter, GameRecord, MoveRecord, Order, Origin,
    PlayerRecord, ReviewRecord, Source, TimeControlRecord,
};
use crate::engine::Score;
use crate::lichess::{Side, Speed, Status};
use crate::sqlite::{Format, Schema};

/// When the old file was created, and when this version opens it.
const THEN: u64 = 5;
const NOW: u64 = 77;

/// The rows of a file of the first format: three games, won, lost and running, and the other
/// tables.
const ROWS: &str = "
    INSERT INTO game (
        n, id, began, created, joined, ended, us,
        white_id, white_name, white_title, white_rating, white_provisional, white_diff,
        black_id, black_name, black_title, black_rating, black_provisional, black_diff,
        rated, speed, control, fen, origin, tournament, program, status, winner, plies,
        result, opponent, opponent_bot, opening, rating, diff, opponent_rating,
        least_clock, hurried, lag
    ) VALUES (
        1, 'won00001', 1000000, 1000000, 1000050, 1006000, 'white',
        'megaton', 'Megaton', 'BOT', 2000, 0, 5, 'nuke', 'Nuke', NULL, 1900, 0, NULL,
        1, 'blitz', '180000+2000', NULL, 'incoming', NULL, 'Megaton 0.1.0', 'variantEnd', 'white', 5,
        'win', 'nuke', 0, 'g1f3 a7a6 f3g5 a6a5 g5f7', 2000, 5, 1900, 8000, 2, 40
    ), (
        2, 'lost0002', 2000000, 2000000, 2000050, 2006000, 'white',
        'megaton', 'Megaton', 'BOT', 2000, 0, -7, 'nuke', 'Nuke', NULL, 1900, 0, NULL,
        1, 'blitz', '180000+2000', NULL, 'arena', 'aBcD1234', NULL, 'outoftime', 'black', 2,
        'loss', 'nuke', 0, 'g1f3 a7a6', 2000, -7, 1900, 180000, 0, 40
    ), (
        3, 'runs0003', 3000000, NULL, 3000000, NULL, 'black',
        NULL, 'Anonymous', NULL, NULL, 1, NULL, 'megaton', 'Megaton', NULL, NULL, 0, NULL,
        0, 'correspondence', '2d', '8/8/8/8/8/8/P6k/K7 w - - 0 1', 'unknown', NULL, NULL, NULL, NULL, 1,
        NULL, 'anonymous', 0, 'a2a4', NULL, NULL, NULL, NULL, 0, NULL
    );
    INSERT INTO moves (game, packed) VALUES
        (1, 'g1f3 T1001000 c180000 u900 s35 d12 D20 n123456 e800 l40 oe pg1f3,f7f6;a7a6;f3g5 t2000 c9000 u900 s35 d12 D20 n123456 e800 l40 oe pg1f3,f7f6;a6a5;g5f7 t2000 c8000 u900 s35 d12 D20 n123456 e800 l40 oe pg1f3,f7f6'),
        (2, 'g1f3 T2001000 c180000 u900 s35 d12 D20 n123456 e800 l40 oe pg1f3,f7f6;a7a6'),
        (3, 'a2a4 m-3 ot');
    INSERT INTO challenge (
        id, at, direction, user_id, user_name, user_title, user_rating, user_provisional, rated,
        variant, speed, control, color, verdict, reason, rule, why, settled
    ) VALUES (
        'asked001', 999, 'in', 'nuke', 'Nuke', 'GM', 1900, 1, 1, 'atomic', 'blitz', '180000+2000',
        'white', 'declined', 'later', 'concurrency', 'no slot is free', 1005
    );
    INSERT INTO event (at, kind, text, game) VALUES
        (1003000, 'stream', 'lost: reset', 'won00001'), (1004000, 'start', 'megaton 0.1.0', NULL);
";

/// The rows added by the second format, which does not tell whether a review was given up.
const REVIEW: &str = r#"
    INSERT INTO review (game, at, data) VALUES (
        'lost0002', 2100000,
        '{"game":"lost0002","at":2100000,"program":"Megaton 0.1.0","positions":12,"mistake":null}'
    );
"#;

/// The same rows as records of this version.
fn games() -> [GameRecord; 3] {
    let won = game("won00001", 1000, "Nuke");
    let mut lost = game("lost0002", 2000, "Nuke");
    lost.white.rating_diff = Some(-7);
    lost.origin = Origin::Arena;
    lost.tournament = Some("aBcD1234".to_owned());
    lost.program = None;
    lost.moves.truncate(2);
    lost.ending = Some(EndingRecord {
        status: Status::OutOfTime,
        winner: Some(Side::Black),
        at: 2_006_000,
    });
    let runs = GameRecord {
        id: "runs0003".to_owned(),
        white: PlayerRecord {
            name: "Anonymous".to_owned(),
            provisional: true,
            ..PlayerRecord::default()
        },
        black: PlayerRecord {
            id: Some("megaton".to_owned()),
            name: "Megaton".to_owned(),
            ..PlayerRecord::default()
        },
        us: Some(Side::Black),
        speed: Speed::Correspondence,
        control: TimeControlRecord::Days(2),
        initial_fen: Some("8/8/8/8/8/8/P6k/K7 w - - 0 1".to_owned()),
        joined: 3_000_000,
        moves: vec![MoveRecord {
            score: Some(Score::Mate(-3)),
            source: Source::Table,
            ..MoveRecord::bare("a2a4")
        }],
        ..GameRecord::default()
    };
    [won, lost, runs]
}

fn challenge() -> ChallengeRecord {
    ChallengeRecord {
        id: "asked001".to_owned(),
        at: 999,
        direction: Direction::In,
        user: PlayerRecord {
            id: Some("nuke".to_owned()),
            name: "Nuke".to_owned(),
            title: Some("GM".to_owned()),
            rating: Some(1900),
            provisional: true,
            rating_diff: None,
        },
        rated: true,
        variant: "atomic".to_owned(),
        speed: Speed::Blitz,
        control: TimeControlRecord::Clock {
            initial: 180_000,
            increment: 2000,
        },
        color: Some(Side::White),
        verdict: ChallengeVerdict::Declined,
        reason: Some("later".to_owned()),
        rule: Some("concurrency".to_owned()),
        why: Some("no slot is free".to_owned()),
        settled: Some(1005),
        json: None,
    }
}

fn events() -> [EventRecord; 2] {
    let event = |at, kind: &str, text: &str, game: Option<&str>| EventRecord {
        at,
        kind: kind.to_owned(),
        text: text.to_owned(),
        game: game.map(str::to_owned),
    };
    [
        event(1_004_000, "start", "megaton 0.1.0", None),
        event(1_003_000, "stream", "lost: reset", Some("won00001")),
    ]
}

fn review() -> ReviewRecord {
    ReviewRecord {
        game: "lost0002".to_owned(),
        at: 2_100_000,
        program: "Megaton 0.1.0".to_owned(),
        positions: 12,
        mistake: None,
        given_up: false,
    }
}

/// A file that a program of this format wrote and closed.
fn write_old(path: &Path, format: usize) {
    let mut db = Connection::open(path).unwrap();
    let old = Schema {
        steps: &SCHEMA.steps[..format],
        ..SCHEMA
    };
    old.migrate(&mut db, crate::sqlite::Timestamp::from_millis(THEN))
        .unwrap();
    db.execute_batch(ROWS).unwrap();
    if format >= 2 {
        db.execute_batch(REVIEW).unwrap();
    }
    assert_eq!(old.format(&db).unwrap(), Format::Ours(format as u32));
}

#[test]
fn kinds_and_rules_of_earlier_names_are_found_by_the_present_ones() {
    let (_folder, path) = ground();
    write_old(&path, 7);
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        "INSERT INTO event (at, kind, text) VALUES (1, 'porter', ''), (2, 'alarm', ''), (3, 'alarm-over', '');
        UPDATE challenge SET rule = 'Alarm';
        INSERT INTO challenge
            SELECT NULL, 'asked002', 1, direction, user_id, user_name, user_title, user_rating,
            user_provisional, rated, variant, speed, control, color, verdict, reason, 'NoSeat', why, settled
            FROM challenge;",
    )
    .unwrap();
    drop(old);
    drop(Database::open(&path, NOW).unwrap());
    let reader = ArchiveReader::open(&path).unwrap();
    let kinds = reader.events(9).unwrap().into_iter().map(|it| it.kind);
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        ["start", "stream", "alert-over", "alert", "event-loop"]
    );
    let rules = reader.challenges(9).unwrap().into_iter().map(|it| it.rule);
    let rules: Vec<_> = rules.flatten().collect();
    assert_eq!(rules, ["Alert", "NoSlot"]);
}

fn count(db: &Connection, sql: &str) -> u32 {
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn a_file_of_any_earlier_format_is_migrated_completely() {
    let known = SCHEMA.known();
    for format in 1..=known {
        let (_folder, path) = ground();
        write_old(&path, format as usize);
        if format < known {
            // A reader leaves the migration to a writer.
            let error = ArchiveReader::open(&path).unwrap_err();
            assert!(
                matches!(error, ArchiveError::Older { found, .. } if found == format),
                "{error}"
            );
        }
        let mut disk = Database::open(&path, NOW).unwrap();
        let other = Connection::open(&path).unwrap();
        assert_eq!(SCHEMA.format(&other).unwrap(), Format::Ours(known));
        let noted = format!("SELECT count(*) FROM schema WHERE at = {NOW}");
        let taken = count(&other, &noted);
        assert_eq!(taken, known - format, "each step is noted");

        for game in games() {
            let found = disk.game(&game.id).unwrap();
            assert_eq!(found.as_ref(), Some(&game), "from format {format}");
        }
        assert_eq!(disk.unfinished(0).unwrap(), &games()[2..]);
        let reader = ArchiveReader::open(&path).unwrap();
        assert_eq!(reader.challenges(9).unwrap(), [challenge()]);
        assert_eq!(reader.events(9).unwrap(), events());
        let kept = (format >= 2).then(review);
        assert_eq!(reader.review("lost0002").unwrap(), kept);
        let next = disk.next_unreviewed(0).unwrap();
        assert_eq!(next.is_some(), kept.is_none(), "from format {format}");
        as_if_written_today(&reader);

        // The bot continues with the file, and deleting a game deletes what belongs to it.
        keep(&mut disk, &game("new00004", 4000, "Blast"));
        keep(&mut disk, &games()[0]);
        assert_eq!(count(&other, "SELECT count(*) FROM game"), 4);
        assert_eq!(count(&other, "SELECT count(*) FROM moves"), 4);
        other
            .execute_batch("DELETE FROM game WHERE id = 'lost0002'")
            .unwrap();
        assert_eq!(count(&other, "SELECT count(*) FROM review"), 0);
        drop(disk);
        assert!(Database::open(&path, NOW + 1).is_ok(), "a second time too");
        let again = count(&other, "SELECT count(*) FROM schema");
        assert_eq!(again, known, "no step is taken twice");
    }
}

/// Queries on it return the same as on a file that this version wrote.
fn as_if_written_today(taken_over: &ArchiveReader) {
    let (_folder, path) = ground();
    let mut disk = Database::open(&path, NOW).unwrap();
    for game in games() {
        keep(&mut disk, &game);
    }
    let [last, first] = events();
    disk.commit(&[
        ArchiveEntry::Challenge(challenge().into()),
        ArchiveEntry::Event(first.into()),
        ArchiveEntry::Event(last.into()),
    ])
    .unwrap();
    let written = ArchiveReader::open(&path).unwrap();
    let all = Filter::default();
    let lines = |reader: &ArchiveReader| reader.games(&all, Order::Newest, 9, None).unwrap();
    assert_eq!(lines(taken_over), lines(&written));
    assert_eq!(
        taken_over.stats(&all).unwrap(),
        written.stats(&all).unwrap()
    );
    assert_eq!(
        taken_over.opponents(&all, 9).unwrap(),
        written.opponents(&all, 9).unwrap()
    );
    assert_eq!(
        taken_over.time_losses(&all).unwrap(),
        written.time_losses(&all).unwrap()
    );
    assert_eq!(taken_over.account().unwrap(), written.account().unwrap());
    for game in games() {
        let of_game = |reader: &ArchiveReader| reader.events_of(&game).unwrap();
        assert_eq!(of_game(taken_over), of_game(&written));
    }
}

#[test]
fn a_released_migration_never_changes() {
    // Existing files went through these steps; a later change gets a step of its own.
    let out: [u32; 6] = [
        0xd795_988f,
        0xdd63_8fd9,
        0xc03c_9132,
        0xd20e_07c4,
        0x0bbd_92f6,
        0xf607_2277,
    ];
    let steps = SCHEMA.steps.iter();
    let found: Vec<u32> = steps.map(|step| crc32fast::hash(step.as_bytes())).collect();
    assert_eq!(found[..out.len()], out);
}
