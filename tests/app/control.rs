//! Commands to a running bot: control socket, signals, a second start.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use megaton::lichess::{
    ChallengeOptions, Client, ClientOptions, ColorChoice, GameId, OfferDraw, TimeControl, Timing,
    Token, UserId,
};
use megaton::practice::{self, Options, Server, ServerHandle};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use super::program::{command, finish};

pub(super) const BOT: &str = "Megaton";
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

/// A started `megaton run`, killed when it is dropped.
pub(super) struct Running {
    pub(super) child: Child,
    log: BufReader<ChildStderr>,
    folder: TempDir,
}

impl Drop for Running {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    /// Starts it and waits until it can be challenged.
    pub(super) async fn start(server: &ServerHandle, more: &str) -> Self {
        let token = server.open_bot(BOT).expect("a good name");
        let folder = tempfile::tempdir().expect("a folder");
        Self::start_in(server, folder, Some(&token), more).await
    }

    /// The same in this folder; without a token in the environment, with that in the file `token`.
    pub(super) async fn start_in(
        server: &ServerHandle,
        folder: TempDir,
        token: Option<&str>,
        more: &str,
    ) -> Self {
        let running = Self::start_at(server.url(), folder, token, more);
        until("it is online", async || server.is_online(BOT)).await;
        running
    }

    /// The same for a server at this address, which need not be there yet.
    pub(super) fn start_at(url: &str, folder: TempDir, token: Option<&str>, more: &str) -> Self {
        let file = if token.is_none() {
            "token_file = \"token\"\n"
        } else {
            ""
        };
        let text =
            format!("[lichess]\nurl = \"{url}\"\n{file}[engine]\nhash = 1\nnodes = 1\n{more}");
        fs::write(folder.path().join("config.toml"), text).expect("a config");
        Self::launch(command(&["run", "--config"]), folder, token)
    }

    /// Starts `run`, which still lacks the file of the config, in a folder with a config.
    pub(super) fn launch(mut run: Command, folder: TempDir, token: Option<&str>) -> Self {
        let mut child = run
            .arg(folder.path().join("config.toml"))
            .envs(token.map(|token| ("LICHESS_BOT_TOKEN", token)))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let log = BufReader::new(child.stderr.take().expect("its log"));
        Self { child, log, folder }
    }

