//! `megaton upgrade`: when the installed program takes over, and when it must not.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use megaton::lichess::{ChallengeId, DeclineReason, Event, EventStream, OfferDraw};
use megaton::practice::{Endpoint, Fault, ServerHandle};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::control::{BOT, Opponent, Running, server, server_without_grace, until};
use super::program::{command, command_of, finish, program, ran};

/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_an_upgrade_the_same_process_resumes_the_game() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "g1f3").await;
    let pid = bot.child.id();
    let (code, out, err) = bot.tell(&["upgrade", "--within", "60"]);
    assert_eq!(code, Some(0), "{out} {err}");
    let last = out.lines().last().unwrap_or_default();
    assert!(
        last.starts_with("version ") && last.ends_with(" plays, 1 game resumed"),
        "{out}"
    );
    assert_eq!(bot.child.id(), pid);
    assert_eq!(
        bot.child.try_wait().expect("its status"),
        None,
        "it is the same process"
    );
    // The game goes on.
    other.move_and_wait(&game, "f3e5").await;
    assert!(other.plays(&game).await);
    bot.signal(Signal::TERM);
    other.0.resign(&game).await.expect("it may be resigned");
    let (code, log) = bot.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("handing over to the installed program"),
        "{log}"
    );
}

/// `megaton upgrade` under way, and the first line that it prints.
fn begin_upgrade(bot: &Running) -> (Child, String) {
    tokio::task::block_in_place(|| {
        let mut child = command(&["upgrade", "--within", "60", "--config"])
            .arg(bot.config())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let output = child.stdout.as_mut().expect("its output");
        BufReader::new(output).read_line(&mut line).expect("text");
        (child, line)
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_is_owed_is_sent_once_before_the_new_program_takes_over() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    // The opponent's own call; then the bot's, of which the last arrives.
    server
        .faults()
        .add(Endpoint::Move, Fault::SlowReply(Duration::ZERO));
    for fault in [
        Fault::Swallow,
        Fault::Swallow,
        Fault::Swallow,
        Fault::DoneInSilence,
    ] {
        server.faults().add(Endpoint::Move, fault);
    }
    let moved = other.0.make_move(&game, "g1f3", OfferDraw::No).await;
    moved.expect("a legal move");
    let (mut upgrade, line) = begin_upgrade(&bot);
    assert!(line.contains("the bot is to move in"), "{line}");
    let code = tokio::task::block_in_place(|| finish(&mut upgrade, GUARD));
    assert_eq!(code, Some(0));
    assert!(other.to_move(&game).await, "the move has arrived");
    let calls = |server: &ServerHandle| server.traffic().calls[Endpoint::Move.name()];
    let before = calls(&server);
    other.move_and_wait(&game, "f3e5").await;
    assert_eq!(calls(&server) - before, 2, "one more move each");
    bot.signal(Signal::TERM);
    other.0.resign(&game).await.expect("it may be resigned");
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_waits_until_the_clock_is_long_enough() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let game = other.begin_at(15).await;
    other.move_and_wait(&game, "g1f3").await;
    let (mut upgrade, line) = begin_upgrade(&bot);
    assert!(line.contains(" s are left in "), "{line}");
    let waits = |status: Value| {
        let switch = status["switches"][0].as_str().map(str::to_owned);
        switch.is_some_and(|it| it.starts_with("the upgrade waits: 1"))
    };
    assert!(waits(bot.status()), "{}", bot.status());
    assert_eq!(upgrade.try_wait().expect("its status"), None);
    server.give_time("Other", game.as_str(), 15);
    let code = tokio::task::block_in_place(|| finish(&mut upgrade, GUARD));
    assert_eq!(code, Some(0));
    other.move_and_wait(&game, "f3e5").await;
    bot.signal(Signal::TERM);
    other.0.resign(&game).await.expect("it may be resigned");
    assert_eq!(bot.end().0, Some(0));
}

/// Replaces a program, as `install` does.
fn install(place: &Path, text: &str, mode: u32) {
    let new = place.with_extension("new");
    fs::write(&new, text).expect("a file");
    fs::set_permissions(&new, Permissions::from_mode(mode)).expect("our file");
    fs::rename(new, place).expect("our folder");
}

/// Puts the program there.
fn install_ours(place: &Path) {
    let new = place.with_extension("new");
    fs::copy(program(), &new).expect("room for it");
    fs::rename(new, place).expect("our folder");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_that_cannot_take_over_is_refused_and_the_bot_plays_on() {
    let server = server().await;
    let folder = tempfile::tempdir().expect("a folder");
    let installed: PathBuf = folder.path().join("megaton");
    install_ours(&installed);
    let text = format!(
        "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 1\n",
        server.url()
    );
    fs::write(folder.path().join("config.toml"), text).expect("a config");
    let token = server.open_bot(BOT).expect("a good name");
    let run = command_of(&installed, &["run", "--config"]);
    let mut bot = Running::launch(run, folder, Some(&token));
    until("it is online", async || server.is_online(BOT)).await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "g1f3").await;
    let (pid, begun) = (bot.child.id(), bot.status()["uptime"].as_u64());
    let fails = "#!/bin/sh\n[ \"$1\" = --version ] && echo megaton 9.9.9\n";
    for (text, mode, why) in [
        (
            "#!/bin/sh\nexit 0\n",
            0o644,
            "cannot be started (Permission denied",
        ),
        (
            "no program\n",
            0o755,
            "cannot be started (Exec format error",
        ),
        ("#!/bin/sh\nexit 0\n", 0o755, "is another program"),
        (fails, 0o755, "fails (exit status: 1) at `check --offline`"),
    ] {
        install(&installed, text, mode);
        let (code, out, err) = bot.tell(&["upgrade", "--within", "60"]);
        assert_eq!(code, Some(1), "{out}{err}");
        assert!(err.contains(why), "{err}");
        assert!(err.contains("the bot plays on as it is"), "{err}");
    }
    other.move_and_wait(&game, "f3e5").await;
    assert!(bot.status()["uptime"].as_u64() >= begun, "no restart");
    install_ours(&installed);
    for _ in 0..2 {
        let (code, out, err) = bot.tell(&["upgrade", "--within", "60"]);
        assert_eq!(code, Some(0), "{out}{err}");
        assert_eq!(bot.child.id(), pid);
        let alive = bot.child.try_wait().expect("its status");
        assert_eq!(alive, None, "it is the same process");
    }
    assert!(other.plays(&game).await);
    bot.signal(Signal::TERM);
    other.0.resign(&game).await.expect("it may be resigned");
    assert_eq!(bot.end().0, Some(0));
}

/// Gives these answers at a control socket, one for each request.
fn answer_in_turn(socket: &UnixListener, answers: &[Value]) {
    for answer in answers {
        let (mut client, _) = socket.accept().expect("a client");
        let mut request = String::new();
        let read = BufReader::new(&client).read_line(&mut request);
        read.expect("a request");
        writeln!(client, "{answer}").expect("it is read");
    }
}

#[test]
fn the_old_program_is_not_taken_for_the_new_one_after_a_missed_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("control.sock");
    let socket = UnixListener::bind(&path).expect("a socket");
    let status = |version: &str, uptime: u64, account: Option<&str>| {
        let status = json!({ "version": version, "uptime": uptime, "account": account });
        json!({ "ok": true, "status": status })
    };
    let old = || status("1.0.0", 100, Some(BOT));
    let answers = [
        old(),
        json!({ "ok": true, "text": "waiting: a call is under way" }),
        json!({ "ok": false, "text": "the bot is busy with other commands" }),
        old(),
        status("2.0.0", 0, None),
        status("2.0.0", 0, Some(BOT)),
    ];
    let bot = thread::spawn(move || answer_in_turn(&socket, &answers));
    let upgrade = ran(command(&["upgrade", "--socket"])
        .arg(&path)
        .current_dir(folder.path()));
    assert_eq!(upgrade.status, Some(0), "{}", upgrade.stderr);
    let shown = "waiting: a call is under way\nversion 2.0.0 plays, 0 games resumed\n";
    assert_eq!(upgrade.stdout, shown);
    bot.join().expect("every answer is asked for");
}

/// Has the bot challenge "Other"; gives the challenge.
async fn challenged(bot: &Running, stream: &mut EventStream) -> ChallengeId {
    let (code, _, err) = bot.tell(&["challenge", "Other", "3+2"]);
    assert_eq!(code, Some(0), "{err}");
    match next(stream).await {
        Event::Challenge { challenge, .. } => challenge.id,
        other => panic!("{other:?}"),
    }
}

async fn next(stream: &mut EventStream) -> Event {
    let line = tokio::time::timeout(GUARD, stream.next()).await;
    line.expect("in time").expect("it is open").event
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_challenge_delays_an_upgrade_and_is_withdrawn_after_a_kill() {
    let server = server_without_grace().await;
    let mut bot = Running::start(&server, "[matchmaking]\ntimeout = 60\n").await;
    let other = Opponent::new(&server);
    let mut stream = other.0.events().await.expect("its stream");
    let left = challenged(&bot, &mut stream).await;
    bot.restart(&server).await;
    match next(&mut stream).await {
        Event::ChallengeCanceled(gone) => assert_eq!(gone.id, left),
        other => panic!("{other:?}"),
    }
    let challenge = challenged(&bot, &mut stream).await;
    let (mut upgrade, line) = begin_upgrade(&bot);
    assert!(line.contains("a challenge of the bot is open"), "{line}");
    let (code, _, err) = bot.tell(&["challenge", "Third", "3+2"]);
    assert_eq!(code, Some(0), "{err}");
    let declined = other.0.decline(&challenge, DeclineReason::Later).await;
    declined.expect("an open challenge");
    let code = tokio::task::block_in_place(|| finish(&mut upgrade, GUARD));
    assert_eq!(code, Some(0));
    let (_, events, err) = bot.tell(&["events", "--kind", "operator"]);
    assert!(
        events.contains("challenge third: not sent"),
        "{events}{err}"
    );
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_while_it_hands_over_ends_the_process() {
    let server = server().await;
    let hook = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = hook.local_addr().expect("an address");
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("hook"), format!("http://{address}/")).expect("a file");
    let token = server.open_bot(BOT).expect("a good name");
    let alerts = "[alerts]\nwebhook_file = \"hook\"\nformat = \"text\"\n";
    let mut bot = Running::start_in(&server, folder, Some(&token), alerts).await;
    // A first 401 may be about our name in the user agent; it is asked again without.
    for _ in 0..2 {
        let refusal = Fault::Refuse { status: 401 };
        server.faults().add(Endpoint::Events, refusal);
    }
    server.break_streams();
    // Never answered, this message holds the end of the old program.
    let _taken = tokio::task::block_in_place(|| hook.accept()).expect("a message");
    let (mut upgrade, _) = begin_upgrade(&bot);
    bot.wait_for("handing over to the installed program");
    bot.signal(Signal::TERM);
    let (code, log) = bot.end();
    upgrade.kill().expect("it waits for the new program");
    upgrade.wait().expect("it ends");
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("stopped while handing over"), "{log}");
}
