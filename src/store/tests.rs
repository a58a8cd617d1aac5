//! The store by its files: kept, reopened, damaged, refused, and on a full disk.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use super::data::{
    Change, Cooldown, FinishedGame, GameMemory, GuardRow, GuardScope, Interaction, InteractionKind,
    Limit, LimitName, OpponentRow, Origin, QuotaUse, QuotaUseKind, RatedPause, State, TimeSpan,
};
use super::store::{Backend, KIND, open as open_file};
use super::tables::{self, SCHEMA};
use super::{OWNER_NOTE, Store, StoreError, Timestamp};
use crate::experience::{LineMistake, LineResult, PlayedLine};
use crate::lichess::{GameId, Side, Status, UserId};
use crate::rules::Color;
use crate::sqlite::{Database, FileKind, Format, Schema};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn now() -> Timestamp {
    Timestamp::from_millis(1_800_000_000_000)
}

fn note(key: &str, text: &str) -> Change {
    Change::Note(key.into(), Some(text.into()))
}

fn game(number: u64, opponent: &str, at: Timestamp) -> FinishedGame {
    FinishedGame {
        game: GameId::new(format!("game{number:04}")),
        opponent: Some(UserId::new(opponent)),
        is_bot: true,
        rated: true,
        color: Some(Side::Black),
        winner: Some(Side::White),
        status: "variantEnd".into(),
        plies: 33,
        opening: "g1f3 f7f6 e2e3".into(),
        rating_diff: Some(-7),
        at,
    }
}

fn everything() -> (Vec<Change>, State) {
    let span = TimeSpan::new(now(), DAY);
    let foe = UserId::new("Foe");
    let kept = State {
        spends: vec![
            QuotaUse {
                key: "game0001".into(),
                at: now(),
                what: QuotaUseKind::Game {
                    origin: Origin::Outgoing,
                    begun: true,
                },
                opponent: Some(foe.clone()),
            },
            QuotaUse {
                key: "credits 1".into(),
                at: now() + DAY,
                what: QuotaUseKind::Credits(5),
                opponent: None,
            },
        ],
        limits: vec![Limit {
            name: LimitName::BotGames,
            learned: Some((64, now())),
            closed: Some(span),
            strikes: 2,
        }],
        cooldowns: vec![(
            "foe blitz rated".into(),
            Cooldown {
                span,
                failures: 3,
                reason: Some("later".into()),
            },
        )],
        opponents: vec![OpponentRow {
            wins: 1,
            draws: 2,
            losses: 3,
            rematches: 4,
            spent: Some(span),
            ..OpponentRow::new(foe.clone(), now())
        }],
        results: vec![game(1, "foe", now())],
        encounters: vec![Interaction {
            id: "game0001".into(),
            kind: InteractionKind::NoShow,
            opponent: foe.clone(),
            is_bot: true,
            at: now(),
        }],
        games: vec![(
            GameId::new("game0001"),
            now(),
            GameMemory {
                greeted: true,
                parted_spectators: true,
                takebacks: 1,
                draw_offers: 2,
                ..GameMemory::default()
            },
        )],
        guards: vec![GuardRow {
            scope: GuardScope::Opponent(foe),
            losses: 3,
            from: now(),
            rest: Some(RatedPause {
                span,
                reason: "8 losses".into(),
            }),
        }],
        notes: vec![("etag".into(), "\"x'; DROP TABLE note\"".into())],
        lines: vec![PlayedLine {
            game: "game0001".into(),
            opponent: Some("foe".into()),
            color: Color::Black,
            result: LineResult::Loss,
            moves: "g1f3 f7f6 e2e3".into(),
            mistake: None,
            at: 1_800_000_000_000,
        }],
    };
    (changes(kept.clone()), kept)
}

