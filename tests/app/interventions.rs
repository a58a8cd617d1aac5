//! Operator commands: abort, resign, cancel, block.

use std::fs;

use megaton::lichess::{ChallengeOptions, UserId};
use megaton::practice::{Endpoint, Fault};

use super::control::{BOT, Opponent, Running, server, until};
use super::program::{command, ran};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_are_aborted_and_resigned_by_command() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let (code, _, err) = bot.tell(&["abort", "nosuch12"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("no game nosuch12 in progress"), "{err}");

    let other = Opponent::new(&server);
    let fresh = other.begin().await;
    until("the game is shown", async || {
        bot.status()["games"][0]["id"] == fresh.as_str()
    })
    .await;
    let (code, out, err) = bot.tell(&["abort", fresh.as_str()]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out, format!("{fresh} is aborted\n"));
    bot.wait_for("operator command");
    until("it is over", async || !other.plays(&fresh).await).await;

    let old = other.begin().await;
    other.move_and_wait(&old, "e2e4").await;
    let (code, _, err) = bot.tell(&["abort", old.as_str()]);
    assert_eq!(code, Some(1), "both sides have moved");
    assert!(err.contains(&format!("{old} is not aborted: ")), "{err}");
    let (code, out, err) = bot.tell(&["resign", old.as_str(), "--yes"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out, format!("{old} is resigned\n"));
    until("it is over", async || !other.plays(&old).await).await;
    until("its slot is free", async || {
        bot.status()["slots"]["taken"] == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_after_a_lost_reply_does_not_say_that_nothing_was_done() {
    let server = server().await;
    let bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "e2e4").await;
    server.faults().add(Endpoint::Game, Fault::LoseReply);
    let (code, _, err) = bot.tell(&["resign", game.as_str(), "--yes"]);
    assert!(!other.plays(&game).await);
    assert_eq!(code, Some(1), "{err}");
    let unsure = format!("{game} may be resigned, since a call got no answer");
    assert!(err.contains(&unsure), "{err}");
    assert!(err.contains("see `megaton status`"), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_whose_call_hangs_is_answered_by_what_its_tries_found() {
    let server = server().await;
    let bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let game = other.begin().await;
    other.move_and_wait(&game, "e2e4").await;
    server.faults().add(Endpoint::Game, Fault::DoneInSilence);
    let (code, _, err) = bot.tell(&["resign", game.as_str(), "--yes"]);
    assert!(!other.plays(&game).await);
    assert_eq!(code, Some(1), "{err}");
    let unsure = format!("{game} may be resigned, since a call got no answer");
    assert!(err.contains(&unsure), "{err}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_command_that_reaches_no_server_says_that_nothing_was_done() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let game = Opponent::new(&server).begin().await;
    until("the game is shown", async || {
        bot.status()["games"][0]["id"] == game.as_str()
    })
    .await;
    server.shutdown().await;
    bot.wait_for("event stream lost");
    for (command, done) in [("resign", "resigned"), ("abort", "aborted")] {
        let (code, _, err) = bot.tell(&[command, game.as_str(), "--yes"]);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains(&format!("{game} is not {done}: ")), "{err}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_player_blocked_by_command_is_declined_until_unblocked() {
    let server = server().await;
    let mut bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let (code, out, err) = bot.tell(&["block", "OTHER"]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("other is blocked"), "{out}");
    assert_eq!(bot.tell(&["block", "other"]).0, Some(1), "it is already");
    assert_eq!(bot.status()["blocked"][0], "other");
    let (_, out, _) = bot.tell(&["status"]);
    assert!(out.contains("\nblocked     other (by command)\n"), "{out}");

    let options = ChallengeOptions::default();
    let made = other.0.create_challenge(&UserId::new(BOT), &options).await;
    let made = made.expect("a challenge").id;
    bot.wait_for("declined");
    assert!(!other.plays(&made.as_game()).await);

    let (code, _, err) = bot.tell(&["unblock", "somebody"]);
    assert!(code == Some(1) && err.contains("not blocked"), "{err}");
    assert_eq!(bot.tell(&["unblock", "Other"]).0, Some(0));
    let game = other.begin().await;
    other.0.abort(&game).await.expect("it may be aborted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_is_withdrawn_by_command() {
    let server = server().await;
    let bot = Running::start(&server, "").await;
    let other = Opponent::new(&server);
    let (code, _, err) = bot.tell(&["cancel"]);
    assert!(
        code == Some(1) && err.contains("no challenge is open"),
        "{err}"
    );
    // Who is not there is not challenged.
    let _there = other.0.events().await.expect("a stream");
    let (code, _, err) = bot.tell(&["challenge", "Other", "3+2"]);
    assert_eq!(code, Some(0), "{err}");
    let open = || bot.status()["matchmaking"]["challenge"].clone();
    until("it is shown", async || open().is_string()).await;
    let (code, _, err) = bot.tell(&["cancel", "nosuch12"]);
    assert!(code == Some(1) && err.contains("nosuch12"), "{err}");
    let id = open().as_str().expect("it is out").to_owned();
    let waiting = other.0.challenges().await.expect("a list");
    assert_eq!(waiting.incoming[0].id.as_str(), id);
    assert_eq!(bot.tell(&["challenge", "Third", "3+2"]).0, Some(0));
    let (code, _, err) = bot.tell(&["cancel", &id]);
    assert_eq!(code, Some(0), "{err}");
    until("it is gone", async || open().is_null()).await;
    let waiting = other.0.challenges().await.expect("a list");
    assert!(waiting.incoming.is_empty());
    until("its slot is free", async || {
        bot.status()["slots"]["taken"] == 0
    })
    .await;
    // The other one waits on.
    let (code, out, err) = bot.tell(&["cancel"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out, "queued challenge dropped\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_run_writes_a_config_that_plays() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().join("new").display().to_string();
    let init = |arguments: &[&str]| {
        let output = tokio::task::block_in_place(|| {
            command(&["init", "--yes", "--folder", &place, "--url", server.url()])
                .args(arguments)
                .env("LICHESS_BOT_TOKEN", &token)
                .output()
        });
        let output = output.expect("the program starts");
        let said = String::from_utf8(output.stdout).expect("text");
        let complaint = String::from_utf8(output.stderr).expect("text");
        (output.status.code(), said, complaint)
    };
    let (code, said, complaint) = init(&["--opponents", "bots", "--games", "2"]);
    assert_eq!(code, Some(0), "{said}{complaint}");
    for part in [
        "wrote    ",
        "account     Megaton",
        "against bots",
        "megaton run --config",
    ] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let text = fs::read_to_string(folder.path().join("new/config.toml")).expect("a config");
    assert!(text.contains("concurrency = 2\n"), "{text}");
    assert!(!text.contains(&token) && !said.contains(&token));
    let (code, _, complaint) = init(&[]);
    assert_eq!(code, Some(2), "it is there already");
    assert!(complaint.contains("exists already"), "{complaint}");
    fs::remove_file(folder.path().join("new/config.toml")).expect("it was there");
    let (code, _, complaint) = init(&["--contact", "é"]);
    assert_eq!(code, Some(2));
    assert!(
        complaint.starts_with("megaton: [lichess] contact: "),
        "{complaint}"
    );

    // A bot without a token does not play, and only a check with the server minds.
    for (name, offline, status) in [("later", None, 2), ("offline", Some("--offline"), 0)] {
        let place = folder.path().join(name).display().to_string();
        let mut init = command(&["init", "--yes", "--folder", &place, "--url", server.url()]);
        let ran = tokio::task::block_in_place(|| ran(init.args(offline)));
        assert_eq!(ran.status, Some(status), "{}{}", ran.stdout, ran.stderr);
        let token = "token    none yet: create one at http";
        assert!(ran.stdout.contains(token), "{}", ran.stdout);
        assert!(
            ran.stdout.contains("megaton run --config"),
            "{}",
            ran.stdout
        );
        assert_eq!(ran.stderr.contains("no token: set"), offline.is_none());
    }
    for (name, text, said) in [
        ("fine", "lip_fine", "read, but not verified"),
        ("bad", "lip two words", "WARNING: "),
    ] {
        let file = folder.path().join(format!("{name}.txt"));
        fs::write(&file, text).expect("a token");
        let place = folder.path().join(name).display().to_string();
        let file = file.display().to_string();
        let init = ["init", "--yes", "--offline", "--folder", &place];
        let mut init = command(&[&init[..], &["--token-file", &file]].concat());
        let ran = tokio::task::block_in_place(|| ran(&mut init));
        let line = format!("token       {said}");
        assert!(ran.stdout.contains(&line), "{}{}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.contains(text), "{}", ran.stdout);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_first_run_uses_an_existing_token() {
    let server = server().await;
    let token = server.open_bot(BOT).expect("a good name");
    let folder = tempfile::tempdir().expect("a folder");
    let place = folder.path().display().to_string();
    let config = folder.path().join("config.toml");
    let file = folder.path().join("token.txt");
    let named = file.display().to_string();
    let init = |arguments: &[&str]| {
        let mut init = command(&["init", "--yes", "--folder", &place, "--url", server.url()]);
        tokio::task::block_in_place(|| ran(init.args(arguments)))
    };
    for unusable in ["", "two words\n"] {
        fs::write(&file, unusable).expect("a file");
        let refused = init(&[]);
        assert_eq!(refused.status, Some(2), "{}", refused.stdout);
        for part in [named.as_str(), "holds no token", "--token-file"] {
            assert!(refused.stderr.contains(part), "{}", refused.stderr);
        }
        assert!(!config.exists(), "nothing is written");
    }
    // Who names another is not held up by it.
    let other = folder.path().join("other");
    fs::write(&other, &token).expect("a file");
    let ran = init(&["--token-file", &other.display().to_string()]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    let kept = fs::read_to_string(&file).expect("it is there");
    assert_eq!(kept, "two words\n");
    fs::remove_file(&config).expect("it was written");

    // Written as no command of ours does: what is there stays to the letter.
    let content = format!(" {token}\r\n");
    fs::write(&file, &content).expect("a file");
    let ran = init(&[]);
    assert_eq!(ran.status, Some(0), "{}{}", ran.stdout, ran.stderr);
    let told = format!("using the existing {named}");
    for part in [told.as_str(), "account     Megaton"] {
        assert!(ran.stdout.contains(part), "{part} in {}", ran.stdout);
    }
    assert!(!ran.stdout.contains(&token), "{}", ran.stdout);
    assert_eq!(fs::read_to_string(&file).expect("it is there"), content);
    let text = fs::read_to_string(&config).expect("a config");
    assert!(text.contains("token_file = \"token.txt\"\n"), "{text}");
}
