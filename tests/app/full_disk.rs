//! A full disk under the whole program: its data folder is on a small disk of its own.
//!
//! The disk is mounted in a mount namespace, in which this test starts itself again. Where that is
//! impossible the test says SKIPPED and passes.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use megaton::archive::{ArchiveReader, Database, FILE_NAME, GameRecord};
use megaton::bot::{BotState, StateRules};
use megaton::practice::{
    GameReport, Options, Partner, Schedule, Server, ServerHandle, TimeControl, Timing,
};
use megaton::store::Store;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::control::{BOT, until};
use super::program::{command, finish};

/// Names the folder to the test that runs inside.
const FOLDER: &str = "MEGATON_TEST_SMALL_DISK";
/// More than a fresh data folder needs, and so little that it is soon full.
const SIZE: &str = "size=8m";
/// How much faster than Lichess everything runs here.
const FACTOR: u32 = 20;
/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(120);

/// How to get a mount namespace of one's own, or why there is none.
fn namespace(folder: &Path) -> Result<&'static str, String> {
    let mut why = String::new();
    for flags in ["-rm", "-m"] {
        let mut mount = Command::new("unshare");
        mount.args([flags, "mount", "-t", "tmpfs", "none"]);
        match mount.arg(folder).output() {
            Ok(output) if output.status.success() => return Ok(flags),
            Ok(output) => String::from_utf8_lossy(&output.stderr)
                .trim()
                .clone_into(&mut why),
            Err(error) => why = format!("unshare: {error}"),
        }
    }
    Err(why)
}

#[test]
fn a_full_disk_loses_no_game_and_no_stored_record() {
    let name = "a_full_disk_loses_no_game_and_no_stored_record";
    let folder = tempfile::tempdir().expect("a folder");
    let flags = match namespace(folder.path()) {
        Ok(flags) => flags,
        Err(why) => {
            let _ = writeln!(io::stderr(), "SKIPPED {name}: no small disk: {why}");
            return;
        }
    };
    let inside = Command::new("unshare")
        .arg(flags)
        .arg(env::current_exe().expect("this test"))
        .args(["--exact", "full_disk::inside_a_small_disk", "--nocapture"])
        .env(FOLDER, folder.path())
        .output()
        .expect("it starts");
    assert!(
        inside.status.success(),
        "{}{}",
        String::from_utf8_lossy(&inside.stdout),
        String::from_utf8_lossy(&inside.stderr)
    );
}

#[test]
fn an_unwritable_folder_is_reported_before_anything_starts() {
    let name = "an_unwritable_folder_is_reported_before_anything_starts";
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    let flags = match namespace(&data) {
        Ok(flags) => flags,
        Err(why) => {
            let _ = writeln!(io::stderr(), "SKIPPED {name}: no disk of its own: {why}");
            return;
        }
    };
    let config = folder.path().join("config.toml");
    // No one listens there: who came so far would say so.
    let text = format!(
        "[lichess]\nurl = \"http://127.0.0.1:9\"\n[data]\nfolder = {data:?}\n[panel]\nlisten = \"\"\n"
    );
    fs::write(&config, text).expect("a config");
    let script = r#"mount -t tmpfs -o ro none "$1" && exec "$2" "$3" --config "$4""#;
    for (verb, said) in [
        ("run", "cannot use the data folder"),
        ("check", "is not writable"),
    ] {
        let output = Command::new("unshare")
            .args([flags, "sh", "-c", script, "sh"])
            .args([data.as_os_str(), env!("CARGO_BIN_EXE_megaton").as_ref()])
            .args([verb.as_ref(), config.as_os_str()])
            .env("LICHESS_BOT_TOKEN", "lip_none")
            .output()
            .expect("it starts");
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{verb}: {log}");
        assert!(log.contains(said), "{verb}: {log}");
        let named = data.to_string_lossy();
        assert!(log.contains(&*named), "{verb}: {log}");
    }
}

#[test]
fn a_config_that_cannot_be_written_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    // Room for the folder and an empty file in it, but for no content.
    let script = r#"mount -t tmpfs -o size=4k none "$1" && dd if=/dev/zero of="$1/ballast" bs=4k count=1 \
                    && { "$2" init --yes --offline --folder "$1"; echo "status $?"; ls "$1"; }"#;
    let program = env!("CARGO_BIN_EXE_megaton");
    let name = "a_config_that_cannot_be_written_leaves_no_file";
    let Some((said, log)) = inside(name, folder.path(), script, &[program.as_ref()]) else {
        return;
    };
    assert_eq!(said, "status 2\nballast\n", "{log}");
    assert!(log.contains("cannot write"), "{log}");
    assert!(log.contains("config.toml: No space left"), "{log}");
}