fn changes(copy: State) -> Vec<Change> {
    let mut changes: Vec<Change> = copy.spends.into_iter().map(Change::Spend).collect();
    changes.extend(copy.limits.into_iter().map(Change::Limit));
    changes.extend(
        copy.cooldowns
            .into_iter()
            .map(|(k, c)| Change::Cooldown(k, Some(c))),
    );
    changes.extend(copy.opponents.into_iter().map(Change::Opponent));
    changes.extend(copy.results.into_iter().map(Change::Result));
    changes.extend(copy.encounters.into_iter().map(Change::Encounter));
    changes.extend(
        copy.games
            .into_iter()
            .map(|(id, at, g)| Change::Game(id, at, g)),
    );
    changes.extend(copy.guards.into_iter().map(Change::Guard));
    changes.extend(copy.lines.into_iter().map(Change::Line));
    changes.extend(
        copy.notes
            .into_iter()
            .map(|(k, n)| Change::Note(k, Some(n))),
    );
    changes
}

fn open(folder: &Path) -> State {
    Store::open(folder).expect("the folder opens").1
}

#[test]
fn everything_reads_back_as_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (store, nothing) = Store::open(folder.path()).unwrap();
    assert_eq!(nothing, State::default());
    let (changes, expected) = everything();
    store.write_all(changes);
    drop(store);
    assert_eq!(open(folder.path()), expected);
}

#[test]
fn expired_rows_are_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(folder.path()).unwrap();
    store.write_all(everything().0);
    store.write(Change::Unspend("game0001".into()));
    store.write(Change::Cooldown("foe blitz rated".into(), None));
    store.write(Change::Note("etag".into(), None));
    drop(store);
    let kept = open(folder.path());
    assert_eq!(kept.spends.len(), 1);
    assert!(kept.cooldowns.is_empty() && kept.notes.is_empty());
}

async fn write_through(store: &Store, change: Change) -> Result<(), StoreError> {
    store.write(change);
    store.flush().await
}

#[tokio::test]
async fn a_write_through_is_on_disk_when_it_returns() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(folder.path()).unwrap();
    store.write(note("before", "1"));
    write_through(&store, note("through", "2")).await.unwrap();
    // A copy taken now, without closing, is what a power cut leaves.
    let copy = tempfile::tempdir().unwrap();
    for file in ["state.db", "state.db-wal"] {
        fs::copy(folder.path().join(file), copy.path().join(file)).unwrap();
    }
    let notes = open(copy.path()).notes;
    assert_eq!(notes.len(), 2, "all before it too: {notes:?}");
    assert_eq!(store.trouble(), None);
}

#[test]
fn a_second_process_is_refused_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(folder.path()).unwrap();
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(
        matches!(refused, StoreError::Locked { pid: Some(_), .. }),
        "{refused}"
    );
    store.write(note("still", "here"));
    drop(store);
    assert_eq!(open(folder.path()).notes.len(), 1);
}

/// The rows of `everything`, as a program of the first format wrote them.
const ROWS: &str = "
    INSERT INTO spend (key, at, origin, begun, credits, opponent) VALUES
        ('game0001', 1800000000000, 'outgoing', 1, 0, 'foe'),
        ('credits 1', 1800086400000, NULL, 1, 5, NULL);
    INSERT INTO server_limit (name, learned, learned_at, closed_at, closed_until, strikes) VALUES
        ('bot_games', 64, 1800000000000, 1800000000000, 1800086400000, 2);
    INSERT INTO cooldown (key, at, until, failures, reason) VALUES
        ('foe blitz rated', 1800000000000, 1800086400000, 3, 'later');
    INSERT INTO opponent (id, wins, draws, losses, rematches, spent_at, spent_until, seen) VALUES
        ('foe', 1, 2, 3, 4, 1800000000000, 1800086400000, 1800000000000);
    INSERT INTO result (
        game, opponent, is_bot, rated, color, winner, status, plies, opening, rating_diff, at
    ) VALUES (
        'game0001', 'foe', 1, 1, 'black', 'white', 'variantEnd', 33, 'g1f3 f7f6 e2e3', -7,
        1800000000000
    );
    INSERT INTO encounter (kind, id, opponent, is_bot, at) VALUES
        ('no_show', 'game0001', 'foe', 1, 1800000000000);
    INSERT INTO game (
        id, at, greeted, greeted_spectators, parted, parted_spectators, takebacks, draw_offers
    ) VALUES ('game0001', 1800000000000, 1, 0, 0, 1, 1, 2);
    INSERT INTO guard (scope, losses, counted_from, rest_at, rest_until, reason) VALUES
        ('foe', 3, 1800000000000, 1800000000000, 1800086400000, '8 losses');
    INSERT INTO note (key, note) VALUES ('etag', '\"x''; DROP TABLE note\"');
