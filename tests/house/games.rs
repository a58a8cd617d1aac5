//! The end of `megaton run` in the middle of a game, against the practice server.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use megaton::practice::{Event, Options, Partner, Schedule, Server, TimeControl};
use rustix::process::{Pid, Signal, kill_process};
use tokio_util::sync::CancellationToken;

use super::program::{command, finish};

const BOT: &str = "Megaton";
/// Longer than any of these games; a hang ends there.
const GUARD: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn the_first_signal_finishes_the_game_and_takes_no_other() {
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
    let mut bot = command(&["run", "--log-level", "off", "--config"])
        .arg(&config)
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");

    let mut news = server.events();
    let only_this = CancellationToken::new();
    let schedule = Schedule {
        games: 3,
        concurrency: 1,
        // A partner that lasts: the game must not be over before the signal.
        partners: vec![Partner::Engine { nodes: 1000 }],
        time: TimeControl::Clock {
            limit: 60,
            increment: 0,
        },
        rated: true,
        pause: Duration::ZERO,
        pace: Duration::from_millis(100),
    };
    let operator = async {
        let mut moves = 0;
        while moves < 3 {
            let event = tokio::time::timeout(GUARD, news.recv())
                .await
                .expect("news");
            moves += usize::from(matches!(event.expect("news"), Event::Moved { .. }));
        }
        kill_process(Pid::from_child(&bot), Signal::TERM).expect("it runs");
        only_this.cancel();
    };
    let games = server.play(BOT, schedule, only_this.clone());
    let played = async { tokio::join!(games, operator).0 };
    let report = tokio::time::timeout(GUARD, played)
        .await
        .expect("the game ends");
    let [game] = &report.games[..] else {
        panic!("one game expected: {report}")
    };
    assert!(game.is_clean() && game.plies > 3, "{report}");
    assert_eq!(finish(&mut bot, GUARD), Some(0));
    server.shutdown().await;
}
