//! Secrets of a running program: replaced without a restart, and closed to other users.

use std::fs::{self, Permissions};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use megaton::practice::{Endpoint, Fault, Options, Server, ServerHandle};
use rustix::process::Signal;
use tempfile::TempDir;

use super::control::{BOT, Opponent, Running, server};

/// Writes a secret that others cannot read.
fn keep(path: &Path, secret: &str) {
    fs::write(path, secret).expect("a file");
    fs::set_permissions(path, Permissions::from_mode(0o600)).expect("our file");
}

/// A server, a token of the bot there, and a folder with a file of it.
async fn token_in_a_file() -> (ServerHandle, String, TempDir, PathBuf) {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    keep(&file, &token);
    (server, token, folder, file)
}

/// Has the server forget a token.
fn revoke(url: &str, token: &str) {
    let host = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).expect("the server");
    let request = format!(
        "DELETE /api/token HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {token}\r\n\
         connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_token_is_used_after_a_reload_and_a_bad_one_is_not() {
    let (server, first, folder, file) = token_in_a_file().await;
    let mut bot = Running::start_in(&server, folder, None, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "a2a3").await;
    let stranger = server.open_bot("Stranger").expect("a good name");
    let second = server.open_bot(BOT).expect("a good name");
    for (token, said) in [
        ("", "token unchanged: "),
        (
            "lip_unknown",
            "token unchanged: the server does not know the new one",
        ),
        (
            stranger.as_str(),
            "token unchanged: the new one is of stranger",
        ),
        (first.as_str(), "no changes"),
        (second.as_str(), "token: renewed"),
        (second.as_str(), "no changes"),
    ] {
        keep(&file, token);
        let (code, out, err) = bot.tell(&["reload"]);
        let is_refused = said.contains("unchanged");
        assert_eq!(code, Some(i32::from(is_refused)), "{err}");
        let answer = if is_refused { err } else { out };
        assert!(answer.contains(said), "{answer}");
    }
    let events = bot.tell(&["events", "--kind", "operator"]).1;
    assert!(events.contains("reload: refused, token unchanged: the new one is of stranger"));
    tokio::task::block_in_place(|| revoke(server.url(), &first));
    other.move_and_wait(&game, "h2h3").await;
    assert!(
        other.plays(&game).await,
        "the game goes on with the new token"
    );
    assert_eq!(bot.status()["alerts"], serde_json::json!([]));
    bot.signal(Signal::TERM);
    other.0.resign(&game).await.expect("it may be resigned");
    let (code, log) = bot.end();
    assert_eq!(code, Some(0), "{log}");
    for secret in [&first, &second, &stranger] {
        assert!(
            !log.contains(secret.as_str()),
            "a token is in the log: {log}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_for_another_server_is_not_sent_to_the_present_one() {
    let (server, _, folder, file) = token_in_a_file().await;
    let mut bot = Running::start_in(&server, folder, None, "").await;
    // The present server would take it.
    keep(&file, &server.open_bot(BOT).expect("a good name"));
    bot.rewrite(|text| text.replace(server.url(), "https://lichess.org"));
    for _ in 0..2 {
        bot.signal(Signal::HUP);
        bot.wait_for("token: that of the new url is used from the next start on");
    }
    bot.rewrite(|text| text.replace("https://lichess.org", server.url()));
    bot.signal(Signal::HUP);
    bot.wait_for("token: renewed");
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_program_writes_is_for_its_user_alone() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    let data = folder.path().join("data");
    keep(&file, &token);
    fs::set_permissions(&file, Permissions::from_mode(0o644)).expect("our file");
    let mut bot = Running::start_in(&server, folder, None, "").await;
    bot.wait_for("[lichess] token_file: others can read");
    let mut folders = vec![data];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let mode = entry.metadata().expect("its rights").permissions().mode();
            assert_eq!(mode & 0o077, 0, "{}: {mode:o}", entry.path().display());
            seen += 1;
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    assert!(
        seen >= 4,
        "the server's folder, lock, state and socket: {seen}"
    );
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_the_server_refuses_leaves_the_old_one_in_use_and_is_an_alert() {
    let (server, first, folder, file) = token_in_a_file().await;
    let mut bot = Running::start_in(&server, folder, None, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    // A server that tells nothing about tokens to a caller that it does not know.
    for _ in 0..4 {
        let refusal = Fault::Refuse { status: 401 };
        server.faults().add(Endpoint::Lookup, refusal);
    }
    keep(&file, "lip_unknown");
    bot.signal(Signal::HUP);
    bot.wait_for("token unchanged: ");
    other.move_and_wait(&game, "a2a3").await;
    let alerts = bot.status()["alerts"].clone();
    assert_eq!(alerts[0]["kind"], "secret", "{alerts}");
    let text = alerts[0]["text"].as_str().expect("a text");
    assert!(
        text.contains(file.to_str().expect("a path in text")),
        "{text}"
    );
    assert_eq!(bot.status()["state"], "playing", "the old token is good");
    keep(&file, &first);
    assert_eq!(bot.tell(&["reload"]).1, "no changes\n");
    assert_eq!(bot.status()["alerts"], serde_json::json!([]));
    bot.signal(Signal::TERM);
    other.0.resign(&game).await.expect("it may be resigned");
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_whose_old_and_new_token_are_refused_ends_with_the_status_of_a_refused_token() {
    // Nobody listens at this address yet.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let listen = listener.local_addr().expect("its address");
    drop(listener);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("token");
    keep(&file, "lip_old");
    let mut bot = Running::start_at(&format!("http://{listen}"), folder, None, "");
    bot.wait_for("cannot reach the server");
    keep(&file, "lip_new");
    bot.signal(Signal::HUP);
    bot.wait_for("token unchanged: ");
    let options = Options {
        listen,
        ..Options::default()
    };
    let _server = Server::start(options).await.expect("the port is free");
    let (code, log) = bot.end();
    assert_eq!(code, Some(2), "{log}");
}