";

/// What the second format adds; the migration derives the same from the results.
const LINES: &str = "
    INSERT INTO line (game, opponent, color, result, moves, reviewed, at) VALUES
        ('game0001', 'foe', 'black', 'loss', 'g1f3 f7f6 e2e3', 0, 1800000000000);
";

#[test]
fn a_line_with_its_mistake_comes_back_until_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let line = PlayedLine {
        mistake: Some(LineMistake {
            ply: 1,
            value: -870,
            better: Some("g8f6".into()),
            reviewed: true,
        }),
        ..everything().1.lines[0].clone()
    };
    let (store, _) = Store::open(folder.path()).unwrap();
    store.write(Change::Line(line.clone()));
    drop(store);
    assert_eq!(open(folder.path()).lines, [line]);
    let db = rusqlite::Connection::open(folder.path().join("state.db")).unwrap();
    db.execute_batch(
        "INSERT INTO line (game, color, result, moves, reviewed, at)
         VALUES ('later', 'green', 'loss', '', 0, 1), ('later2', 'white', 'adjourned', '', 0, 1)",
    )
    .unwrap();
    drop(db);
    assert_eq!(open(folder.path()).lines.len(), 1, "unknown words");
    let (store, _) = Store::open(folder.path()).unwrap();
    store.write(Change::DropLine("game0001".into()));
    drop(store);
    assert_eq!(open(folder.path()).lines, []);
}

#[test]
fn a_file_of_any_earlier_format_is_migrated_completely() {
    let known = SCHEMA.known();
    for format in 1..=known {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state.db");
        let mut db = rusqlite::Connection::open(&file).unwrap();
        let old = Schema {
            steps: &SCHEMA.steps[..format as usize],
            ..SCHEMA
        };
        old.migrate(&mut db, Timestamp::from_millis(5)).unwrap();
        db.execute_batch(ROWS).unwrap();
        if format > 1 {
            db.execute_batch(LINES).unwrap();
        }
        drop(db);
        for start in ["the first", "the next"] {
            assert_eq!(open(folder.path()), everything().1, "{format}, {start}");
        }
        let db = rusqlite::Connection::open(&file).unwrap();
        let found = SCHEMA.format(&db).unwrap();
        assert_eq!(found, Format::Ours(known));
    }
}

#[test]
fn a_released_migration_never_changes() {
    // Existing files went through these steps; a later change gets a step of its own.
    let out: [u32; 2] = [0x2ab1_6060, 0x2f41_318d];
    let steps = SCHEMA.steps.iter();
    let found: Vec<u32> = steps.map(|step| crc32fast::hash(step.as_bytes())).collect();
    assert_eq!(found[..out.len()], out);
}

#[test]
fn a_later_format_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(Store::open(folder.path()).unwrap());
    let file = folder.path().join("state.db");
    let later = SCHEMA.known() + 1;
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute("INSERT INTO schema (version, at) VALUES (?1, 0)", [later])
        .unwrap();
    drop(db);
    let before = fs::read(&file).unwrap();
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Newer { found, .. } if *found == later),
        "{refused}"
    );
    assert!(refused.to_string().contains("later version"), "{refused}");
    assert_eq!(Store::check(folder.path()), Err(refused));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn the_format_of_a_file_in_use_is_known_without_its_lock() {
    // A name with a meaning in an address.
    let folder = tempfile::Builder::new().prefix("a?b#c%41 é").tempdir();
    let folder = folder.unwrap();
    assert_eq!(Store::check(folder.path()), Ok(None), "nothing there yet");
    let (store, _) = Store::open(folder.path()).unwrap();
    assert_eq!(Store::check(folder.path()), Ok(None));
    store.write(note(OWNER_NOTE, "megaton"));
    drop(store);
    let (_store, _) = Store::open(folder.path()).unwrap();
    let owner = Some("megaton".to_owned());
    assert_eq!(
        Store::check(folder.path()),
        Ok(owner),
        "of a run that ended"
    );
    // As an earlier version sees it, right after the migration.
    let kind = FileKind {
        schema: Schema {
            steps: &SCHEMA.steps[..1],
            ..SCHEMA
        },
        ..KIND
    };
    let file = folder.path().join("state.db");
    let refused = Database::check_unlocked(Box::leak(Box::new(kind)), &file).unwrap_err();
    assert!(
        matches!(&refused, StoreError::Newer { found, .. } if *found == SCHEMA.known()),
        "{refused}"
    );
}

