//! Other commands to a running bot: chat, stream status, and control while its config is broken.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use megaton::lichess::{GameId, Room};
use megaton::practice::{Endpoint, Fault};
use rustix::process::Signal;
use serde_json::Value;

use super::control::{Opponent, Running, server, until};
use super::program::{command, finish};

/// The control socket of a bot that keeps its things where the config says nothing of it.
fn socket(bot: &Running, url: &str) -> PathBuf {
    let host = url.trim_start_matches("http://").replace(':', "_");
    let folder = bot.config().parent().expect("a folder").join("data");
    folder.join(host).join("control.sock")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_speaks_through_the_bot() {
    let server = server().await;
    let bot = Running::start(&server, "").await;
    let (code, _, err) = bot.tell(&["say", "nosuch12", "hello"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("no game nosuch12 in progress"), "{err}");

    let other = Opponent::new(&server);
    let game = other.begin().await;
    until("the game is shown", async || {
        bot.status()["games"][0]["id"] == game.as_str()
    })
    .await;
    let id = game.as_str();
    let long = "é".repeat(141);
    let (code, _, err) = bot.tell(&["say", id, &long]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("141 characters; Lichess takes at most 140"),
        "{err}"
    );
    let (code, _, err) = bot.tell(&["say", id, "  "]);
    assert!(
        code == Some(1) && err.contains("the message is empty"),
        "{err}"
    );

    let (code, out, err) = bot.tell(&["say", id, "a word & another"]);
    assert_eq!((code, out.as_str()), (Some(0), "said\n"), "{err}");
    let (code, out, _) = bot.tell(&["say", id, "to those who watch", "--spectators"]);
    assert_eq!((code, out.as_str()), (Some(0), "said\n"));
    let heard = heard(&other, &game).await;
    assert!(heard.contains(&"a word & another".to_owned()), "{heard:?}");

    server
        .faults()
        .add(Endpoint::Chat, Fault::Refuse { status: 400 });
    let (code, _, err) = bot.tell(&["say", id, "again"]);
    assert!(code == Some(1) && err.contains("not sent: "), "{err}");
    other.0.abort(&game).await.expect("it may be aborted");
}

async fn heard(other: &Opponent, game: &GameId) -> Vec<String> {
    let lines = other.0.fetch_chat(game).await.expect("the chat");
    let of_players = lines.into_iter().filter(|line| line.room == Room::Player);
    of_players.map(|line| line.text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watched_status_is_repeated_until_the_bot_ends() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let mut watching = command(&["status", "--json", "--watch", "1", "--config"])
        .arg(bot.config())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut lines = BufReader::new(watching.stdout.take().expect("its words")).lines();
    tokio::task::block_in_place(|| {
        for _ in 0..2 {
            let line = lines.next().expect("another").expect("text");
            let status: Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(status["stream"]["open"], true, "{status}");
        }
    });
    bot.signal(Signal::TERM);
    bot.end();
    let status = tokio::task::block_in_place(|| finish(&mut watching, Duration::from_secs(60)));
    assert!(status.is_some_and(|code| code != 0), "{status:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_shows_the_streams() {
    let server = server().await;
    let bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    let stream = |of: &str| bot.status()["games"][0]["stream"][of].clone();
    until("the stream is open", async || stream("open") == true).await;
    let status = bot.status();
    assert_eq!(status["stream"]["openings"], 1);
    assert!(status["stream"]["received_ago"].is_u64(), "{status}");
    assert!(stream("received_ago").is_u64() && stream("since").is_u64());
    assert_eq!(stream("reopened"), 0);

    server.break_streams();
    until("both are open again", async || {
        let status = bot.status();
        status["games"][0]["stream"]["reopened"] == 1 && status["stream"]["openings"] == 2
    })
    .await;
    until("it is said in words", async || {
        let (_, out, _) = bot.tell(&["status"]);
        out.contains("2 openings in ten minutes")
            && out.contains("lost 1 time;")
            && out.contains("1 reconnect")
    })
    .await;

    for _ in 0..50 {
        for stream in [Endpoint::GameStream, Endpoint::Events] {
            server.faults().add(stream, Fault::Refuse { status: 502 });
        }
    }
    server.break_streams();
    until("it is said that neither is open, and why", async || {
        let (_, out, _) = bot.tell(&["status"]);
        out.contains("STREAM not open for ")
            && out.contains("is not connected: its event stream is down")
            && out.contains("the stream did not open: status 502")
    })
    .await;
    other.0.abort(&game).await.expect("it may be aborted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_config_does_not_lock_the_operator_out() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let good = fs::read_to_string(bot.config()).expect("a config");
    let broken = [
        good.replace("[engine]", "[engin]"),
        format!("{good}threads = \n[challenge\nconcurrency = = 3\n"),
    ];
    for text in &broken {
        fs::write(bot.config(), text).expect("a config");
        let (code, out, err) = bot.tell(&["status"]);
        assert_eq!(code, Some(0), "{text}: {err}");
        assert!(out.starts_with("Megaton accepts challenges"), "{out}");
        assert!(
            err.contains("warning: ") && err.contains("config.toml"),
            "{err}"
        );
        assert!(err.contains("--socket PATH"), "{err}");
        assert_eq!(bot.tell(&["pause"]).0, Some(0));
        assert_eq!(bot.tell(&["resume"]).0, Some(0));
    }

    // Nothing can be read out of it at all: then the socket has to be named.
    fs::write(bot.config(), "\u{1}").expect("a config");
    let (code, _, err) = bot.tell(&["status"]);
    assert_eq!(code, Some(1));
    assert!(
        err.contains("no bot is running") && err.contains("--socket PATH"),
        "{err}"
    );
    let socket = socket(&bot, server.url());
    let socket = socket.to_str().expect("a name");
    let output = super::program::command(&["status", "--socket", socket]).output();
    assert!(output.expect("the program starts").status.success());
    let output = super::program::command(&["drain", "--socket", socket]).output();
    assert!(output.expect("the program starts").status.success());
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_config_is_an_error() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    fs::remove_file(bot.config()).expect("it was there");
    let (code, _, err) = bot.tell(&["status"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("config.toml"), "{err}");
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
}
