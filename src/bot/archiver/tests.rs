//! The archiver on a real file.

use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::sync::{Mutex, mpsc};

use tempfile::TempDir;

use super::*;
use crate::archive::{
    ArchiveEntry, ArchiveReader, ChallengeRecord, ChallengeVerdict, Database, Direction,
    EndingRecord, FILE_NAME, Filter, GameRecord, MoveRecord, Order, PlayerRecord,
    TimeControlRecord, dates,
};
use crate::bot::event_log::{Header, SearchInfoSlot};
use crate::bot::game::Ending;
use crate::engine::{Dtz, EngineOptions, Evaluator, Score, TablebaseProbe, Tablebases, Wdl};
use crate::lichess::{GameEvent, GameFull, GameId, Side, Speed, Status};
use crate::rules::{Game, Position};

const ID: &str = "abcdefgh";
/// Hang guard, longer than anything here takes.
const GUARD: Duration = Duration::from_secs(60);

fn rules() -> ArchiveRules {
    ArchiveRules {
        retry: Duration::from_millis(20),
        revive: Duration::from_millis(5),
        review: AnalysisRules {
            time: Duration::from_millis(5),
            // However busy the cores are.
            patience: u32::MAX,
            idle: Duration::from_millis(1),
            again: Duration::from_millis(20),
            busy: Duration::MAX,
        },
        ..ArchiveRules::from(&config::Archive::default())
    }
}

fn pool() -> Pool {
    Pool::new(&EngineOptions {
        hash_mb: 1,
        evaluator: Evaluator::classical(),
        ..EngineOptions::default()
    })
}

async fn start(folder: &Path, event_log: &EventLog) -> Archiver {
    let path = folder.join(FILE_NAME);
    let archiver = Archiver::start(&path, event_log, &pool(), &BotState::nowhere(), &rules()).await;
    archiver.expect("a thread")
}

fn full(moves: &str) -> GameFull {
    let line = format!(
        r#"{{"type":"gameFull","id":"{ID}","variant":{{"key":"atomic"}},"speed":"blitz",
        "white":{{"id":"me","name":"Me"}},"black":{{"id":"foe","name":"Foe"}},
        "clock":{{"initial":180000,"increment":2000}},
        "state":{{"moves":"{moves}","wtime":180000,"btime":180000,"status":"started"}}}}"#
    );
    match GameEvent::from_line(&line).unwrap().value {
        GameEvent::Full(full) => *full,
        other => panic!("{other:?}"),
    }
}

fn open(event_log: &EventLog, moves: &str) {
    let full = full(moves);
    let game = Game::from_uci_moves(moves).unwrap();
    let header = Header::of(&GameId::new(ID), &full).unwrap();
    event_log.opened(
        header,
        Side::White,
        &game,
        &full.state,
        &SearchInfoSlot::default(),
    );
}

fn lose(event_log: &EventLog) {
    event_log.over(&Ending {
        game: GameId::new(ID),
        status: Some(Status::Resign),
        winner: Some(Side::Black),
        us: Some(Side::White),
        opponent: "Foe".to_owned(),
        plies: 2,
        fen: String::new(),
    });
}