#[test]
fn a_file_that_its_log_makes_whole_passes_the_check() {
    let (db, log) = killed(12);
    let folder = tempfile::tempdir().unwrap();
    // The log is merged from the first page on; a kill left the file shorter than that page says.
    fs::write(folder.path().join("state.db"), &db[..4096]).unwrap();
    let refused = Store::check(folder.path()).unwrap_err();
    assert!(matches!(&refused, StoreError::Damaged { .. }), "{refused}");
    fs::write(folder.path().join("state.db-wal"), log).unwrap();
    assert_eq!(Store::check(folder.path()), Ok(None));
}

#[test]
fn a_file_that_is_not_ours_is_refused_and_left_alone() {
    let foreign = tempfile::tempdir().unwrap();
    let file = foreign.path().join("state.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute_batch("CREATE TABLE theirs (x)").unwrap();
    drop(db);
    let rubbish = tempfile::tempdir().unwrap();
    fs::write(rubbish.path().join("state.db"), [b'x'; 9000]).unwrap();
    for folder in [foreign.path(), rubbish.path()] {
        let file = folder.join("state.db");
        let before = fs::read(&file).unwrap();
        let refused = Store::open(folder).unwrap_err();
        assert!(matches!(&refused, StoreError::Damaged { .. }), "{refused}");
        assert!(refused.to_string().contains("move it"), "{refused}");
        assert_eq!(Store::check(folder), Err(refused));
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

/// Both files of a folder whose last transactions are only in the log, as after a kill.
fn killed(writes: usize) -> (Vec<u8>, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = open_file(&folder.path().join("state.db"), now()).unwrap().0;
    for write in 0..writes {
        disk.commit(&[note(&format!("{write:04}"), "written")])
            .unwrap();
    }
    let read = |name| fs::read(folder.path().join(name)).unwrap();
    (read("state.db"), read("state.db-wal"))
}

fn notes_in(db: &[u8], log: &[u8]) -> Result<Vec<String>, StoreError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("state.db"), db).unwrap();
    fs::write(folder.path().join("state.db-wal"), log).unwrap();
    let (_, kept) = Store::open(folder.path())?;
    Ok(kept.notes.into_iter().map(|(key, _)| key).collect())
}

fn is_beginning(notes: &[String]) -> bool {
    notes
        .iter()
        .enumerate()
        .all(|(n, key)| *key == format!("{n:04}"))
}

#[test]
fn a_truncated_log_leaves_a_readable_prefix() {
    let (db, log) = killed(12);
    assert_eq!(notes_in(&db, &log).unwrap().len(), 12);
    let mut longest = 0;
    for cut in (0..log.len()).step_by(997) {
        let notes = notes_in(&db, &log[..cut]).unwrap();
        assert!(
            is_beginning(&notes) && notes.len() >= longest,
            "cut at {cut}: {notes:?}"
        );
        longest = notes.len();
    }
    assert!(longest >= 11);
}

#[test]
fn garbage_in_the_log_leaves_a_readable_prefix() {
    let (db, log) = killed(12);
    for rubbish in [&[0_u8; 5000][..], &[0xff; 5000], &log[32..4000]] {
        let longer = [&log[..], rubbish].concat();
        let notes = notes_in(&db, &longer).unwrap();
        assert_eq!(notes.len(), 12);
        let longer = [&db[..], rubbish].concat();
        if let Ok(notes) = notes_in(&longer, &log) {
            assert!(is_beginning(&notes), "{notes:?}");
        }
    }
    for at in (0..log.len()).step_by(1009) {
        let mut flipped = log.clone();
        flipped[at] ^= 0x55;
        match notes_in(&db, &flipped) {
            Ok(notes) => assert!(is_beginning(&notes), "flipped at {at}: {notes:?}"),
            Err(error) => assert!(error.to_string().contains("state.db"), "{error}"),
        }
    }
}

#[test]
fn a_damaged_file_is_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(folder.path()).unwrap();
    store.write_all(everything().0);
    drop(store);
    let db = fs::read(folder.path().join("state.db")).unwrap();
    let mut refused = 0;
    for cut in (1..db.len()).step_by(1511) {
        refused += usize::from(notes_in(&db[..cut], &[]).is_err());
    }
    assert!(refused > 5, "a file that was cut short is noticed");
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..60 {
        let mut hurt = db.clone();
        let at = random.usize(..hurt.len() - 64);
        random.fill(&mut hurt[at..at + 64]);
        if let Err(error) = notes_in(&hurt, &[]) {
            assert!(error.to_string().contains("state.db"), "{error}");
        }
    }
}

