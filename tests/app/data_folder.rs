//! The data folder: in use, written by a later program, or damaged.

use std::fs;

use megaton::store::Store;

use super::control::{Running, server};
use super::program::{Ran, command, ran};

/// Where the bot below keeps what it knows of its server.
const HOME: &str = "kept/127.0.0.1_9";
const OFFLINE: &str = "[lichess]\nurl = \"http://127.0.0.1:9\"\n[data]\nfolder = \"kept\"\n";

/// `megaton run` with this data folder, whatever becomes of it.
fn started_with(folder: &std::path::Path) -> Ran {
    let config = folder.join("config.toml");
    fs::write(&config, OFFLINE).expect("a config");
    let mut command = command(&["run", "--log-level", "off", "--config"]);
    ran(command.arg(&config).env("LICHESS_BOT_TOKEN", "lip_state"))
}

#[test]
fn a_second_process_on_the_same_folder_ends_and_names_the_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let (_store, _) = Store::open(&folder.path().join(HOME)).expect("ours");
    let ran = started_with(folder.path());
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    let first = format!("in use by process {}", std::process::id());
    assert!(ran.stderr.contains(&first), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_damaged_state_ends_it_with_what_to_do_and_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join(HOME);
    fs::create_dir_all(&kept).expect("a folder");
    let rubbish = b"not a database".repeat(700);
    fs::write(kept.join("state.db"), &rubbish).expect("a file");
    let ran = started_with(folder.path());
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("state.db is damaged"), "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("then restore a copy, or start with empty state"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        fs::read(kept.join("state.db")).expect("still there"),
        rubbish
    );
}

/// `megaton check --offline` with this data folder.
fn checked(folder: &std::path::Path) -> Ran {
    let config = folder.join("config.toml");
    fs::write(&config, OFFLINE).expect("a config");
    let mut command = command(&["check", "--offline", "--config"]);
    ran(command.arg(&config))
}

#[test]
fn check_fails_where_the_state_would_end_the_start() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join(HOME);
    let file = kept.join("state.db");
    drop(Store::open(&kept).expect("ours"));
    let good = checked(folder.path());
    assert_eq!(good.status, Some(0), "{}", good.stderr);
    let db = rusqlite::Connection::open(&file).expect("a file");
    let later = "INSERT INTO schema (version, at) SELECT max(version) + 1, 0 FROM schema";
    db.execute(later, []).expect("a later format");
    drop(db);
    let refused_as_at_the_start = |why: &str| {
        let before = fs::read(&file).expect("a file");
        let checked = checked(folder.path());
        assert_eq!(checked.status, Some(2), "{}", checked.stdout);
        let expected = format!("megaton: {} {why}", file.display());
        assert!(checked.stderr.starts_with(&expected), "{}", checked.stderr);
        assert_eq!(checked.stderr, started_with(folder.path()).stderr);
        assert_eq!(fs::read(&file).expect("still there"), before);
    };
    refused_as_at_the_start("was written by a later version of this program");
    fs::write(&file, b"not a database".repeat(700)).expect("a file");
    refused_as_at_the_start("is damaged");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_beside_a_running_bot_passes() {
    let server = server().await;
    let bot = Running::start(&server, "").await;
    let (status, _, error) = bot.tell(&["check", "--offline"]);
    assert_eq!(status, Some(0), "{error}");
}

#[test]
fn check_names_the_latest_report_of_a_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = || checked(folder.path()).stdout;
    assert!(!check().contains("panic"));
    let kept = folder.path().join(HOME);
    fs::create_dir_all(&kept).expect("a folder");
    for name in ["crash-20261124-235959-1.txt", "crash-20261125-000000-1.txt"] {
        fs::write(kept.join(name), "megaton").expect("a file");
    }
    let said = check();
    let latest = kept.join("crash-20261125-000000-1.txt");
    let line = format!(
        "crashes     WARNING: 2 reports of panics, the latest {}",
        latest.display()
    );
    assert!(said.contains(&line), "{said}");
}
