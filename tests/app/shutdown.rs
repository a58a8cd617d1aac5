//! Shutdown of `megaton run` in the middle of a game on the practice server.

use std::fs;
use std::process::{Child, Stdio};
use std::time::Duration;

use megaton::practice::{
    Event, Options, Partner, Schedule, ScheduleReport, Server, ServerHandle, TimeControl,
};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::program::{command, finish};

const BOT: &str = "Megaton";
/// Longer than any of these games; a hang ends there.
const GUARD: Duration = Duration::from_secs(120);

/// A practice server and a `megaton run` on it.
struct Ground {
    server: ServerHandle,
    bot: Child,
    _folder: TempDir,
}

impl Ground {
    async fn open() -> Self {
        let server = Server::start(Options::default())
            .await
            .expect("a server on the loopback");
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("config.toml");
        let token = server.open_bot(BOT).expect("a good name");
        fs::write(folder.path().join("token"), token).expect("a token file");
        let text = format!(
            "[lichess]\nurl = \"{}\"\ntoken_file = \"token\"\n[engine]\nhash = 1\nnodes = 200\n",
            server.url()
        );
        fs::write(&config, text).expect("a config");
        let bot = command(&["run", "--log-level", "off", "--config"])
            .arg(&config)
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        Self {
            server,
            bot,
            _folder: folder,
        }
    }
}

/// Games one after the other, with a partner that lasts.
async fn play(server: &ServerHandle, pace: Duration, stop: &CancellationToken) -> ScheduleReport {
    let schedule = Schedule {
        games: 3,
        concurrency: 1,
        partners: vec![Partner::Engine { nodes: 1000 }],
        time: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        rated: true,
        people: false,
        pause: Duration::ZERO,
        pace,
    };
    let games = server.play(BOT, schedule, stop.clone());
    tokio::time::timeout(GUARD, games)
        .await
        .expect("the games end")
}

async fn see_moves(server: &ServerHandle, count: usize) {
    let mut news = server.events();
    let mut moves = 0;
    while moves < count {
        let event = tokio::time::timeout(GUARD, news.recv())
            .await
            .expect("a move in time");
        moves += usize::from(matches!(event.expect("news"), Event::Moved { .. }));
    }
}

fn tell(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_signal_finishes_the_game_and_takes_no_other() {
    let mut ground = Ground::open().await;
    let only_this = CancellationToken::new();
    let operator = async {
        see_moves(&ground.server, 3).await;
        tell(&ground.bot, Signal::TERM);
        only_this.cancel();
    };
    let pace = Duration::from_millis(100);
    let (report, ()) = tokio::join!(play(&ground.server, pace, &only_this), operator);
    let [game] = &report.games[..] else {
        panic!("one game expected: {report}")
    };
    assert!(game.is_clean() && game.plies > 3, "{report}");
    assert_eq!(finish(&mut ground.bot, GUARD), Some(0));
    ground.server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_signal_ends_it_at_once() {
    let Ground {
        server,
        mut bot,
        _folder,
    } = Ground::open().await;
    let never = CancellationToken::new();
    let operator = async {
        see_moves(&server, 1).await;
        tell(&bot, Signal::INT);
        tokio::time::sleep(Duration::from_millis(300)).await;
        let ended = bot.try_wait().expect("a child of ours");
        assert!(ended.is_none(), "its game is not over, yet it ended");
        tell(&bot, Signal::INT);
    };
    // A partner that would take hours.
    let pace = Duration::from_secs(50);
    tokio::select! {
        report = play(&server, pace, &never) => panic!("the game is over: {report}"),
        () = operator => {}
    }
    assert_eq!(finish(&mut bot, Duration::from_secs(20)), Some(0));
    server.shutdown().await;
}
