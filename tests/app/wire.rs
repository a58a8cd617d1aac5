//! The raw traffic of a game: recorded by `run`, printed by `game --wire`, replayed by `practice`.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

use megaton::practice::{Options, Partner, Schedule, Server, TimeControl, Timing};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::archive_after_kill::game;
use super::program::{Ran, command, finish, megaton};

/// Longer than the end of a program takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);
const BOT: &str = "Megaton";

/// One thread and a few nodes: the same position always gets the same move. Silent, since what is
/// said depends on real time.
const SETTINGS: &str = "[engine]\nhash = 1\nthreads = 1\nnodes = 300\n[chat]\nhumans = false\n\
    [variety]\nenabled = false\n[panel]\nlisten = \"\"\n";

/// A game that a bot played and recorded.
struct Recorded {
    folder: TempDir,
    id: String,
    token: String,
}

impl Recorded {
    async fn new(wire: bool) -> Self {
        let options = Options {
            timing: Timing::scaled(20),
            ..Options::default()
        };
        let server = Server::start(options).await.expect("a port");
        let token = server.open_bot(BOT).expect("a good name");
        let folder = tempfile::tempdir().expect("a folder");
        let url = server.url();
        let text = format!(
            "[lichess]\nurl = \"{url}\"\n{SETTINGS}[book]\nbuilt_in = false\n[archive]\nreview = false\nwire = {wire}\n"
        );
        fs::write(folder.path().join("config.toml"), text).expect("a config");
        let mut bot = command(&["run", "--log-level", "off", "--config"])
            .arg(folder.path().join("config.toml"))
            .env("LICHESS_BOT_TOKEN", &token)
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let schedule = Schedule {
            games: 1,
            partners: vec![Partner::Random],
            time: TimeControl::Clock {
                limit: 60,
                increment: 0,
            },
            ..Schedule::default()
        };
        let report = server.play(BOT, schedule, CancellationToken::new()).await;
        assert!(report.is_clean(), "{report}");
        let ended = game(folder.path(), |game| game.ending.is_some()).await;
        bot.kill().expect("it runs");
        bot.wait().expect("it ran");
        Self {
            folder,
            id: ended.id,
            token,
        }
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn wire(&self) -> Ran {
        let config = self.file("config.toml");
        megaton(&["game", &self.id, "--wire", "--config", &config])
    }

    /// Replays these lines to the bot.
    fn replay(&self, wire: &str) -> Ran {
        fs::write(self.file("wire.jsonl"), wire).expect("written");
        let (wire, config) = (self.file("wire.jsonl"), self.file("config.toml"));
        megaton(&[
            "practice", "--replay", &wire, "--speed", "100", "--config", &config,
        ])
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_traffic_of_a_game_is_recorded_and_replays_as_recorded() {
    let recorded = Recorded::new(true).await;
    let printed = recorded.wire();
    assert_eq!(printed.status, Some(0), "{}", printed.stderr);
    assert!(!printed.stdout.contains(&recorded.token), "no token");
    let lines: Vec<Value> = printed
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let texts = |kind: &'static str| {
        let of_kind = lines.iter().filter(move |line| line["kind"] == kind);
        of_kind.map(|line| line["text"].as_str().expect("text"))
    };
    assert!(texts("event").any(|text| text.contains("gameStart")));
    assert!(texts("in").any(|text| text.contains("gameFull")));
    let moves = texts("out").filter(|text| text.contains("/move/")).count();
    let answers = texts("answer").filter(|text| text.starts_with("200 /api/bot/game/"));
    assert!(
        moves > 0 && answers.count() + 1 >= moves,
        "{}",
        printed.stdout
    );

    let replayed = recorded.replay(&printed.stdout);
    assert_eq!(replayed.status, Some(0), "{}", replayed.stdout);
    let calls = texts("out").count();
    let expected = format!("calls as recorded: {calls}; differences: 0\n");
    assert_eq!(replayed.stdout, expected);

    // A recording in which the bot played another move: the difference is shown, and the game goes
    // on as it went.
    let own = texts("out")
        .find_map(|text| text.split("/move/").nth(1))
        .expect("a move");
    let other = if own == "a2a3" { "a2a4" } else { "a2a3" };
    let changed = printed
        .stdout
        .replacen(&format!("/move/{own}"), &format!("/move/{other}"), 2);
    let differs = recorded.replay(&changed);
    assert_eq!(differs.status, Some(1), "{}", differs.stdout);
    let shown = differs.stdout.lines().next().expect("a difference");
    assert!(
        shown.starts_with("recorded: POST ") && shown.ends_with(&format!("/move/{own}")),
        "{}",
        differs.stdout
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_signal_ends_a_replay() {
    let recorded = Recorded::new(true).await;
    let printed = recorded.wire().stdout;
    let last = printed.lines().last().expect("a line");
    let mut line: Value = serde_json::from_str(last).expect("JSON");
    // The replay would go on for an hour.
    line["at"] = json!(line["at"].as_u64().expect("a time") + 3_600_000);
    (line["kind"], line["text"]) = (json!("in"), json!(""));
    let (wire, config) = (recorded.file("wire.jsonl"), recorded.file("config.toml"));
    fs::write(&wire, format!("{printed}{line}\n")).expect("written");
    let arguments = ["practice", "--replay", &wire, "--config", &config];
    let mut replay = command(&arguments)
        .args(["--log-level", "debug"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut log = BufReader::new(replay.stderr.take().expect("its log"));
    let mut line = String::new();
    while !line.contains(&recorded.id) {
        line.clear();
        assert!(log.read_line(&mut line).expect("text") > 0, "it has ended");
    }
    kill_process(Pid::from_child(&replay), Signal::INT).expect("it runs");
    let status = tokio::task::block_in_place(|| finish(&mut replay, GUARD));
    assert_eq!(status, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_option_no_traffic_is_kept() {
    let recorded = Recorded::new(false).await;
    let printed = recorded.wire();
    assert_eq!(printed.status, Some(1), "{}", printed.stdout);
    assert!(
        printed.stderr.contains("[archive] wire = true"),
        "{}",
        printed.stderr
    );
    let none = recorded.replay("oops\n");
    assert_eq!(none.status, Some(2));
    assert!(none.stderr.contains("line 1: not as"), "{}", none.stderr);
}