/// Polls the file until `look` finds something.
async fn until<T>(folder: &Path, look: impl Fn(&ArchiveReader) -> Option<T>) -> T {
    let path = folder.join(FILE_NAME);
    let looking = async {
        loop {
            let found = ArchiveReader::open(&path)
                .ok()
                .and_then(|reader| look(&reader));
            if let Some(found) = found {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(GUARD, looking)
        .await
        .expect("it comes to that")
}

#[tokio::test]
async fn a_game_is_archived_as_it_goes_and_continues_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let event_log = EventLog::default();
    let archiver = start(folder.path(), &event_log).await;
    open(&event_log, "g1f3");
    event_log.note("limited", "too fast", Some(&GameId::new(ID)));
    let kept = until(folder.path(), |reader| reader.game(ID).ok()?).await;
    assert_eq!((kept.moves.len(), kept.ending.is_some()), (1, false));
    // No orderly end, as after a kill.
    drop((archiver, event_log));
    let event_log = EventLog::default();
    let archiver = start(folder.path(), &event_log).await;
    open(&event_log, "g1f3 f7f6");
    lose(&event_log);
    archiver.finish().await;
    let reader = ArchiveReader::open(&folder.path().join(FILE_NAME)).unwrap();
    let ended = reader.game(ID).unwrap().unwrap();
    assert_eq!((ended.moves.len(), ended.result()), (2, "0-1"));
    assert_eq!(ended.joined, kept.joined, "one record");
    assert_eq!(ended.moves[0].clock, Some(180_000), "known from before");
    let games = reader.games(&Filter::default(), Order::Newest, 9, None);
    assert_eq!(games.unwrap().len(), 1);
    assert_eq!(reader.events(9).unwrap()[0].kind, "limited");
}

#[tokio::test]
async fn a_damaged_file_raises_an_alert_is_left_as_it_is_and_costs_nothing_once_moved_away() {
    let folder = tempfile::tempdir().unwrap();
    let rubbish = b"no archive at all".repeat(500);
    fs::write(folder.path().join(FILE_NAME), &rubbish).unwrap();
    cannot_be_used(&folder, "is damaged").await;
}

#[tokio::test]
async fn a_file_of_a_later_version_raises_an_alert_and_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    drop(Database::open(&path, 1).unwrap());
    let later = "INSERT INTO schema (version, at) VALUES (99, 0)";
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute(later, []).unwrap();
    drop(db);
    cannot_be_used(&folder, "99").await;
}

/// A bot whose archive is such a file plays on, reports it, leaves it as it is, and archives the
/// game once the operator has moved the file away.
async fn cannot_be_used(folder: &TempDir, said: &str) {
    let path = folder.path().join(FILE_NAME);
    let before = fs::read(&path).unwrap();
    let event_log = EventLog::default();
    let mut write_errors = event_log.write_errors();
    let archiver = start(folder.path(), &event_log).await;
    let trouble = write_errors.borrow_and_update().clone().expect("an alert");
    assert!(trouble.contains(said), "{trouble}");
    open(&event_log, "g1f3");
    lose(&event_log);
    tokio::time::timeout(GUARD, write_errors.changed())
        .await
        .expect("tried again")
        .unwrap();
    assert!(
        write_errors
            .borrow()
            .as_ref()
            .unwrap()
            .contains("One game is held")
    );
    assert_eq!(fs::read(&path).unwrap(), before, "left as it is");
    fs::rename(&path, folder.path().join("away.db")).unwrap();
    let kept = until(folder.path(), |reader| reader.game(ID).ok()?).await;
    assert_eq!(kept.result(), "0-1");
    let over = write_errors.wait_for(Option::is_none);
    tokio::time::timeout(GUARD, over)
        .await
        .expect("over")
        .unwrap();
    archiver.finish().await;
}

#[tokio::test]
async fn a_missing_folder_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let event_log = EventLog::default();
    let archiver = start(&folder.path().join("gone"), &event_log).await;
    assert!(event_log.write_errors().borrow().is_some());
    open(&event_log, "g1f3");
    tokio::time::timeout(GUARD, archiver.finish())
        .await
        .expect("it ends");
}

