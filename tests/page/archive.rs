//! Finished games on the pages: from an archive that works, is missing, is unreadable or hangs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use megaton::archive::{
    ArchiveEntry, Database, EndingRecord, GameRecord, Millis, Mistake, MoveRecord, PlayerRecord,
    ReviewRecord,
};
use megaton::engine::Score;
use megaton::lichess::{Side, Status};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::access::{address, ask, hears};
use super::bounded;
use super::fixture::{World, local};

/// A game that was drawn, and that began when all of these did.
pub(crate) fn drawn(id: &str) -> ArchiveEntry {
    drawn_but(id, |_| {})
}

/// The same with a change.
pub(crate) fn drawn_but(id: &str, change: impl FnOnce(&mut GameRecord)) -> ArchiveEntry {
    let player = |name: &str| PlayerRecord {
        id: Some(name.to_lowercase()),
        name: name.to_owned(),
        ..PlayerRecord::default()
    };
    let mut game = GameRecord {
        id: id.to_owned(),
        white: player("Megaton"),
        black: player("Peaceful"),
        us: Some(Side::White),
        joined: 500,
        moves: ["e2e4", "e7e5"].map(MoveRecord::bare).into(),
        ending: Some(ended(Status::Draw, 900)),
        ..GameRecord::default()
    };
    change(&mut game);
    ArchiveEntry::Game(Arc::new(game))
}

/// An end without a winner.
pub(crate) fn ended(status: Status, at: Millis) -> EndingRecord {
    EndingRecord {
        status,
        winner: None,
        at,
    }
}

