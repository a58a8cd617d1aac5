//! A running bot as monitoring sees it: probes, metrics, service manager, webhook.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use megaton::practice::{Endpoint, Fault, ServerHandle};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::control::{BOT, Opponent, Running, server, until};
use super::program::{command, finish};
use super::server::free_address;

/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

/// A started `megaton run`, killed when it is dropped.
pub(super) struct Watched {
    child: Child,
    folder: Arc<tempfile::TempDir>,
    page: SocketAddr,
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Watched {
    /// Starts it with these variables; its page is at a free port.
    pub(super) fn start(server: &ServerHandle, more: &str, variables: &[(&str, &str)]) -> Self {
        let folder = Arc::new(tempfile::tempdir().expect("a folder"));
        Self::start_in(folder, server, more, variables)
    }

    fn start_in(
        folder: Arc<tempfile::TempDir>,
        server: &ServerHandle,
        more: &str,
        variables: &[(&str, &str)],
    ) -> Self {
        let token = server.open_bot(BOT).expect("a good name");
        let page = free_address();
        let text = format!(
            "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 1\n[panel]\nlisten = \"{page}\"\n{more}",
            server.url()
        );
        fs::write(folder.path().join("config.toml"), text).expect("a config");
        let child = command(&["run", "--config"])
            .arg(folder.path().join("config.toml"))
            .env("LICHESS_BOT_TOKEN", token)
            .envs(variables.iter().copied())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        Self {
            child,
            folder,
            page,
        }
    }

    /// Status and body of an address of its page; nothing while it is not open.
    pub(super) fn get(&self, path: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(self.page).ok()?;
        stream.set_read_timeout(Some(GUARD)).ok()?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            self.page
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let status = answer.split(' ').nth(1)?.parse().ok()?;
        let body = answer.split_once("\r\n\r\n")?.1.to_owned();
        Some((status, body))
    }

    /// A command with the same config: status and stdout.
    pub(super) fn tell(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = tokio::task::block_in_place(|| {
            command(arguments)
                .arg("--config")
                .arg(self.folder.path().join("config.toml"))
                .output()
        });
        let output = output.expect("the program starts");
        let said = String::from_utf8(output.stdout).expect("text");
        (output.status.code(), said)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }
}

/// The page's starts of the program, once it lists one.
async fn starts(bot: &Watched) -> Value {
    let found = || -> Option<Value> {
        let (_, body) = bot.get("/api/events?kind=start")?;
        let page: Value = serde_json::from_str(&body).ok()?;
        body.contains("\"start\"").then_some(page)
    };
    until("its start is listed", async || found().is_some()).await;
    found().expect("it was listed")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_an_archive_the_page_shows_this_run_and_not_an_old_file() {
    let server = server().await;
    let bot = Watched::start(&server, "", &[]);
    let first = starts(&bot).await;
    let folder = bot.folder.clone();
    let archived = || {
        let name = Path::new("games.db");
        let mut folders = fs::read_dir(folder.path().join("data")).ok()?;
        folders.find_map(|it| Some(it.ok()?.path().join(name)).filter(|it| it.exists()))
    };
    until("the archive has it", async || archived().is_some()).await;
    drop(bot);

    let bot = Watched::start_in(folder.clone(), &server, "[archive]\nkeep = false\n", &[]);
    assert_ne!(starts(&bot).await, first, "the start before is shown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn probes_say_whether_it_is_alive_and_ready_and_why_not() {
    let server = server().await;
    let bot = Watched::start(&server, "", &[]);
    let is = |path: &str, status: u16| bot.get(path).is_some_and(|it| it.0 == status);
    until("it is ready", async || is("/readyz", 200)).await;
    assert_eq!(
        bot.get("/healthz").expect("it is open"),
        (200, "alive\n".to_owned())
    );
    assert_eq!(bot.tell(&["healthcheck", "--ready"]).0, Some(0));
    let (_, body) = bot.get("/readyz").expect("it is open");
    let report: Value = serde_json::from_str(&body).expect("JSON");
    let names: Vec<&str> = report["checks"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|check| check["name"].as_str())
        .collect();
    for name in ["bot", "state", "stream", "accepted", "engine", "disk"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }

    assert_eq!(bot.tell(&["pause"]).0, Some(0));
    until("it is not ready", async || is("/readyz", 503)).await;
    let (code, said) = bot.tell(&["healthcheck", "--ready"]);
    assert_eq!(code, Some(1));
    assert!(
        said.starts_with("not ready\n") && said.contains("WRONG state"),
        "{said}"
    );
    let (code, said) = bot.tell(&["healthcheck"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("alive\nok    bot"), "{said}");
    assert!(said.contains("engine") && !said.contains("state"), "{said}");
    assert_eq!(
        bot.tell(&["healthcheck", "--quiet"]),
        (Some(0), String::new())
    );
    assert!(is("/healthz", 200), "it lives all the same");

    bot.signal(Signal::STOP);
    let (code, _) = bot.tell(&["healthcheck", "--socket", "/nowhere"]);
    assert_eq!(code, Some(2), "a socket or a config, not both");
    bot.signal(Signal::CONT);
}

#[test]
fn the_probe_of_a_bot_that_hangs_ends_in_time_and_says_so() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("control.sock");
    let deaf = UnixListener::bind(&socket).expect("a socket");
    // One is taken in and told nothing, the other is not even taken in.
    let probe = || {
        command(&["healthcheck", "--socket"])
            .arg(&socket)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts")
    };
    let probes = [probe(), probe()];
    let (_taken_in, _) = deaf.accept().expect("somebody comes");
    for mut probe in probes {
        let code = finish(&mut probe, GUARD);
        let output = probe.wait_with_output().expect("it has ended");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code, Some(1), "{said}");
        assert!(output.stdout.is_empty(), "it is not known to be alive");
        assert!(said.contains("control.sock does not answer"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_show_what_happens() {
    let server = server().await;
    let bot = Watched::start(&server, "", &[]);
    let shows = |line: &str| {
        let scraped = bot.get("/metrics");
        scraped.is_some_and(|(_, text)| text.lines().any(|it| it == line))
    };
    let open = "megaton_event_stream_open 1.0";
    until("it can be challenged", async || shows(open)).await;
    assert!(shows("megaton_state{state=\"playing\"} 1.0"));
    let (status, text) = bot.get("/metrics").expect("it is open");
    assert_eq!(status, 200);
    assert!(text.ends_with("# EOF\n"), "{text}");
    for name in [
        "process_resident_memory_bytes ",
        "megaton_event_streams_lost_total 0",
        "megaton_game_streams_lost_total 0",
        "megaton_quota_limit{what=\"bot_games\"} 100",
        "megaton_table_fill_ratio ",
        "megaton_think_seconds_count 0",
    ] {
        assert!(text.contains(name), "{name} in {text}");
    }
    assert_eq!(bot.tell(&["pause"]).0, Some(0));
    until("paused", async || {
        shows("megaton_state{state=\"paused\"} 1.0")
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_manager_and_its_watchdog_are_notified() {
    let server = server().await;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(GUARD)).expect("a time");
    let variables = [
        ("NOTIFY_SOCKET", path.to_str().expect("a name")),
        ("WATCHDOG_USEC", "600000"),
    ];
    let mut bot = Watched::start(&server, "", &variables);
    let hears = |what: &str| {
        tokio::task::block_in_place(|| {
            let begun = Instant::now();
            let mut word = [0; 4096];
            loop {
                let length = manager.recv(&mut word).expect("it goes on telling");
                let said = String::from_utf8_lossy(&word[..length]).into_owned();
                if said.contains(what) {
                    return;
                }
                assert!(begun.elapsed() < GUARD, "no {what}");
            }
        });
    };
    hears("READY=1");
    hears("WATCHDOG=1");
    hears("STATUS=Megaton accepts challenges; no game");
    hears("WATCHDOG=1");
    bot.tell(&["pause"]);
    hears("STATUS=Megaton is paused");
    bot.signal(Signal::TERM);
    let status = tokio::task::block_in_place(|| finish(&mut bot.child, GUARD));
    assert_eq!(status, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_alert_reaches_the_webhook_and_a_hanging_webhook_does_no_harm() {
    let server = server().await;
    let hook = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!(
        "http://{}/verysecret",
        hook.local_addr().expect("an address")
    );
    let mut bot = Watched::start(
        &server,
        "[alerts]\nwebhook_file = \"hook\"\nformat = \"text\"\n",
        &[("MEGATON_WEBHOOK", &address)],
    );
    until("it is online", async || server.is_online(BOT)).await;
    let opponent = Opponent::new(&server);
    let game = opponent.begin().await;
    // A first 401 may be about our name in the user agent; it is asked again without.
    for _ in 0..2 {
        let refusal = Fault::Refuse { status: 401 };
        server.faults().add(Endpoint::Events, refusal);
    }
    server.break_streams();
    // Taken and never answered: the bot continues, and so does its game.
    let (mut taken, _) = tokio::task::block_in_place(|| hook.accept()).expect("a message");
    taken.set_read_timeout(Some(GUARD)).expect("a time");
    let mut text = String::new();
    tokio::task::block_in_place(|| {
        let mut piece = [0; 1024];
        while !text.contains("[token]") {
            let read = taken.read(&mut piece).expect("a message");
            assert!(read > 0, "{text}");
            text.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    });
    assert!(text.starts_with("POST /verysecret"), "{text}");
    taken.set_nonblocking(true).expect("a socket");
    for uci in ["g1f3", "b1c3"] {
        opponent.move_and_wait(&game, uci).await;
        assert!(waits(&mut taken), "the move came only after the webhook");
    }
    assert_eq!(bot.tell(&["status"]).0, Some(0), "it answers");
    opponent.0.resign(&game).await.expect("it may");
    bot.signal(Signal::TERM);
    let status = tokio::task::block_in_place(|| finish(&mut bot.child, GUARD));
    assert_eq!(status, Some(0));
}

/// Whether someone still waits for an answer there.
fn waits(asked: &mut TcpStream) -> bool {
    let mut rest = [0; 1024];
    loop {
        match asked.read(&mut rest) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_costs_the_page_and_no_game() {
    let server = server().await;
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let mut bot = Running::start(&server, &format!("[panel]\nlisten = \"{address}\"\n")).await;
    bot.wait_for(&format!(
        "the bot runs without its page: cannot listen at {address}"
    ));
    let opponent = Opponent::new(&server);
    let game = opponent.begin().await;
    opponent.move_and_wait(&game, "g1f3").await;
}

#[test]
fn an_invalid_webhook_prevents_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |hook: &str| {
        fs::write(folder.path().join("hook"), hook).expect("a file");
        let text = "[alerts]\nwebhook_file = \"hook\"\n[panel]\nlisten = \"\"\n";
        fs::write(folder.path().join("config.toml"), text).expect("a config");
        complaint(&folder.path().join("config.toml"))
    };
    let said = refused("verysecret");
    assert!(said.contains("holds no usable address"), "{said}");
    assert!(!said.contains("verysecret"), "{said}");
}

/// What a start with this config complains of.
fn complaint(config: &Path) -> String {
    let output = command(&["run", "--config"])
        .arg(config)
        .env("LICHESS_BOT_TOKEN", "lip_x")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).expect("text")
}