#[test]
fn a_row_has_the_result_of_its_record() {
    for status in Status::ALL.iter().copied().chain([Status::Unknown]) {
        let mut drawn = game(1, "foe", now());
        drawn.status = status.as_str().to_owned();
        drawn.winner = None;
        let excluded = tables::LAST_GAMES.contains(&format!("'{status}'"));
        assert_eq!(drawn.counts(), !excluded, "{status}");
    }
}

#[test]
fn old_results_are_deleted_except_the_last_two_of_each_opponent() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = open_file(&folder.path().join("state.db"), now()).unwrap().0;
    let mut changes: Vec<Change> = (0..10)
        .map(|n| Change::Result(game(n, "foe", now().before(DAY * (100 - n as u32)))))
        .collect();
    let mut aborted = game(50, "foe", now().before(DAY * 70));
    aborted.status = "aborted".into();
    aborted.winner = None;
    changes.push(Change::Result(aborted));
    changes.push(Change::Result(game(60, "other", now().before(DAY))));
    disk.commit(&changes).unwrap();
    disk.commit(&[Change::Prune(now())]).unwrap();
    drop(disk);
    let kept = open_file(&folder.path().join("state.db"), now()).unwrap().1;
    let ids: Vec<_> = kept
        .results
        .iter()
        .map(|game| game.game.to_string())
        .collect();
    assert_eq!(ids, ["game0008", "game0009", "game0060"]);
}

#[test]
fn a_clock_years_ahead_does_not_delete_everything() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = open_file(&folder.path().join("state.db"), now()).unwrap().0;
    let games = (0..10).map(|n| Change::Result(game(n, "foe", now().before(DAY * n as u32))));
    disk.commit(&games.collect::<Vec<_>>()).unwrap();
    disk.commit(&[Change::Prune(now() + DAY * 3650)]).unwrap();
    drop(disk);
    let kept = open_file(&folder.path().join("state.db"), now().before(DAY * 30))
        .unwrap()
        .1;
    assert_eq!(kept.results.len(), 10);
}

#[test]
fn a_later_rating_change_is_added_to_its_game() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(folder.path()).unwrap();
    let at = Timestamp::from(std::time::SystemTime::now());
    let mut late = game(1, "foe", at);
    late.rating_diff = None;
    store.write(Change::Result(late.clone()));
    late.rating_diff = Some(5);
    store.write(Change::Result(late));
    drop(store);
    assert_eq!(open(folder.path()).results[0].rating_diff, Some(5));
}

/// A file on a disk without free space, until told otherwise.
#[derive(Debug)]
struct Full {
    disk: Database,
    room: mpsc::Receiver<()>,
}

impl Backend for Full {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        if self.room.try_recv().is_ok() {
            self.disk.limit(10_000);
        }
        self.disk.commit(changes)
    }
}