#[tokio::test]
async fn lost_games_are_reviewed_while_no_game_runs() {
    let folder = tempfile::tempdir().unwrap();
    // A queen ahead, White castles into an explosion: whatever the depth, that move lost it.
    let moves = "e2e3 e7e6 a2a3 d8h4 g1f3 a7a6 f3h4 f8d6 f1e2 a6a5 e1g1 d6h2";
    let record = GameRecord {
        id: ID.to_owned(),
        us: Some(Side::White),
        joined: now(),
        moves: moves.split(' ').map(MoveRecord::bare).collect(),
        ending: Some(EndingRecord {
            status: Status::VariantEnd,
            winner: Some(Side::Black),
            at: now(),
        }),
        ..GameRecord::default()
    };
    let writer = Writer::start(&folder.path().join(FILE_NAME)).unwrap();
    let won = GameRecord {
        id: "wonbyus1".to_owned(),
        us: Some(Side::Black),
        ..record.clone()
    };
    let games = [record, won].map(|game| ArchiveEntry::Game(Arc::new(game)));
    writer.ask(move |disk| disk.commit(&games)).await.unwrap();
    let event_log = EventLog::default();
    let mut rules = rules();
    // However busy the cores are, a search begins in that time.
    rules.review.time = Duration::from_millis(200);
    let path = folder.path().join(FILE_NAME);
    let archiver = Archiver::start(&path, &event_log, &pool(), &BotState::nowhere(), &rules).await;
    let review = until(folder.path(), |reader| reader.review(ID).ok()?).await;
    assert_eq!(review.positions, 2, "{review:?}");
    let mistake = review.mistake.clone().expect("a losing move");
    assert_eq!(mistake.played, "O-O");
    assert_eq!(mistake.after, Score::Mate(-1), "{review:?}");
    let found = format!("O-O (#-1) where {} (", mistake.better);
    assert!(review.describe().contains(&found), "{review:?}");
    let reader = ArchiveReader::open(&folder.path().join(FILE_NAME)).unwrap();
    assert_eq!(reader.review("wonbyus1").unwrap(), None);
    archiver.unwrap().finish().await;
}

/// Tablebases that make a search fail, or hang until the other end is gone.
#[derive(Debug)]
enum Broken {
    Fails,
    Hangs(Mutex<mpsc::Receiver<()>>),
}

impl TablebaseProbe for Broken {
    fn most_pieces(&self) -> usize {
        32
    }

    fn wdl(&self, _position: &Position) -> Option<Wdl> {
        None
    }

    fn dtz(&self, _position: &Position) -> Option<Dtz> {
        match self {
            Self::Fails => panic!("an injected fault"),
            Self::Hangs(end) => {
                // The other end sends nothing; its disappearance is enough.
                let _ = end.lock().unwrap().recv();
                None
            }
        }
    }
}

#[tokio::test]
async fn a_game_whose_search_fails_is_given_up_and_blocks_no_other() {
    let (release, end) = mpsc::channel();
    let hangs = Broken::Hangs(Mutex::new(end));
    for (broken, release) in [(Broken::Fails, None), (hangs, Some(release))] {
        let folder = tempfile::tempdir().unwrap();
        let writer = Writer::start(&folder.path().join(FILE_NAME)).unwrap();
        // No castling rights left, so that the search probes the tablebases at the root.
        let lost = |id: &str| {
            let moves = "e2e3 e7e6 e1e2 e8e7 a2a3 a7a6";
            ArchiveEntry::Game(Arc::new(GameRecord {
                id: id.to_owned(),
                us: Some(Side::White),
                joined: now(),
                moves: moves.split(' ').map(MoveRecord::bare).collect(),
                ending: Some(EndingRecord {
                    status: Status::Resign,
                    winner: Some(Side::Black),
                    at: now(),
                }),
                ..GameRecord::default()
            }))
        };
        let games = [lost("lostgam1"), lost("lostgam2")];
        writer.ask(move |disk| disk.commit(&games)).await.unwrap();
        let event_log = EventLog::default();
        let pool = Pool::new(&EngineOptions {
            hash_mb: 1,
            evaluator: Evaluator::classical(),
            tables: Some(Tablebases::new(Arc::new(broken))),
            ..EngineOptions::default()
        });
        let path = folder.path().join(FILE_NAME);
        let mut rules = rules();
        rules.review.patience = 30;
        let archiver =
            Archiver::start(&path, &event_log, &pool, &BotState::nowhere(), &rules).await;
        for id in ["lostgam1", "lostgam2"] {
            let review = until(folder.path(), |reader| reader.review(id).ok()?).await;
            assert!(review.given_up && review.mistake.is_none(), "{review:?}");
            assert!(review.describe().starts_with("given up"), "{review:?}");
        }
        drop(release);
        archiver.unwrap().finish().await;
    }
}

