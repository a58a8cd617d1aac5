//! Opponents, arenas and teams that an operator names on the command line.

use std::fs;
use std::time::Duration;

use megaton::practice::{AccountKind, ArenaPlan, Event, GameReport, Partner, ServerHandle};
use tokio::sync::broadcast::Receiver;

use super::control::{BOT, Running, server, until};
use super::program::command;

/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

/// The colours of the next game that begins.
async fn next_game(news: &mut Receiver<Event>) -> (String, String) {
    let begun = async {
        loop {
            if let Event::Started { white, black, .. } = news.recv().await.expect("the server runs")
            {
                return (white, black);
            }
        }
    };
    let begun = tokio::time::timeout(GUARD, begun).await;
    begun.expect("a game begins")
}

async fn end_of_game(news: &mut Receiver<Event>) {
    let over = async { while !matches!(news.recv().await, Ok(Event::Ended { .. })) {} };
    let over = tokio::time::timeout(GUARD, over).await;
    over.expect("the game ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_named_opponent_is_challenged() {
    let server = server().await;
    let partner = server.add_sparring_bot(Partner::Random, Duration::ZERO);
    let bot = Running::start(&server, "").await;
    let mut news = server.events();
    let wish = ["challenge", partner, "3+2", "--casual", "--color", "white"];
    let (code, out, err) = bot.tell(&wish);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("as soon as slots and quota allow"), "{out}");
    let (white, black) = next_game(&mut news).await;
    assert_eq!((white.as_str(), black.as_str()), (BOT, partner));
    end_of_game(&mut news).await;

    let reports = server.take_reports();
    assert!(reports.iter().all(GameReport::is_clean), "{reports:?}");
}

/// An arena of teams with a password, in which someone waits.
fn closed_arena(server: &ServerHandle) -> String {
    let plan = ArenaPlan {
        password: Some("sesame".to_owned()),
        battle: vec!["bombers".to_owned()],
        ..ArenaPlan::default()
    };
    let id = server.open_arena(plan).expect("an arena");
    server.enter(&id, "Waiting", Partner::Random, Duration::ZERO);
    id
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arena_is_joined_with_password_and_team_played_in_and_left() {
    let server = server().await;
    let id = closed_arena(&server);
    let mut bot = Running::start(&server, "").await;
    server.make_member(BOT, "bombers");

    let (code, _, err) = bot.tell(&["tournament", "join", "summer"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("\"summer\" is not an arena id"), "{err}");
    let (code, _, err) = bot.tell(&["tournament", "leave", &id]);
    assert_eq!(code, Some(1));
    assert!(err.contains("is joined or planned"), "{err}");

    let file = bot.config().with_file_name("entry");
    let file = file.to_str().expect("plain text");
    let join = ["tournament", "join", &id, "--team", "bombers"];
    let join = [&join[..], &["--password-file", file]].concat();
    let (code, _, err) = bot.tell(&join);
    assert!(code == Some(2) && err.contains("--password-file"), "{err}");
    fs::write(file, "\n").expect("a file");
    let (code, _, err) = bot.tell(&join);
    assert!(
        code == Some(2) && err.contains("there is no password in it"),
        "{err}"
    );
    fs::write(file, "sesame\n").expect("a file");
    let (code, out, err) = bot.tell(&join);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains(&format!("joining {id}")), "{out}");
    let games = tokio::time::timeout(GUARD, server.arena_games(&id, 1)).await;
    let games = games.expect("a game of the arena ends");
    assert!(games.iter().all(GameReport::is_clean), "{games:?}");
    let status = bot.status();
    let shown = status["arenas"][0].as_str().unwrap_or_default();
    assert!(shown.contains(&id), "{status}");

    assert_eq!(bot.tell(&["tournament", "leave", &id]).0, Some(0));
    until("it has left", async || {
        server.arena(&id).is_some_and(|arena| !arena.has(BOT))
    })
    .await;
    assert_eq!(bot.tell(&["drain"]).0, Some(0));
    let (code, log) = bot.end();
    assert_eq!(code, Some(0), "{log}");
    assert!(!log.contains("sesame"), "the password is in the log: {log}");
    assert!(log.contains("overhead_ms="), "what a move costs: {log}");
}

/// A command about a team, given with a token: status and all that it says.
fn team(server: &ServerHandle, token: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("config.toml");
    let text = format!("[lichess]\nurl = \"{}\"\n", server.url());
    fs::write(&config, text).expect("a config");
    let output = tokio::task::block_in_place(|| {
        command(&["team"])
            .args(arguments)
            .arg("--config")
            .arg(&config)
            .env("LICHESS_BOT_TOKEN", token)
            .output()
    });
    let output = output.expect("the program starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).expect("text");
    assert!(!said.contains(token), "the token is shown: {said}");
    (output.status.code(), said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_team_is_joined_and_left_without_a_running_bot() {
    let server = server().await;
    closed_arena(&server);
    let usual = server.open_bot(BOT).expect("a good name");
    let member = server
        .open(BOT, AccountKind::Bot, &["bot:play", "team:write"])
        .expect("a good name");

    let (code, said) = team(&server, &usual, &["join", "bombers"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("team:write"), "{said}");
    let (code, said) = team(&server, &member, &["join", "nobodys-team"]);
    assert_eq!(code, Some(1));
    assert!(said.contains("has no team \"nobodys-team\""), "{said}");
    let (code, said) = team(&server, &member, &["join", "bombers"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("bombers: joined"), "{said}");
    let (code, said) = team(&server, &member, &["leave", "bombers"]);
    assert_eq!((code, said.as_str()), (Some(0), "bombers: left\n"));
    let (code, said) = team(&server, &member, &["leave", "bombers"]);
    assert_eq!(code, Some(1), "{said}");
}
