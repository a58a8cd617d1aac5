//! What is left of a game when the program is killed in the middle of it, and taken up again.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use megaton::archive::{FILE_NAME, Filter, GameRecord, Library, Order};
use megaton::practice::{Handle, Options, Partner, Schedule, Server, TimeControl, Timing};
use tokio_util::sync::CancellationToken;

use super::program::command;

const BOT: &str = "Megaton";
/// How much faster than Lichess everything runs here.
const FACTOR: u32 = 20;
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(120);

async fn server() -> Handle {
    let options = Options {
        timing: Timing::scaled(FACTOR),
        ..Options::default()
    };
    Server::start(options).await.expect("a port")
}

/// A started `megaton run`.
fn run(config: &Path, token: &str) -> Child {
    command(&["run", "--log-level", "off", "--config"])
        .arg(config)
        .env("LICHESS_BOT_TOKEN", token)
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts")
}

/// The one game in the archive, once it is as wanted.
async fn game(folder: &Path, wanted: impl Fn(&GameRecord) -> bool) -> GameRecord {
    let look = || {
        let kept = fs::read_dir(folder.join("data")).ok()?.next()?.ok()?.path();
        let library = Library::open(&kept.join(FILE_NAME)).ok()?;
        let line = library
            .games(&Filter::default(), Order::default(), 9, None)
            .ok()?;
        let game = library.game(&line.first()?.game.id).ok()??;
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
async fn a_kill_costs_the_archive_nothing_and_its_record_goes_on() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let text = format!(
        "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 300\n[panel]\nlisten = \"\"\n\
         [archive]\nreview = false\n",
        server.url()
    );
    fs::write(&config, text).expect("a config");
    let schedule = Schedule {
        games: 1,
        concurrency: 1,
        partners: vec![Partner::Random],
        pace: Duration::from_millis(100),
        time: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        ..Schedule::default()
    };
    let mut first = run(&config, &token);
    let games = server.play(BOT, schedule, CancellationToken::new());
    let restart = async {
        let before = game(folder.path(), |game| game.moves.len() >= 4).await;
        first.kill().expect("it runs");
        first.wait().expect("it ran");
        (before, run(&config, &token))
    };
    let (report, (before, mut second)) = tokio::join!(games, restart);
    let ended = game(folder.path(), |game| game.ending.is_some()).await;
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