#[tokio::test]
async fn a_day_is_summarized_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let writer = Writer::start(&folder.path().join(FILE_NAME)).unwrap();
    let game = |id: &str, winner, status| {
        let mut game = GameRecord {
            id: id.to_owned(),
            us: Some(Side::White),
            speed: crate::lichess::Speed::Blitz,
            joined: 1000,
            moves: vec![MoveRecord {
                lag: Some(90),
                ..MoveRecord::bare("g1f3")
            }],
            ending: Some(EndingRecord {
                status,
                winner,
                at: 2000,
            }),
            ..GameRecord::default()
        };
        game.white.rating_diff = Some(-4);
        ArchiveEntry::Game(Arc::new(game))
    };
    let games = [
        game("one", Some(Side::White), Status::VariantEnd),
        game("two", Some(Side::Black), Status::OutOfTime),
        game("three", Some(Side::Black), Status::Timeout),
    ];
    writer.ask(move |disk| disk.commit(&games)).await.unwrap();
    let day = writer.ask(|disk| disk.day(0, 5000)).await.unwrap();
    assert_eq!(
        day.to_string(),
        "blitz +1 =0 -2 (-12 points); longest move overhead 90 ms; 2 lost on the clock"
    );
    let empty = writer.ask(|disk| disk.day(5000, 6000)).await.unwrap();
    assert_eq!(empty.to_string(), "no games");
}

#[tokio::test]
async fn a_day_that_ended_while_the_bot_was_down_is_summarized_at_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let ended = now() - 3 * dates::DAY;
    let lost = ArchiveEntry::Game(Arc::new(GameRecord {
        id: ID.to_owned(),
        us: Some(Side::White),
        joined: ended,
        ending: Some(EndingRecord {
            status: Status::Resign,
            winner: Some(Side::Black),
            at: ended,
        }),
        ..GameRecord::default()
    }));
    let writer = Writer::start(&path).unwrap();
    writer.ask(move |disk| disk.commit(&[lost])).await.unwrap();
    let mut rules = rules();
    rules.settings.review = false;
    rules.upkeep.look = Duration::from_millis(10);
    let archiver = Archiver::start(
        &path,
        &EventLog::default(),
        &pool(),
        &BotState::nowhere(),
        &rules,
    )
    .await;
    let archiver = archiver.expect("a thread");
    let kept = until(folder.path(), |reader| {
        let mut events = reader.events(9).ok()?.into_iter();
        events.find(|event| event.kind == "summary")
    });
    let kept = kept.await.text;
    assert!(kept.starts_with(&dates::date(ended)), "{kept}");
    assert!(kept.contains(" +0 =0 -1"), "{kept}");
    let mut days = archiver.days();
    let told = tokio::time::timeout(GUARD, days.wait_for(Option::is_some));
    let told = told.await.expect("in time").unwrap().clone();
    assert_eq!(told.as_deref(), Some(kept.as_str()));
    archiver.finish().await;
}

/// A clock that fails at its first reading.
fn stumbling() -> SystemTime {
    static LOOKS: AtomicU32 = AtomicU32::new(0);
    assert!(
        LOOKS.fetch_add(1, Ordering::Relaxed) > 0,
        "an injected fault"
    );
    SystemTime::now()
}

