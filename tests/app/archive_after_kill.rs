//! The archive after the program was killed in the middle of games and restarted.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::Duration;

use megaton::archive::{ArchiveReader, FILE_NAME, Filter, GameRecord, Order};
use megaton::practice::{
    Event, Options, Partner, Schedule, Server, ServerHandle, TimeControl, Timing,
};
use rusqlite::Connection;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;
use tokio_util::sync::CancellationToken;

use super::program::{command, finish};

const CONFIG: &str = "config.toml";
const BOT: &str = "Megaton";
/// How much faster than Lichess everything runs here.
const FACTOR: u32 = 20;
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(120);
/// A partner's time over a move.
const PACE: Duration = Duration::from_millis(100);
/// Half-moves that one game can make in half a second at that pace, ours and theirs.
const HALF_A_SECOND: usize = 10;

/// A server, and a program that plays on it and keeps its games in a folder.
struct Ground {
    server: ServerHandle,
    token: String,
    folder: TempDir,
}

impl Ground {
    async fn new() -> Self {
        let options = Options {
            timing: Timing::scaled(FACTOR),
            ..Options::default()
        };
        let server = Server::start(options).await.expect("a port");
        let token = server.open_bot(BOT).expect("a good name");
        let folder = tempfile::tempdir().expect("a folder");
        let text = format!(
            "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 300\n[panel]\nlisten = \"\"\n\
             [archive]\nreview = false\n",
            server.url()
        );
        fs::write(folder.path().join(CONFIG), text).expect("a config");
        Self {
            server,
            token,
            folder,
        }
    }

    /// A started `megaton run`.
    fn run(&self) -> Child {
        command(&["run", "--log-level", "off", "--config"])
            .arg(self.folder.path().join(CONFIG))
            .env("LICHESS_BOT_TOKEN", &self.token)
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts")
    }
}

/// Games of a minute against such a partner.
fn schedule(games: usize, concurrency: usize, partner: Partner) -> Schedule {
    Schedule {
        games,
        concurrency,
        partners: vec![partner],
        pace: PACE,
        time: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        ..Schedule::default()
    }
}

/// Where the program keeps its games.
pub(super) fn archive(folder: &Path) -> Option<PathBuf> {
    let kept = fs::read_dir(folder.join("data")).ok()?.next()?.ok()?.path();
    Some(kept.join(FILE_NAME))
}