    /// Kills it and starts it again on the same data.
    pub(super) async fn restart(&mut self, server: &ServerHandle) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
        until("the kill is noticed", async || !server.is_online(BOT)).await;
        let token = server.open_bot(BOT).expect("a good name");
        self.child = command(&["run", "--config"])
            .arg(self.config())
            .env("LICHESS_BOT_TOKEN", token)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        self.log = BufReader::new(self.child.stderr.take().expect("its log"));
        until("it is online again", async || server.is_online(BOT)).await;
    }

    pub(super) fn config(&self) -> PathBuf {
        self.folder.path().join("config.toml")
    }

    pub(super) fn rewrite(&self, change: impl FnOnce(String) -> String) {
        let text = fs::read_to_string(self.config()).expect("a config");
        fs::write(self.config(), change(text)).expect("a config");
    }

    /// Another start of the program with the same config: status, stdout, stderr.
    pub(super) fn tell(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        self.tell_with(arguments, Some("lip_other"))
    }

    /// The same with this token in the environment.
    pub(super) fn tell_with(
        &self,
        arguments: &[&str],
        token: Option<&str>,
    ) -> (Option<i32>, String, String) {
        let output = tokio::task::block_in_place(|| {
            command(arguments)
                .arg("--config")
                .arg(self.config())
                .envs(token.map(|token| ("LICHESS_BOT_TOKEN", token)))
                .output()
        });
        let output = output.expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (
            output.status.code(),
            text(output.stdout),
            text(output.stderr),
        )
    }

    pub(super) fn status(&self) -> Value {
        let (code, out, err) = self.tell(&["status", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        serde_json::from_str(&out).expect("JSON")
    }

    /// Reads the log until a line holds this.
    pub(super) fn wait_for(&mut self, text: &str) {
        tokio::task::block_in_place(|| {
            let begun = Instant::now();
            let mut seen = String::new();
            while !seen.contains(text) {
                let read = self.log.read_line(&mut seen).expect("the log is text");
                assert!(read > 0 && begun.elapsed() < GUARD, "no {text} in {seen}");
            }
        });
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("it runs");
    }

    /// Waits for the end; gives the status and the rest of the log.
    pub(super) fn end(&mut self) -> (Option<i32>, String) {
        tokio::task::block_in_place(|| {
            let status = finish(&mut self.child, GUARD);
            let mut rest = String::new();
            while self.log.read_line(&mut rest).expect("the log is text") > 0 {}
            assert!(!rest.contains("panicked"), "{rest}");
            (status, rest)
        })
    }
}

/// Waits for something to become so.
pub(super) async fn until(what: &str, so: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !so().await {
        assert!(begun.elapsed() < GUARD, "waiting in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

pub(super) async fn server() -> ServerHandle {
    Server::start(Options::default()).await.expect("a port")
}

/// The same for a test that kills the bot: without its stream the bot is offline at once, where Lichess
/// shows it as online for a while.
pub(super) async fn server_without_grace() -> ServerHandle {
    let timing = practice::Timing {
        online_grace: Duration::ZERO,
        ..practice::Timing::default()
    };
    let options = Options {
        timing,
        ..Options::default()
    };
    Server::start(options).await.expect("a port")
}

/// Someone who challenges the bot, and moves when told to.
pub(super) struct Opponent(pub(super) Client);

impl Opponent {
    pub(super) fn new(server: &ServerHandle) -> Self {
        let token = server.open_bot("Other").expect("a good name");
        let client = Client::new(ClientOptions {
            base_url: server.url().to_owned(),
            token: Token::parse(&token, "the test").expect("a good token"),
            contact: None,
            timing: Timing::default(),
        });
        Self(client.expect("a good address"))
    }

    /// A game in which it is to move.
    pub(super) async fn begin(&self) -> GameId {
        self.begin_at(180).await
    }

    /// The same with so many seconds on each clock, and two for each move.
    pub(super) async fn begin_at(&self, limit: u64) -> GameId {
        self.begin_with(BOT, limit).await
    }

    /// The same with this bot.
    pub(super) async fn begin_with(&self, bot: &str, limit: u64) -> GameId {
        let options = ChallengeOptions {
            color: ColorChoice::White,
            time_control: TimeControl::Clock {
                limit: Duration::from_secs(limit),
                increment: Duration::from_secs(2),
            },
            ..ChallengeOptions::default()
        };
        let made = self.0.create_challenge(&UserId::new(bot), &options).await;
        let game = made.expect("a challenge").id.as_game();
        until("the game begins", async || self.to_move(&game).await).await;
        game
    }

    pub(super) async fn to_move(&self, game: &GameId) -> bool {
        let playing = self.0.playing().await.expect("a list");
        playing
            .games
            .iter()
            .any(|it| it.id == *game && it.is_my_turn)
    }

    pub(super) async fn plays(&self, game: &GameId) -> bool {
        let playing = self.0.playing().await.expect("a list");
        playing.games.iter().any(|it| it.id == *game)
    }

    /// Moves, and waits for the bot's answer.
    pub(super) async fn move_and_wait(&self, game: &GameId, uci: &str) {
        let moved = self.0.make_move(game, uci, OfferDraw::No).await;
        moved.expect("a legal move");
        until("the bot answers", async || self.to_move(game).await).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_bot_obeys_commands() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let (_, out, _) = bot.tell(&["status"]);
    assert!(
        out.starts_with("Megaton accepts challenges; version "),
        "{out}"
    );
    assert!(out.contains("\nslots       0 of 8 taken\n"), "{out}");

    let other = Opponent::new(&server);
    let game = other.begin().await;
    until("the game is shown", async || {
        bot.status()["games"][0]["id"] == game.as_str()
    })
    .await;
    let status = bot.status();
    assert_eq!(status["games"][0]["opponent"], "Other");
    assert_eq!(status["slots"]["taken"], 1);
    assert_eq!(status["stream"]["open"], true);

    let (_, out, _) = bot.tell(&["pause"]);
    assert!(out.starts_with("paused"), "{out}");
    assert_eq!(bot.status()["state"], "paused");
    assert_eq!(bot.tell(&["resume"]).0, Some(0));
    assert_eq!(bot.status()["state"], "playing");

    let (code, _, err) = bot.tell(&["challenge", BOT]);
    assert_eq!(code, Some(1));
    assert!(err.contains("the bot's own account"), "{err}");
    let (code, _, err) = bot.tell(&["challenge", "Other", "quick"]);
    assert!(code == Some(1) && err.contains("blitz"), "{err}");
    assert_eq!(bot.tell(&["rechallenge"]).0, Some(1));
    assert_eq!(bot.tell(&["matchmaking", "on"]).0, Some(0));
    assert_eq!(bot.status()["matchmaking"]["enabled"], true);
    assert_eq!(bot.tell(&["matchmaking", "off"]).0, Some(0));

    assert_eq!(bot.tell(&["reload"]).1, "no changes\n");
    bot.rewrite(|text| text + "[challenge]\nconcurrency = 3\n");
    assert_eq!(bot.tell(&["reload"]).1, "[challenge] concurrency: 8 -> 3\n");
    assert_eq!(bot.status()["slots"]["all"], 3);

    other.0.abort(&game).await.expect("it may be aborted");
    let (_, out, _) = bot.tell(&["drain"]);
    assert!(out.starts_with("shutting down: "), "{out}");
    let (code, log) = bot.end();
    assert_eq!(code, Some(0), "{log}");
    let (code, _, err) = bot.tell(&["status"]);
    assert!(
        code == Some(1) && err.contains("no bot is running"),
        "{err}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hangup_reads_the_config_again_and_a_bad_one_changes_nothing() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let good = fs::read_to_string(bot.config()).expect("a config");
    bot.rewrite(|text| text.replace("[engine]", "[engin]"));
    bot.signal(Signal::HUP);
    bot.wait_for("config unchanged");
    let better = format!("{good}ponder = true\n");
    fs::write(bot.config(), better).expect("a config");
    bot.signal(Signal::HUP);
    bot.wait_for("[engine] ponder: false -> true");
    assert_eq!(bot.status()["state"], "playing");
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn table_folders_without_tables_are_named_at_a_reload_and_end_no_start() {
    let server = server_without_grace().await;
    let mut bot = Running::start(&server, "").await;
    // A mount point where nothing is mounted, and a misspelt name.
    let (empty, missing) = ("unmounted", "misspelt");
    fs::create_dir(bot.config().with_file_name(empty)).expect("a folder");
    let folders = format!("syzygy_path = [\"{empty}\", \"{missing}\"]");
    bot.rewrite(|text| text.replace("[engine]", &format!("[engine]\n{folders}")));
    let faults = [
        format!("{empty}: no atomic tables"),
        format!("{missing}: No such file"),
    ];
    let names_both = |text: &str| faults.iter().all(|fault| text.contains(fault));
    let (code, out, err) = bot.tell(&["reload"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(names_both(&out) && out.contains("next start"), "{out}");
    let (code, out, err) = bot.tell(&["check", "--offline"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(names_both(&out), "{out}");
    bot.restart(&server).await;
    bot.wait_for(&faults[0]);
    bot.wait_for(&faults[1]);
    let (_, out, _) = bot.tell(&["status"]);
    assert!(names_both(&out), "{out}");
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_refuses_a_log_file_that_would_end_the_next_start() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    // Its folder is a file.
    bot.rewrite(|text| text + "[log]\nfile = \"config.toml/megaton.log\"\n");
    let (code, out, err) = bot.tell(&["reload"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(err.contains("[log] file: cannot write to"), "{err}");
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_start_on_the_same_data_is_refused() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let (code, _, err) = bot.tell(&["run"]);
    assert_eq!(code, Some(2));
    let holder = format!("in use by process {}", bot.child.id());
    assert!(err.contains(&holder), "{err}");
    let status = bot.status();
    assert_eq!(status["stream"]["open"], true, "the first one goes on");
    bot.signal(Signal::INT);
    assert_eq!(bot.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_end_of_a_drain_fresh_games_are_aborted_and_others_are_left() {
    let server = server().await;
    let mut bot = Running::start(&server, "[shutdown]\ndrain = 1\n").await;
    let other = Opponent::new(&server);
    let old = other.begin().await;
    other.move_and_wait(&old, "e2e4").await;
    let fresh = other.begin().await;
    until("both are shown", async || {
        bot.status()["games"].as_array().map_or(0, Vec::len) == 2
    })
    .await;
    bot.signal(Signal::TERM);
    let (code, log) = bot.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("aborting a game that has barely started"),
        "{log}"
    );
    assert!(log.contains("left in progress"), "{log}");
    assert!(!other.plays(&fresh).await, "the fresh game is aborted");
    assert!(other.plays(&old).await, "the other can be taken up again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_signal_ends_it_at_once() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "e2e4").await;
    bot.signal(Signal::TERM);
    bot.wait_for("finishing the games in progress");
    let options = ChallengeOptions::default();
    let more = other.0.create_challenge(&UserId::new(BOT), &options).await;
    let more = more.expect("a challenge").id.as_game();
    assert_eq!(bot.status()["state"], "draining");
    bot.signal(Signal::TERM);
    assert_eq!(bot.end().0, Some(0));
    assert!(other.plays(&game).await, "it can be taken up again");
    assert!(!other.plays(&more).await, "no new games accepted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_survives_a_kill_and_the_status_says_since_when_and_by_whom() {
    let server = server_without_grace().await;
    let mut bot = Running::start(&server, "").await;
    assert_eq!(bot.tell(&["pause"]).0, Some(0));
    let switch = |bot: &Running| {
        let switches = bot.status()["switches"].clone();
        switches.as_array().expect("a list").clone()
    };
    let before = switch(&bot);
    let text = before[0].as_str().expect("text").to_owned();
    assert!(text.starts_with("paused since 2"), "{text}");
    assert!(text.ends_with("UTC (by the command line)"), "{text}");
    bot.restart(&server).await;
    assert_eq!(bot.status()["state"], "paused");
    assert_eq!(switch(&bot), before);
    assert_eq!(bot.tell(&["resume"]).0, Some(0));
    bot.restart(&server).await;
    assert_eq!(bot.status()["state"], "playing");
    assert_eq!(switch(&bot).len(), 0);
}
