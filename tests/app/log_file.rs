//! The log file of a running program: what is in it, which files remain, and a disk that takes nothing.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use time::OffsetDateTime;

use super::control::until;
use super::program::{Ran, command, finish, megaton, ran};

const GUARD: Duration = Duration::from_secs(60);
/// Where no one listens: `run` waits for the network.
const OFFLINE: &str =
    "[lichess]\nurl = \"http://127.0.0.1:9\"\n[panel]\nlisten = \"\"\n[engine]\nhash = 1\n";

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The config with this section `[log]`.
    fn config(&self, log: &str) -> String {
        let path = self.path("config.toml");
        fs::write(&path, format!("{OFFLINE}[log]\n{log}\n")).expect("a config");
        path.display().to_string()
    }

    /// The regular files whose name begins so.
    fn files(&self, prefix: &str) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry"));
        let names = names.filter(|entry| entry.metadata().expect("its kind").is_file());
        let names = names.map(|entry| entry.file_name().into_string().expect("text"));
        let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
        names.sort();
        names
    }
}

/// The program as it waits for its network, with stderr in a file.
async fn start(config: &str, stderr: &Path) -> Child {
    start_as(&mut command(&["run", "--config", config]), stderr).await
}

async fn start_as(command: &mut Command, stderr: &Path) -> Child {
    let child = command
        .env("LICHESS_BOT_TOKEN", "lip_Sesame0pen")
        .stderr(fs::File::create(stderr).expect("a file"))
        .stdout(Stdio::null())
        .spawn()
        .expect("the program starts");
    until("it runs", async || read(stderr).contains("cannot reach")).await;
    child
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// Ends the program at its leisure.
fn end(mut child: Child) {
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it runs");
    tokio::task::block_in_place(|| finish(&mut child, GUARD));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_is_in_a_file_of_the_day_too_and_old_files_are_deleted() {
    let folder = Folder::new();
    for day in 1..=5 {
        fs::write(folder.path(&format!("bot.log.2020-01-0{day}")), "old").expect("a file");
    }
    fs::write(folder.path("bot-2.log.2020-01-01"), "of another bot").expect("a file");
    let config = folder.config("file = \"bot.log\"\nfiles = 3\nlevel = \"debug\"");
    let stderr = folder.path("stderr");
    end(start(&config, &stderr).await);
    let said = read(&stderr);
    assert!(said.contains("megaton starts"), "{said}");
    assert!(!said.contains("Sesame"), "{said}");
    assert_eq!(read(&folder.path("bot.log")), said);
    let files = folder.files("bot.log");
    assert_eq!(files.len(), 3, "{files:?}");
    assert_eq!(folder.files("bot-2").len(), 1);
    let today = folder.path(files.last().expect("three"));
    let mode = today.metadata().expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(read(&today), said);
    // Another start on the same day continues the file.
    end(start(&config, &stderr).await);
    assert_eq!(read(&today), said + &read(&stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blank_variable_counts_as_unset_and_the_option_outweighs_the_others() {
    let folder = Folder::new();
    let config = folder.config("");
    let stderr = folder.path("stderr");
    for (variable, filter, options) in [
        ("MEGATON_LOG", " ", &[][..]),
        ("MEGATON_LOG", "Debug ", &[]),
        ("RUST_LOG", "error", &["--log-level", "info"]),
    ] {
        let mut run = command(&["run", "--config", &config]);
        run.args(options).env(variable, filter);
        end(start_as(&mut run, &stderr).await);
        let said = read(&stderr);
        assert!(said.contains("megaton starts"), "{variable}: {said}");
    }
}

#[test]
fn a_variable_with_a_word_that_is_no_level_is_refused() {
    let folder = Folder::new();
    let config = folder.config("");
    for filter in ["warning", "megaton=verbose"] {
        let refused = ran(command(&["run", "--config", &config]).env("MEGATON_LOG", filter));
        assert_eq!(refused.status, Some(2), "{}", refused.stderr);
        let reason = "the variable MEGATON_LOG is not a log filter";
        assert!(refused.stderr.contains(reason), "{}", refused.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_reported_once_and_the_log_on_stderr_continues() {
    let folder = Folder::new();
    // Whether or not it is midnight.
    for day in [0, 1] {
        let day = (OffsetDateTime::now_utc() + time::Duration::days(day)).date();
        symlink("/dev/full", folder.path(&format!("bot.log.{day}"))).expect("a link");
    }
    let config = folder.config("file = \"bot.log\"");
    let stderr = folder.path("stderr");
    end(start(&config, &stderr).await);
    let said = read(&stderr);
    assert!(said.contains("finishing the games"), "{said}");
    let reports = said.matches("[log] file: cannot be written").count();
    assert_eq!(reports, 1, "{said}");
}

#[test]
fn a_log_file_that_cannot_be_opened_ends_the_start_and_the_check() {
    let folder = Folder::new();
    fs::write(folder.path("old.log"), "of last year").expect("a file");
    for (log, reason) in [
        (
            "file = \"config.toml/bot.log\"",
            "[log] file: cannot write to ",
        ),
        ("file = \"old.log\"", "move it away"),
        (
            "file = \"data/games\"",
            "[log] file: write a name that ends in .log",
        ),
    ] {
        let config = folder.config(log);
        for verb in [&["run"][..], &["check", "--offline"]] {
            let arguments = [verb, &["--config", &config]].concat();
            let Ran { status, stderr, .. } = megaton(&arguments);
            assert_eq!(status, Some(2), "{arguments:?} {log}: {stderr}");
            assert!(stderr.contains(reason), "{arguments:?} {log}: {stderr}");
            assert_eq!(stderr.lines().count(), 1, "{stderr}");
        }
    }
    assert_eq!(read(&folder.path("old.log")), "of last year");
}

#[test]
fn check_says_where_the_log_goes() {
    let folder = Folder::new();
    let config = folder.config("file = \"logs/bot.log\"\nfiles = 5");
    let said = megaton(&["check", "--offline", "--config", &config]);
    let line = format!(
        "log         stderr, and {} with the day",
        folder.path("logs/bot.log").display()
    );
    assert!(
        said.stdout.contains(&line),
        "{}{}",
        said.stdout,
        said.stderr
    );
    assert!(!folder.path("logs").exists(), "it changes nothing");
}
