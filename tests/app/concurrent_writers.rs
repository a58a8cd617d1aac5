//! Commands that write or copy the archive while a bot writes to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::Duration;

use megaton::archive::{
    ArchiveEntry, ArchiveError, ArchiveReader, Database, EndingRecord, FILE_NAME, Filter,
    GameRecord, MoveRecord, Order, Origin, PgnOptions, PlayerRecord, TimeControlRecord, pgn,
};
use megaton::lichess::{Side, Speed, Status};
use megaton::practice::{Options, Partner, Schedule, Server, ServerHandle, TimeControl, Timing};
use tokio_util::sync::CancellationToken;

use super::control::{BOT, until};
use super::program::{Ran, command, ran};

/// How much faster than Lichess everything runs here.
const FACTOR: u32 = 20;
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(120);
/// The first moments of January to April 2020, and the dates at which the last three begin.
const MONTHS: [u64; 3] = [1_577_836_800_000, 1_580_515_200_000, 1_583_020_800_000];
const ENDS: [&str; 3] = ["2020-02-01", "2020-03-01", "2020-04-01"];
/// Games of each month, and of each file that is imported.
const GAMES: u64 = 60;

/// A game that we won as White, begun at that moment.
fn game(id: String, began: u64) -> GameRecord {
    let player = |name: &str| PlayerRecord {
        id: Some(name.to_lowercase()),
        name: name.to_owned(),
        rating: Some(2000),
        ..PlayerRecord::default()
    };
    GameRecord {
        id,
        white: player(BOT),
        black: player("Nuke"),
        us: Some(Side::White),
        rated: true,
        speed: Speed::Blitz,
        control: TimeControlRecord::Clock {
            initial: 180_000,
            increment: 0,
        },
        created: Some(began),
        joined: began,
        origin: Origin::Incoming,
        moves: ["g1f3", "a7a6", "f3g5", "a6a5", "g5f7"]
            .map(MoveRecord::bare)
            .into(),
        ending: Some(EndingRecord {
            status: Status::VariantEnd,
            winner: Some(Side::White),
            at: began + 6000,
        }),
        ..GameRecord::default()
    }
}

/// A started `megaton run`, killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to kill.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A practice server, and a folder with a config and an archive of old games.
struct Ground {
    server: ServerHandle,
    folder: tempfile::TempDir,
}