/// A game that was lost and looked at again, and three that were drawn, in an archive.
fn kept(file: &Path) {
    let mut disk = Database::open(file, 1).unwrap();
    let player = |name: &str| PlayerRecord {
        id: Some(name.to_lowercase()),
        name: name.to_owned(),
        ..PlayerRecord::default()
    };
    let game = GameRecord {
        id: "keptgame".to_owned(),
        white: player("Megaton"),
        black: player("Other"),
        us: Some(Side::White),
        joined: 1000,
        moves: ["e2e4", "g8f6", "a2a3", "f6g4", "b2b3", "g4f2"]
            .map(MoveRecord::bare)
            .into(),
        ending: Some(EndingRecord {
            status: Status::VariantEnd,
            winner: Some(Side::Black),
            at: 2000,
        }),
        ..GameRecord::default()
    };
    let mut games = vec![ArchiveEntry::Game(Arc::new(game))];
    games.extend(["draw0001", "draw0002", "draw0003"].map(drawn));
    disk.commit(&games).unwrap();
    disk.keep_review(&ReviewRecord {
        game: "keptgame".to_owned(),
        at: 3000,
        program: "megaton".to_owned(),
        positions: 3,
        mistake: Some(Mistake {
            ply: 4,
            played: "b3".to_owned(),
            before: Score::Cp(20),
            after: Score::Mate(-1),
            better: "f3".to_owned(),
            better_uci: "f2f3".to_owned(),
            depth: 9,
            line: vec!["f3".to_owned()],
            refutation: vec!["Nxf2#".to_owned()],
        }),
        given_up: false,
    })
    .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_of_the_archive_are_listed_shown_and_given_as_pgn() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("games.db");
        kept(&file);
        let house = World::open_on(&local(), Some(file.clone())).await;
        let get = async |path: &str| ask(&house, &format!("GET {path}"), &[], "").await;
        let listed = get("/api/games?opponent=OTHER&result=loss").await.json();
        assert_eq!(listed[0]["id"], "keptgame", "{listed}");
        assert_eq!(listed[0]["plies"], 6);
        assert_eq!(get("/api/games?result=win").await.json(), json!([]));
        let first = get("/api/games?limit=2").await.json();
        assert_eq!([&first[0]["id"], &first[1]["id"]], ["keptgame", "draw0003"]);
        let on = get("/api/games?limit=2&before=500&after=draw0003").await;
        let on = on.json();
        assert_eq!([&on[0]["id"], &on[1]["id"]], ["draw0002", "draw0001"]);
        let end = get("/api/games?before=500&after=draw0001").await.json();
        assert_eq!(end, json!([]), "it goes on after the last");
        assert_eq!(get("/api/games?before=500").await.json(), json!([]));
        // One that was called off is none, as in the statistics.
        let called_off = drawn_but("called00", |game| {
            game.ending = Some(ended(Status::Aborted, 900));
        });
        Database::open(&file, 1)
            .unwrap()
            .commit(&[called_off])
            .unwrap();
        let opponents = get("/api/opponents").await.json();
        assert_eq!(opponents[0]["games"], 3, "{opponents}");
        assert_eq!(opponents[0]["draws"], 3, "{opponents}");
        assert_eq!(opponents[0]["name"], "Peaceful", "{opponents}");
        assert_eq!(opponents[1]["losses"], 1, "{opponents}");
        let game = get("/api/game/keptgame").await.json();
        assert_eq!(game["moves"][5]["san"], "Nxf2#", "{game}");
        assert_eq!(game["review"]["ply"], 5, "{game}");
        assert_eq!(game["review"]["line"], json!(["f3"]));
        let pgn = get("/api/game/keptgame.pgn").await;
        assert!(pgn.body.contains("[Variant \"Atomic\"]"), "{pgn:?}");
        assert!(pgn.body.contains("Nxf2#"), "{pgn:?}");
        assert!(pgn.body.contains("b3 $4"), "with the review: {pgn:?}");
        house.close().await;

        // Where nothing is to be kept there is none, and nothing is wrong.
        let missing = folder.path().join("missing.db");
        let house = World::open_on(&local(), Some(missing)).await;
        for path in ["/api/games", "/api/opponents"] {
            let none = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!((none.status, none.json()), (200, json!([])), "{path}");
        }
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_recent_games_of_the_page_are_those_that_ended_last() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let span = |id: &str, began: Millis, at: Millis| {
            drawn_but(id, |game| {
                game.joined = began;
                game.ending = Some(ended(Status::Draw, at));
            })
        };
        let mut games = vec![span("longgame", 100, 9_000_000)];
        games.extend((1..=30).map(|n| span(&format!("quick{n:03}"), 1000 * n, 1000 * n + 900)));
        let house = World::keeping(&folder, &games).await;
        let mut page = news(&house).await;
        let heard = hears(&mut page, &["event: recent", "event: rating"]).await;
        let (_, list) = heard.split_once("event: recent\ndata: ").unwrap();
        let list: Value = serde_json::from_str(list.lines().next().unwrap()).unwrap();
        let ids: Vec<&str> = list
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|it| it["id"].as_str())
            .collect();
        assert_eq!(ids[..3], ["longgame", "quick030", "quick029"], "{ids:?}");
        assert_eq!(ids.len(), 20);
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_speed_is_rejected_and_the_valid_ones_named() {
    bounded(async {
        let house = World::open().await;
        let get = async |path: &str| ask(&house, &format!("GET {path}"), &[], "").await;
        let refused = get("/api/games?speed=foo").await;
        assert_eq!(refused.status, 400, "{refused:?}");
        for speed in ["ultraBullet", "blitz", "correspondence"] {
            assert!(refused.body.contains(speed), "{refused:?}");
            let known = get(&format!("/api/games?speed={speed}")).await;
            assert_eq!((known.status, known.json()), (200, json!([])), "{speed}");
        }
        house.close().await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreadable_archive_is_reported_and_retried() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let [rotten, sound] = ["rotten.db", "sound.db"].map(|name| folder.path().join(name));
        std::fs::write(&rotten, "no database").unwrap();
        let house = World::open_on(&local(), Some(rotten.clone())).await;
        for path in [
            "/api/games",
            "/api/opponents",
            "/api/game/keptgame",
            "/api/game/keptgame.pgn",
        ] {
            let refused = ask(&house, &format!("GET {path}"), &[], "").await;
            assert_eq!(refused.status, 503, "{path}: {refused:?}");
            let text = "the archive cannot be read right now: see the log";
            assert_eq!(refused.json()["text"], text, "{path}");
        }
        let mut page = news(&house).await;
        hears(&mut page, &["event: recent", "event: rating"]).await;
        kept(&sound);
        std::fs::rename(&sound, &rotten).unwrap();
        hears(&mut page, &["keptgame"]).await;
        house.close().await;
    })
    .await;
}

/// A page that follows the news.
async fn news(house: &World) -> TcpStream {
    let there = address(house);
    let request = format!("GET /api/live HTTP/1.1\r\nhost: {there}\r\n\r\n");
    let mut page = TcpStream::connect(there).await.unwrap();
    page.write_all(request.as_bytes()).await.unwrap();
    page
}

/// A file that anyone who opens it waits for, as on a disk that hangs; until this is dropped.
struct Hanging(PathBuf);

impl Hanging {
    fn make(path: PathBuf) -> Self {
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        Self(path)
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        // Another end lets all continue who wait; who comes then finds nothing.
        let end = std::fs::File::options()
            .read(true)
            .write(true)
            .open(&self.0);
        let _ = std::fs::remove_file(&self.0);
        drop(end);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hanging_archive_delays_no_board() {
    bounded(async {
        let folder = tempfile::tempdir().unwrap();
        let hanging = Hanging::make(folder.path().join("games.db"));
        let house = World::open_on(&local(), Some(hanging.0.clone())).await;
        let mut page = news(&house).await;
        let boards = ["event: status", "event: games", "event: challenges"];
        hears(&mut page, &boards).await;
        drop(hanging);
        hears(&mut page, &["event: recent", "event: rating"]).await;
        house.close().await;
    })
    .await;
}