#[test]
fn a_copy_of_the_archive_on_a_read_only_disk_is_readable() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("disk");
    fs::create_dir(&disk).expect("a folder");
    let archive = folder.path().join(FILE_NAME);
    drop(Database::open(&archive, 1).expect("an archive"));
    let script = r#"mount -t tmpfs none "$1" && cp "$3" "$1" && mount -o remount,ro none "$1" \
                    && { "$2" games --archive "$1/games.db"; echo "status $?"; ls "$1"; }"#;
    let program = env!("CARGO_BIN_EXE_megaton");
    let name = "a_copy_of_the_archive_on_a_read_only_disk_is_readable";
    let more = [program.as_ref(), archive.as_os_str()];
    let Some((said, log)) = inside(name, &disk, script, &more) else {
        return;
    };
    assert!(said.ends_with("status 0\ngames.db\n"), "{said}{log}");
}

/// What a shell says that runs this script with the folder and `more` as arguments, where it may mount
/// a disk on the folder; `None` where that is impossible.
fn inside(name: &str, folder: &Path, script: &str, more: &[&OsStr]) -> Option<(String, String)> {
    let flags = match namespace(folder) {
        Ok(flags) => flags,
        Err(why) => {
            let _ = writeln!(io::stderr(), "SKIPPED {name}: no disk of its own: {why}");
            return None;
        }
    };
    let output = Command::new("unshare")
        .args([flags, "sh", "-c", script, "sh"])
        .arg(folder)
        .args(more)
        .env_remove("LICHESS_BOT_TOKEN")
        .output()
        .expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Some((text(output.stdout), text(output.stderr)))
}

/// Not a test of its own but the inner part of the first one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inside_a_small_disk() {
    let Some(folder) = env::var_os(FOLDER) else {
        return;
    };
    let played = tokio::time::timeout(GUARD, the_disk_fills_up(Path::new(&folder)));
    played.await.expect("in time");
}

async fn the_disk_fills_up(folder: &Path) {
    let ground = Ground::open(folder).await;
    let bot = ground.start().await;
    let mut played = ground.play(1).await;
    until("the first game is kept", async || ground.keeps(&played)).await;
    let first = ground.kept(&played[0].id).expect("as it just was");

    ground.fill();
    played.extend(ground.play(2).await);
    for kind in ["archive", "store"] {
        until("it is said", async || bot.alerts(kind) == (1, 0)).await;
    }
    let status = ground.tell(&["status"]);
    assert!(status.contains("is full"), "{status}");
    let listed = ground.tell(&["games", "--format", "csv"]);
    assert_eq!(
        listed.lines().count(),
        2,
        "the first is still there: {listed}"
    );
    assert_eq!(ground.kept(&played[0].id), Some(first.clone()));

    ground.make_room();
    until("it is written", async || ground.keeps(&played)).await;
    played.extend(ground.play(1).await);
    for kind in ["archive", "store"] {
        until("it is over", async || bot.alerts(kind) == (1, 1)).await;
    }
    until("this one too", async || ground.keeps(&played)).await;

    // Killed and started while there is no room: the games are played all the same, and what is known
    // of them is written at the end.
    ground.fill();
    drop(bot);
    let mut bot = ground.start().await;
    played.extend(ground.play(1).await);
    assert!(!ground.knows(&played), "there is no room for it");
    ground.make_room();
    assert_eq!(bot.end(), Some(0));
    assert!(ground.knows(&played), "{:?}", bot.said());
    assert_eq!(ground.kept(&played[0].id), Some(first));
    let (store, kept) = Store::open(&ground.home()).expect("its state");
    let memory = BotState::new(store, kept, StateRules::default());
    assert_eq!(memory.budget().incoming, 5, "all games are counted");
}

/// A practice server, and a folder with a small disk in it.
struct Ground {
    server: ServerHandle,
    token: String,
    folder: PathBuf,
}