/// The one game in the archive, once it is as wanted.
pub(super) async fn game(folder: &Path, wanted: impl Fn(&GameRecord) -> bool) -> GameRecord {
    let look = || {
        let reader = ArchiveReader::open(&archive(folder)?).ok()?;
        let line = reader
            .games(&Filter::default(), Order::default(), 9, None)
            .ok()?;
        let game = reader.game(&line.first()?.game.id).ok()??;
        wanted(&game).then_some(game)
    };
    let looking = async {
        loop {
            if let Some(game) = look() {
                return game;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(GUARD, looking)
        .await
        .expect("the archive comes to that")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_costs_the_archive_nothing_and_the_record_continues() {
    let ground = Ground::new().await;
    let schedule = schedule(1, 1, Partner::Random);
    let mut first = ground.run();
    let games = ground.server.play(BOT, schedule, CancellationToken::new());
    let restart = async {
        let before = game(ground.folder.path(), |game| game.moves.len() >= 4).await;
        first.kill().expect("it runs");
        first.wait().expect("it ran");
        (before, ground.run())
    };
    let (report, (before, mut second)) = tokio::join!(games, restart);
    let ended = game(ground.folder.path(), |game| game.ending.is_some()).await;
    second.kill().expect("it runs");
    second.wait().expect("it ran");
    assert!(report.is_clean(), "{report}");
    assert_eq!(ended.moves.len(), report.games[0].plies, "every move");
    assert_eq!(ended.joined, before.joined, "one record");
    let kept = before.moves.iter().zip(&ended.moves);
    for (before, after) in kept {
        assert_eq!(before.uci, after.uci);
        assert_eq!(before.score, after.score, "what was thought is not lost");
    }
    let thought = ended.moves.iter().filter(|made| made.depth.is_some());
    assert!(thought.count() > 0, "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_counted_end_that_a_kill_cost_the_archive_is_looked_up() {
    let ground = Ground::new().await;
    let folder = ground.folder.path();
    let casual = Schedule {
        rated: false,
        ..schedule(1, 1, Partner::Random)
    };
    let stop = |mut bot: Child| {
        kill_process(Pid::from_child(&bot), Signal::TERM).expect("it runs");
        finish(&mut bot, GUARD).expect("it ends");
    };
    let bot = ground.run();
    let games = ground.server.play(BOT, casual, CancellationToken::new());
    let report = games.await;
    assert!(report.is_clean(), "{report}");
    let before = game(folder, |game| game.ending.is_some()).await;
    stop(bot);
    let db = Connection::open(archive(folder).expect("a folder")).expect("an archive");
    let lost = "UPDATE game SET status = NULL, winner = NULL, ended = NULL, result = NULL";
    assert_eq!(db.execute(lost, []), Ok(1));
    drop(db);
    let bot = ground.run();
    let after = game(folder, |game| game.ending.is_some()).await;
    stop(bot);
    let end = |game: &GameRecord| (game.result(), game.ending.as_ref().map(|it| it.status));
    assert_eq!(end(&after), end(&before));
    assert_eq!(after.moves, before.moves, "with what was thought");
}

/// The moves of every game as the server saw them.
#[derive(Default)]
struct Seen(BTreeMap<String, Vec<String>>);

impl Seen {
    fn take(&mut self, event: Event) {
        if let Event::Moved { game, san, .. } = event {
            self.0.entry(game).or_default().push(san);
        }
    }

    /// Sees so many moves more.
    async fn watch(&mut self, news: &mut Receiver<Event>, moves: usize) {
        let count = |seen: &Self| seen.0.values().map(Vec::len).sum::<usize>();
        let enough = count(self) + moves;
        while count(self) < enough {
            self.take(news.recv().await.expect("news of the server"));
        }
    }

    /// Sees what there is to see by now.
    fn catch_up(&mut self, news: &mut Receiver<Event>) {
        loop {
            match news.try_recv() {
                Ok(event) => self.take(event),
                Err(TryRecvError::Empty) => return,
                Err(error) => panic!("news of the server: {error}"),
            }
        }
    }

    /// How many half-moves the archive lacks of the game of which it lacks most. What it has must be
    /// what was played.
    fn lacked_by(&self, reader: &ArchiveReader) -> usize {
        let lacked = self.0.iter().map(|(id, seen)| {
            let kept = reader.game(id).expect("it can be read");
            let kept = kept.map_or_else(Vec::new, |game| game.moves);
            for (kept, seen) in kept.iter().zip(seen) {
                assert_eq!(kept.san.as_ref(), Some(seen), "{id}");
            }
            seen.len().saturating_sub(kept.len())
        });
        lacked.max().unwrap_or_default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_costs_the_archive_the_last_half_second_at_most() {
    let ground = Ground::new().await;
    let schedule = schedule(usize::MAX, 4, Partner::Engine { nodes: 300 });
    let mut news = ground.server.events();
    let kills = async {
        let mut seen = Seen::default();
        let mut lacked = Vec::new();
        for _ in 0..3 {
            let mut bot = ground.run();
            seen.watch(&mut news, 50).await;
            bot.kill().expect("it runs");
            // Nothing that the server is told from here on was known to the bot.
            seen.catch_up(&mut news);
            bot.wait().expect("it ran");
            let path = archive(ground.folder.path()).expect("a folder");
            let reader = ArchiveReader::open(&path).expect("an archive");
            lacked.push(seen.lacked_by(&reader));
        }
        // A disk that stood still for a moment may have spoiled one of them.
        lacked.sort_unstable();
        assert!(lacked[1] <= HALF_A_SECOND, "half-moves lost: {lacked:?}");
    };
    let games = ground.server.play(BOT, schedule, CancellationToken::new());
    let killed = async {
        tokio::select! {
            report = games => panic!("there is no end to them: {report}"),
            () = kills => {}
        }
    };
    tokio::time::timeout(GUARD, killed).await.expect("in time");
}
