//! Start and end of `megaton run` without any game.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use super::program::{command, finish};
use super::server::{Server, free_address};

const TOKEN: &str = "lip_Sesame0pen";
const BOT: &str = r#"{"id":"megaton","username":"Megaton","title":"BOT","perfs":{}}"#;
const HUMAN: &str = r#"{"id":"megaton","username":"Megaton","perfs":{}}"#;
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(30);

/// A started `megaton run` and the folder of its config.
struct Running {
    child: Child,
    log: BufReader<ChildStderr>,
    folder: TempDir,
}

impl Running {
    fn start(url: &str) -> Self {
        Self::start_with(url, &[])
    }

    /// With these variables besides.
    fn start_with(url: &str, variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("config.toml");
        fs::write(
            &config,
            format!("[lichess]\nurl = \"{url}\"\n[engine]\nhash = 1\n"),
        )
        .expect("a config");
        let mut child = command(&["run", "--log-level", "trace", "--config"])
            .arg(&config)
            .env("LICHESS_BOT_TOKEN", TOKEN)
            .envs(variables.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = BufReader::new(child.stderr.take().expect("its log"));
        Self { child, log, folder }
    }

    /// Reads the log until a line holds this.
    fn wait_for(&mut self, text: &str) {
        let begun = Instant::now();
        let mut seen = String::new();
        while !seen.contains(text) {
            let read = self.log.read_line(&mut seen).expect("the log is text");
            assert!(read > 0 && begun.elapsed() < GUARD, "no {text} in {seen}");
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Waits for the end; gives the status and the rest of the log.
    fn end(mut self) -> (Option<i32>, String) {
        let status = finish(&mut self.child, GUARD);
        let mut rest = String::new();
        while self.log.read_line(&mut rest).expect("the log is text") > 0 {}
        assert!(!rest.contains("Sesame"), "the token is in the log: {rest}");
        assert!(!rest.contains("panicked"), "{rest}");
        (status, rest)
    }
}

fn answers(account: (u16, &str), stream: (u16, &str)) -> Server {
    Server::start(HashMap::from([
        ("/api/account", (account.0, account.1.to_owned())),
        ("/api/stream/event", (stream.0, stream.1.to_owned())),
        (
            "/api/account/playing",
            (200, r#"{"nowPlaying":[],"nbMyTurn":0}"#.to_owned()),
        ),
    ]))
}

#[test]
fn run_waits_for_its_network_and_ends_on_a_signal() {
    let closed = free_address();
    for signal in [Signal::TERM, Signal::INT] {
        let mut running = Running::start(&format!("http://{closed}"));
        running.wait_for("cannot reach the server");
        running.signal(signal);
        assert_eq!(running.end().0, Some(0));
    }
}

#[test]
fn a_bot_that_reaches_no_server_says_why_and_when_it_tries_again() {
    let mut running = Running::start(&format!("http://{}", free_address()));
    running.wait_for("cannot reach the server");
    let asked = command(&["status", "--config"])
        .arg(running.folder.path().join("config.toml"))
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&asked.stdout).into_owned();
    assert!(told.contains("stream      not open for "), "{told}");
    assert!(told.contains("; next try in "), "{told}");
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}

#[test]
fn run_waits_while_the_server_is_out_of_order() {
    for (status, body) in [
        (503, "<html>deploying</html>"),
        (429, r#"{"error":"Too many requests. Try again later."}"#),
        (200, "<html>captive portal</html>"),
    ] {
        let server = answers((status, body), (200, ""));
        let mut running = Running::start(&server.url);
        running.wait_for("cannot reach the server");
        running.signal(Signal::TERM);
        assert_eq!(running.end().0, Some(0), "{body}");
    }
}

#[test]
fn run_ends_at_once_where_waiting_cannot_help() {
    let refused = r#"{"error":"Missing scope: bot:play"}"#;
    for (server, expected) in [
        (
            answers((401, r#"{"error":"No such token"}"#), (200, "")),
            "/account/oauth/token",
        ),
        (answers((200, HUMAN), (200, "")), "megaton upgrade-account"),
        (answers((200, BOT), (403, refused)), "bot:play"),
    ] {
        let (status, log) = Running::start(&server.url).end();
        assert_eq!(status, Some(2), "{log}");
        let last = log.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("megaton: ") && last.contains(expected),
            "{log}"
        );
        // The log file and the journal's JSON have it too.
        assert!(
            log.contains("ERROR") && log.contains("the bot has ended"),
            "{log}"
        );
    }
}

#[test]
fn the_reason_of_an_exit_is_among_the_events() {
    let server = answers((200, HUMAN), (200, ""));
    let mut running = Running::start(&server.url);
    assert_eq!(finish(&mut running.child, GUARD), Some(2));
    let asked = command(&["events", "--config"])
        .arg(running.folder.path().join("config.toml"))
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&asked.stdout);
    assert!(told.contains("it ends: "), "{told}");
}

#[test]
fn a_fatal_error_reaches_the_webhook_first() {
    let server = answers((401, r#"{"error":"No such token"}"#), (200, ""));
    let hook = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = hook.local_addr().expect("an address");
    let address = format!("http://{port}/hook");
    let told = std::thread::spawn(move || {
        let (mut taken, _) = hook.accept().expect("a message");
        taken.set_read_timeout(Some(GUARD)).expect("a time");
        let mut text = String::new();
        while !text.contains("No such token") {
            let mut piece = [0; 1024];
            let read = taken.read(&mut piece).expect("a message");
            assert!(read > 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
        let answer = b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n";
        taken.write_all(answer).expect("it is read");
        text
    });
    let running = Running::start_with(&server.url, &[("MEGATON_WEBHOOK", &address)]);
    let (status, log) = running.end();
    assert_eq!(status, Some(2), "{log}");
    // Where no message came, this ends the wait for one.
    drop(TcpStream::connect(port));
    let text = told.join().expect("the webhook was told");
    assert!(text.contains("the bot has exited: "), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn run_ends_where_another_process_plays_as_the_same_account_from_another_folder() {
    let server = answers((200, BOT), (200, "\n"));
    let mut first = Running::start(&server.url);
    first.wait_for("playing");
    let (status, log) = Running::start(&server.url).end();
    assert_eq!(status, Some(2), "{log}");
    let told = format!("process {} plays as Megaton already", first.child.id());
    assert!(log.contains(&told), "{log}");
    first.signal(Signal::TERM);
    assert_eq!(first.end().0, Some(0), "the first one went on");
    let mut again = Running::start(&server.url);
    again.wait_for("playing");
    again.signal(Signal::TERM);
    assert_eq!(again.end().0, Some(0));
}

#[test]
fn run_stays_through_an_event_stream_that_ends() {
    let server = answers((200, BOT), (200, "\n"));
    let mut running = Running::start(&server.url);
    running.wait_for("playing");
    let begun = Instant::now();
    while server
        .asked()
        .iter()
        .filter(|path| *path == "/api/stream/event")
        .count()
        < 2
    {
        assert!(begun.elapsed() < GUARD, "the stream is not opened again");
        std::thread::sleep(Duration::from_millis(20));
    }
    running.signal(Signal::TERM);
    assert_eq!(running.end().0, Some(0));
}