impl Ground {
    async fn open(folder: &Path) -> Self {
        let options = Options {
            timing: Timing::scaled(FACTOR),
            ..Options::default()
        };
        let server = Server::start(options).await.expect("a port");
        let token = server.open_bot(BOT).expect("a good name");
        let data = folder.join("data");
        fs::create_dir(&data).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", SIZE, "none"])
            .arg(&data)
            .status();
        assert!(mounted.expect("mount starts").success());
        let text = format!(
            "[lichess]\nurl = \"{}\"\n[engine]\nhash = 1\nnodes = 100\n[panel]\nlisten = \"\"\n\
             [archive]\nreview = false\n",
            server.url()
        );
        fs::write(folder.join("config.toml"), text).expect("a config");
        Self {
            server,
            token,
            folder: folder.to_owned(),
        }
    }

    async fn start(&self) -> Bot {
        let mut child = command(&["run", "--log-format", "json", "--config"])
            .arg(self.folder.join("config.toml"))
            .env("LICHESS_BOT_TOKEN", &self.token)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let stderr = BufReader::new(child.stderr.take().expect("its log"));
        let log = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&log);
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Value::String(line));
                book.lock().expect("nobody panics here").push(line);
            }
        });
        let bot = Bot { child, log };
        let plays = |line: &Value| line["message"] == "playing";
        until("it plays", async || bot.said().iter().any(plays)).await;
        bot
    }

    /// So many games at the same time, all of which must come to an end.
    async fn play(&self, games: usize) -> Vec<GameReport> {
        let schedule = Schedule {
            games,
            concurrency: games,
            partners: vec![Partner::Random],
            time: TimeControl::Clock {
                limit: 60,
                increment: 0,
            },
            ..Schedule::default()
        };
        let played = self.server.play(BOT, schedule, CancellationToken::new());
        let report = played.await;
        assert!(report.is_clean(), "{report}");
        report.games
    }

    /// The folder of this server within that of the data.
    fn home(&self) -> PathBuf {
        let host = self.server.url().trim_start_matches("http://");
        self.folder.join("data").join(host.replace(':', "_"))
    }

    fn kept(&self, id: &str) -> Option<GameRecord> {
        let reader = ArchiveReader::open(&self.home().join(FILE_NAME)).ok()?;
        reader.game(id).ok()?
    }

    /// Whether these games are in the archive with all their moves, their ends, and what they did to
    /// both ratings.
    fn keeps(&self, played: &[GameReport]) -> bool {
        let is_rated = |game: &GameReport| {
            self.kept(&game.id).is_some_and(|kept| {
                let ratings = [&kept.white, &kept.black];
                ratings.iter().all(|player| player.rating_diff.is_some())
            })
        };
        self.knows(played) && played.iter().all(is_rated)
    }

    /// Whether these are there to their ends. Of a game that ended just before the bot did the server
    /// may not have told yet what it did to the rating.
    fn knows(&self, played: &[GameReport]) -> bool {
        played.iter().all(|game| {
            self.kept(&game.id)
                .is_some_and(|kept| kept.ending.is_some() && kept.moves.len() == game.plies)
        })
    }

    fn ballast(&self) -> PathBuf {
        self.folder.join("data/ballast")
    }

    /// Not a byte more fits on the disk.
    fn fill(&self) {
        let mut ballast = File::create(self.ballast()).expect("a file");
        for size in [1 << 16, 1 << 12, 1] {
            let piece = vec![0x55; size];
            while ballast.write_all(&piece).is_ok() {}
        }
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).expect("it is there");
    }

    /// A command with the same config, which must do what it says.
    fn tell(&self, arguments: &[&str]) -> String {
        let output = tokio::task::block_in_place(|| {
            command(arguments)
                .arg("--config")
                .arg(self.folder.join("config.toml"))
                .output()
        });
        let output = output.expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }
}

/// A started `megaton run`, killed when it is dropped.
struct Bot {
    child: Child,
    log: Arc<Mutex<Vec<Value>>>,
}

impl Drop for Bot {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bot {
    fn said(&self) -> Vec<Value> {
        self.log.lock().expect("nobody panics here").clone()
    }

    /// How often the log has an alert of this kind, and its end.
    fn alerts(&self, kind: &str) -> (usize, usize) {
        let mut times = BTreeMap::new();
        for line in self.said().iter().filter(|line| line["alert"] == kind) {
            let is_over = line["message"] == "alert resolved";
            *times.entry(is_over).or_insert(0) += 1;
        }
        let count = |over| times.get(&over).copied().unwrap_or(0);
        (count(false), count(true))
    }

    /// Has it end in good order.
    fn end(&mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.child), Signal::TERM).expect("it runs");
        tokio::task::block_in_place(|| finish(&mut self.child, GUARD))
    }
}