impl Ground {
    async fn open() -> Self {
        let options = Options {
            timing: Timing::scaled(FACTOR),
            ..Options::default()
        };
        let ground = Self {
            server: Server::start(options).await.expect("a port"),
            folder: tempfile::tempdir().expect("a folder"),
        };
        let text = format!(
            "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 300\n[panel]\nlisten = \"\"\n\
             [archive]\nreview = false\n",
            ground.server.url()
        );
        fs::write(ground.file("config.toml"), text).expect("a config");
        fs::create_dir_all(ground.archive().parent().expect("a folder")).expect("a folder");
        let mut disk = Database::open(&ground.archive(), 1).expect("an archive");
        for (month, begins) in MONTHS.into_iter().enumerate() {
            let old = |n| ArchiveEntry::Game(game(format!("old{month}{n:04}"), begins + n).into());
            let old: Vec<ArchiveEntry> = (0..GAMES).map(old).collect();
            disk.commit(&old).expect("it is written");
        }
        let mut open = game("oldopen1".to_owned(), MONTHS[0]);
        open.ending = None;
        disk.commit(&[ArchiveEntry::Game(Arc::new(open))])
            .expect("it is written");
        ground
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn archive(&self) -> PathBuf {
        let host = self.server.url().trim_start_matches("http://");
        self.file("data")
            .join(host.replace(':', "_"))
            .join(FILE_NAME)
    }

    fn run(&self) -> Running {
        let token = self.server.open_bot(BOT).expect("a good name");
        let child = command(&["run", "--log-level", "off", "--config"])
            .arg(self.file("config.toml"))
            .env("LICHESS_BOT_TOKEN", token)
            .stderr(Stdio::null())
            .spawn();
        Running(child.expect("the program starts"))
    }

    /// A command, on a thread of its own.
    async fn tell(&self, arguments: &[&str], place: &Path) -> Ran {
        let mut command = command(arguments);
        command
            .arg(place)
            .arg("--config")
            .arg(self.file("config.toml"));
        let told = tokio::task::spawn_blocking(move || ran(&mut command));
        told.await.expect("no panic")
    }

    /// Imports, prunes and copies, all at the same time.
    async fn tend(&self, round: usize) {
        let pgn = self.file(&format!("new{round}.pgn"));
        let new = |n| format!("new{round}{n:04}");
        let games = (0..GAMES).map(|n| game(new(n), 1_700_000_000_000 + n));
        let text: String = games.map(|it| pgn_of(&it)).collect();
        fs::write(&pgn, text).expect("a file");
        let copy = self.file(&format!("copy{round}.db"));
        let until = format!("--older-than={}", ENDS[round]);
        let archive = self.archive();
        let import = ["import", "--account", BOT];
        let prune = ["prune", "--yes", &until, "--archive"];
        let (imported, pruned, copied) = tokio::join!(
            self.tell(&import, &pgn),
            self.tell(&prune, &archive),
            self.tell(&["backup"], &copy),
        );
        for done in [&imported, &pruned, &copied] {
            assert_eq!(done.status, Some(0), "{}{}", done.stdout, done.stderr);
        }
        let all = format!("{GAMES} games");
        assert!(imported.stdout.starts_with(&all), "{}", imported.stdout);
        assert!(
            pruned.stdout.starts_with(&format!("deleted {all}")),
            "{}",
            pruned.stdout
        );
        // Opened for writing it is looked through.
        drop(Database::open(&copy, 1).expect("a sound copy"));
        for it in games_of(&copy) {
            let is_open = it.ending.is_none();
            assert!(is_open || it.moves.len() > 1, "{it:?}");
        }
    }
}

fn pgn_of(game: &GameRecord) -> String {
    pgn(game, &PgnOptions::default())
}

fn games_of(archive: &Path) -> Vec<GameRecord> {
    let reader = ArchiveReader::open(archive).expect("an archive");
    let mut games = Vec::new();
    let read = reader.each_game(&Filter::default(), Order::Oldest, usize::MAX, |game| {
        games.push(game);
        Ok::<_, ArchiveError>(true)
    });
    read.expect("it can be read");
    games
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn import_prune_and_backup_beside_a_bot_that_writes_lose_nothing() {
    let ground = Ground::open().await;
    let _bot = ground.run();
    let schedule = Schedule {
        games: usize::MAX,
        concurrency: 4,
        partners: vec![Partner::Engine { nodes: 300 }],
        pace: Duration::from_millis(20),
        time: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        ..Schedule::default()
    };
    let stop = CancellationToken::new();
    let moves = || ground.server.traffic().calls.get("move").copied();
    let tending = async {
        until("it plays", async || moves() > Some(4)).await;
        let before = moves();
        for round in 0..ENDS.len() {
            ground.tend(round).await;
        }
        assert!(moves() > before, "it plays on meanwhile");
        stop.cancel();
    };
    let games = ground.server.play(BOT, schedule, stop.clone());
    let both = async { tokio::join!(games, tending).0 };
    let report = tokio::time::timeout(GUARD, both).await.expect("in time");
    assert!(report.games.len() >= 4, "{report}");
    for game in &report.games {
        assert!(game.is_clean(), "{}: {:?}", game.attribution, game.trace);
    }
    let is_whole = |game: &GameRecord| {
        let mut played = report.games.iter();
        let played = played.find(|it| it.id == game.id);
        played.is_some_and(|it| game.ending.is_some() && game.moves.len() == it.plies)
    };
    let count = |kept: &[GameRecord], beginning: &str| {
        let fits = |game: &&GameRecord| game.id.starts_with(beginning);
        kept.iter().filter(fits).count()
    };
    until("every game that was played is kept", async || {
        let kept = games_of(&ground.archive());
        kept.iter().filter(|it| is_whole(it)).count() == report.games.len()
    })
    .await;
    let kept = games_of(&ground.archive());
    assert_eq!(count(&kept, "new"), ENDS.len() * GAMES as usize);
    assert_eq!(count(&kept, "old"), 1, "the one that has not ended");
    assert_eq!(count(&kept, "oldopen1"), 1);
}