#[tokio::test]
async fn maintenance_that_panics_is_logged_and_restarted() {
    let folder = tempfile::tempdir().unwrap();
    let mut rules = rules();
    rules.settings.review = false;
    rules.upkeep.look = Duration::from_millis(10);
    rules.upkeep.settle = Duration::ZERO;
    rules.clock = stumbling;
    let path = folder.path().join(FILE_NAME);
    let writer = Writer::start(&path).unwrap();
    let old = ArchiveEntry::Game(Arc::new(GameRecord {
        id: ID.to_owned(),
        joined: 5,
        ending: Some(EndingRecord {
            status: Status::Aborted,
            winner: None,
            at: 6,
        }),
        ..GameRecord::default()
    }));
    writer.ask(move |disk| disk.commit(&[old])).await.unwrap();
    rules.settings.games = 30;
    let event_log = EventLog::default();
    let archiver = Archiver::start(&path, &event_log, &pool(), &BotState::nowhere(), &rules).await;
    // Its work is done.
    until(folder.path(), |reader| {
        reader.game(ID).ok()?.is_none().then_some(())
    })
    .await;
    let noted = until(folder.path(), |reader| {
        let mut events = reader.events(9).ok()?.into_iter();
        events.find(|event| event.kind == "archive")
    });
    assert_eq!(noted.await.text, "archive maintenance panicked; restarting");
    archiver.unwrap().finish().await;
}

#[tokio::test]
async fn a_challenge_that_lapsed_while_the_bot_was_down_waits_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let challenge = |id: &str, at, verdict| {
        ArchiveEntry::Challenge(Arc::new(ChallengeRecord {
            id: id.to_owned(),
            at,
            direction: Direction::In,
            user: PlayerRecord::default(),
            rated: true,
            variant: "atomic".to_owned(),
            speed: Speed::Blitz,
            control: TimeControlRecord::Unlimited,
            color: None,
            verdict,
            reason: None,
            rule: None,
            why: None,
            settled: None,
            json: None,
        }))
    };
    let challenges = [
        challenge("lapsed01", 5, ChallengeVerdict::Waiting),
        challenge("taken002", 6, ChallengeVerdict::Accepted),
        challenge("waits003", now() + 60_000, ChallengeVerdict::Waiting),
        challenge("just0004", now() - 10_000, ChallengeVerdict::Waiting),
    ];
    let writer = Writer::start(&path).unwrap();
    writer
        .ask(move |disk| disk.commit(&challenges))
        .await
        .unwrap();
    start(folder.path(), &EventLog::default())
        .await
        .finish()
        .await;
    let reader = ArchiveReader::open(&path).unwrap();
    let expected = [
        ChallengeVerdict::Canceled,
        ChallengeVerdict::Accepted,
        ChallengeVerdict::Canceled,
        ChallengeVerdict::Waiting,
    ];
    let told = until(folder.path(), |reader| {
        let told = reader.challenges(9).ok()?;
        let verdicts: Vec<ChallengeVerdict> = told.iter().rev().map(|it| it.verdict).collect();
        (verdicts == expected).then_some(told)
    });
    let told = told.await;
    let lapsed = &told[3];
    assert_eq!(lapsed.why.as_deref(), Some("lapsed while the bot was away"));
    assert!(lapsed.settled.is_some() && told[2].settled.is_none());
    // The server repeats one that is still open.
    let game = GameRecord {
        id: "lapsed01".to_owned(),
        joined: 70,
        ..GameRecord::default()
    };
    let begun = ArchiveEntry::Game(Arc::new(game));
    writer.ask(move |disk| disk.commit(&[begun])).await.unwrap();
    let told = reader.challenges(9).unwrap();
    let taken = (told[3].verdict, told[3].why.clone(), told[3].settled);
    let expected = (ChallengeVerdict::Accepted, None, Some(70));
    assert_eq!(taken, expected, "it was taken meanwhile");
    let again = challenge("lapsed01", 9, ChallengeVerdict::Waiting);
    writer.ask(move |disk| disk.commit(&[again])).await.unwrap();
    let told = reader.challenges(9).unwrap();
    assert_eq!(
        (told[3].verdict, told[3].why.clone()),
        (ChallengeVerdict::Waiting, None)
    );
}
