//! One process that plays for several accounts.

use std::fs;
use std::path::{Path, PathBuf};

use megaton::practice::ServerHandle;
use rustix::process::Signal;
use tempfile::TempDir;

use super::control::{BOT, Opponent, Running, server, until};
use super::program::command;

const SECOND: &str = "Second";

/// Writes the config of an account, with this token, into a folder.
fn write_account(folder: &Path, server: &ServerHandle, token: &str) {
    fs::create_dir_all(folder).expect("a folder");
    fs::write(folder.join("token"), token).expect("a token");
    let config = format!(
        "[lichess]\nurl = \"{}\"\ntoken_file = \"token\"\n[engine]\nhash = 1\nnodes = 1\n\
         [panel]\nlisten = \"\"\n",
        server.url()
    );
    fs::write(folder.join("config.toml"), config).expect("a config");
}

/// A process for two accounts, the second with this token.
fn start(server: &ServerHandle, second_token: &str) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let token = server.open_bot(BOT).expect("a good name");
    write_account(folder.path(), server, &token);
    write_account(&second(&folder), server, second_token);
    let mut run = command(&["run", "--config"]);
    run.arg(second(&folder).join("config.toml")).arg("--config");
    // Blank is as good as unset.
    run.env("LICHESS_BOT_TOKEN", " ");
    Running::launch(run, folder, None)
}

fn second(folder: &TempDir) -> PathBuf {
    folder.path().join("second")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_account_plays_and_is_commanded_by_its_config() {
    let server = server().await;
    let token = server.open_bot(SECOND).expect("a good name");
    let mut bots = start(&server, &token);
    for name in [BOT, SECOND] {
        until("it is online", async || server.is_online(name)).await;
    }
    let other = Opponent::new(&server);
    for name in [BOT, SECOND] {
        let game = other.begin_with(name, 180).await;
        other.move_and_wait(&game, "g1f3").await;
    }
    let status = bots.status();
    assert_eq!(status["account"], BOT);
    assert_eq!(status["slots"]["taken"], 1);
    let (code, _, err) = bots.tell(&["upgrade"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("several accounts"), "{err}");

    bots.signal(Signal::TERM);
    bots.wait_for("finishing the games in progress");
    bots.signal(Signal::TERM);
    assert_eq!(bots.end().0, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_that_cannot_play_ends_alone() {
    let server = server().await;
    let mut bots = start(&server, "lip_revoked");
    bots.wait_for("the bot has ended");
    until("the other is online", async || server.is_online(BOT)).await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "g1f3").await;
    bots.signal(Signal::TERM);
    bots.wait_for("finishing the games in progress");
    bots.signal(Signal::TERM);
    let (status, log) = bots.end();
    assert_eq!(status, Some(2), "{log}");
    assert!(log.contains("/account/oauth/token"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn configs_that_cannot_share_a_process_are_refused_by_name() {
    let server = server().await;
    let token = server.open_bot(SECOND).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    write_account(folder.path(), &server, &token);
    let config = folder.path().join("config.toml");
    let mut run = command(&["run", "--config"]);
    run.arg(&config).arg("--config");
    let (status, log) = Running::launch(run, folder, None).end();
    assert_eq!(status, Some(2), "{log}");
    assert!(log.contains("[lichess] token_file"), "{log}");
    assert!(log.contains("config.toml"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_stays_with_the_account_that_played_from_it_first() {
    let server = server().await;
    let [mine, other] = [BOT, SECOND].map(|name| server.open_bot(name).expect("a good name"));
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().join("data");
    let start = |token: &str| {
        let own = tempfile::tempdir().expect("a folder");
        write_account(own.path(), &server, token);
        let config = own.path().join("config.toml");
        let text = fs::read_to_string(&config).expect("a config");
        let text = format!("{text}[data]\nfolder = {data:?}\n");
        fs::write(config, text).expect("a config");
        Running::launch(command(&["run", "--config"]), own, None)
    };
    let mut first = start(&mine);
    first.wait_for("playing");
    first.signal(Signal::TERM);
    assert_eq!(first.end().0, Some(0));

    let mut second = start(&other);
    let (status, log) = second.end();
    assert_eq!(status, Some(2), "{log}");
    let last = log.lines().last().unwrap_or_default();
    for part in [
        "megaton: ",
        "/data/",
        "account megaton",
        "Second",
        "[data] folder",
        "token",
    ] {
        assert!(last.contains(part), "{part} in {last}");
    }
    assert!(!server.is_online(SECOND));
    let (status, told, refused) = second.tell_with(&["check"], None);
    assert_eq!(status, Some(2), "{told}{refused}");
    assert!(refused.contains("account megaton"), "{refused}");

    let mut again = start(&mine);
    again.wait_for("playing");
    again.signal(Signal::TERM);
    assert_eq!(again.end().0, Some(0));
    let (status, told, refused) = again.tell_with(&["check"], None);
    assert_eq!(status, Some(0), "{told}{refused}");
}