#[test]
fn a_count_of_the_guard_survives_the_pruning_of_its_batch() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _) = Store::open(folder.path()).unwrap();
    let foes = || (0..30).map(|n| UserId::new(&format!("foe{n}")));
    let guards = foes().map(|foe| {
        Change::Guard(GuardRow {
            scope: GuardScope::Opponent(foe),
            losses: 2,
            from: now(),
            rest: None,
        })
    });
    let opponents = foes().map(|foe| Change::Opponent(OpponentRow::new(foe, now())));
    store.write_all(guards.chain([Change::Prune(now())]).chain(opponents));
    drop(store);
    assert_eq!(open(folder.path()).guards.len(), 30);
}

#[tokio::test]
async fn a_full_disk_is_reported_and_queued_writes_follow_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let disk = open_file(&folder.path().join("state.db"), now()).unwrap().0;
    disk.limit(disk.pages());
    let (free, room) = mpsc::channel();
    let store = Store::start(Full { disk, room }, None, DAY).unwrap();
    let long = "x".repeat(50_000);
    let refused = write_through(&store, note("a", &long)).await.unwrap_err();
    assert!(refused.to_string().contains("full"), "{refused}");
    assert!(store.trouble().is_some());
    store.write(note("b", "meanwhile"));
    free.send(()).unwrap();
    write_through(&store, note("c", "again")).await.unwrap();
    assert_eq!(store.trouble(), None);
    drop(store);
    let keys: Vec<_> = open(folder.path())
        .notes
        .into_iter()
        .map(|(key, _)| key)
        .collect();
    assert_eq!(keys, ["a", "b", "c"]);
}

/// A file at which the first attempt panics.
#[derive(Debug)]
struct PanicsOnce {
    disk: Database,
    has_panicked: bool,
}

impl Backend for PanicsOnce {
    fn commit(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let again = std::mem::replace(&mut self.has_panicked, true);
        assert!(again, "an injected fault");
        self.disk.commit(changes)
    }
}

#[tokio::test]
async fn a_panic_while_writing_is_reported_and_the_next_attempt_writes_the_change() {
    let folder = tempfile::tempdir().unwrap();
    let disk = open_file(&folder.path().join("state.db"), now()).unwrap().0;
    let has_panicked = false;
    let store = Store::start(PanicsOnce { disk, has_panicked }, None, DAY).unwrap();
    let mut errors = store.write_errors().unwrap();
    store.write(note("a", "1"));
    let reported = errors.wait_for(Option::is_some).await.unwrap().clone();
    assert_eq!(store.trouble(), reported);
    let text = reported.unwrap().to_string();
    assert_eq!(text, "cannot write state.db: a fault of this program");
    store.flush().await.unwrap();
    assert_eq!(store.trouble(), None);
    drop(store);
    assert_eq!(open(folder.path()).notes, [("a".into(), "1".into())]);
}

/// A disk that never answers.
#[derive(Debug)]
struct Hung(mpsc::Receiver<()>);

impl Backend for Hung {
    fn commit(&mut self, _: &[Change]) -> Result<(), StoreError> {
        let _ = self.0.recv();
        Ok(())
    }
}

#[tokio::test]
async fn a_hanging_disk_blocks_no_one_for_long() {
    let (answer, hung) = mpsc::channel();
    let store = Store::start(Hung(hung), None, Duration::from_millis(20)).unwrap();
    for n in 0..1000 {
        store.write(note(&n.to_string(), "never waits"));
    }
    let refused = write_through(&store, note("through", ""))
        .await
        .unwrap_err();
    assert_eq!(refused, StoreError::Slow(0));
    drop(answer);
}

#[test]
fn the_queue_is_bounded_and_the_latest_value_counts() {
    let mut tray = super::store::Batch::default();
    for n in 0..60_000 {
        tray.put(note(&n.to_string(), "first"));
    }
    assert_eq!(tray.waiting(), 50_000);
    tray.put(note("7", "second"));
    tray.put_back(vec![note("7", "old"), note("8", "old")]);
    assert_eq!(tray.waiting(), 50_000);
}
