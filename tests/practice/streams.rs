//! The life of streams: snapshots, keep-alives, replacement, and faults on request.

use std::time::Duration;

use megaton::practice::{Endpoint, Fault};
use serde_json::json;

use crate::client::{Bot, Read, http, server, start_game, two_bots};

#[tokio::test]
async fn a_new_event_stream_lists_running_games_and_pending_challenges() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let third = Bot::new(&server, "ThirdBot");
    let id = start_game(&one, &two, &[]).await;
    let challenge = third.challenge(&one, &[]).await.ok()["id"].clone();
    let mut stream = one.events().await;
    let game = stream.next().await;
    assert_eq!(
        (&game["type"], &game["game"]["id"]),
        (&json!("gameStart"), &json!(id))
    );
    let pending = stream.next().await;
    assert_eq!(pending["challenge"]["id"], challenge);
    assert_eq!(pending.get("compat"), None);
}

#[tokio::test]
async fn idle_streams_get_keep_alive_lines() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let mut stream = bot.events().await;
    for _ in 0..3 {
        assert_eq!(stream.read().await, Read::KeepAlive);
    }
}

#[tokio::test]
async fn a_second_event_stream_ends_the_first_cleanly() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let first = bot.events().await;
    let mut second = bot.events().await;
    first.end().await;
    assert_eq!(second.read().await, Read::KeepAlive);
    assert!(server.is_online("SomeBot"));
}

#[tokio::test]
async fn thirty_openings_are_enough() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    for _ in 0..30 {
        bot.events().await;
    }
    let refused = bot.get("/api/stream/event").await;
    assert_eq!(refused.status, 429);
    assert!(
        refused
            .error()
            .starts_with("Please don't poll this endpoint")
    );
}

#[tokio::test]
async fn a_game_stream_replaces_the_one_of_the_same_program_only() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let first = white.game(&id).await;
    let mut other_program = white.clone();
    other_program.agent = "second/2.0".to_owned();
    let mut beside = other_program.game(&id).await;
    let mut second = white.game(&id).await;
    first.end().await;
    for stream in [&mut beside, &mut second] {
        assert_eq!(stream.next().await["type"], "gameFull");
    }
    black.game(&id).await;
    white.play(&id, "e2e4").await.ok();
    for stream in [&mut beside, &mut second] {
        assert_eq!(stream.next_of("gameState").await["moves"], "e2e4");
    }
}

#[tokio::test]
async fn a_closed_event_stream_takes_the_bot_offline() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let stream = bot.events().await;
    assert!(server.is_online("SomeBot"));
    drop(stream);
    while server.is_online("SomeBot") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_lost_reply_leaves_the_move_on_the_board() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = black.game(&id).await;
    server.faults().add(Endpoint::Move, Fault::LoseReply);
    let path = format!("/api/bot/game/{id}/move/e2e4");
    assert!(
        white
            .request(reqwest::Method::POST, &path)
            .send()
            .await
            .is_err()
    );
    assert_eq!(stream.next_of("gameState").await["moves"], "e2e4");
    assert_eq!(
        white.play(&id, "e2e4").await.error(),
        "Not your turn, or game already over"
    );
}

#[tokio::test]
async fn a_lost_request_leaves_the_board_alone() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    server.faults().add(Endpoint::Move, Fault::LoseRequest);
    let path = format!("/api/bot/game/{id}/move/e2e4");
    assert!(
        white
            .request(reqwest::Method::POST, &path)
            .send()
            .await
            .is_err()
    );
    white.play(&id, "e2e4").await.ok();
}

#[tokio::test]
async fn refusals_on_request_come_as_a_proxy_or_the_limiter_writes_them() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    server
        .faults()
        .add(Endpoint::Move, Fault::Refuse { status: 502 });
    server
        .faults()
        .add(Endpoint::Move, Fault::Refuse { status: 429 });
    server
        .faults()
        .add(Endpoint::Move, Fault::DoneBut { status: 504 });
    let bad = white.play(&id, "e2e4").await;
    assert_eq!(bad.status, 502);
    assert!(bad.text.starts_with("<html>"));
    assert_eq!(
        white.play(&id, "e2e4").await.error(),
        "Too many requests. Try again later."
    );
    assert_eq!(white.play(&id, "e2e4").await.status, 504);
    black.play(&id, "e7e5").await.ok();
    assert_eq!(server.faults().waiting(Endpoint::Move), 0);
}

#[tokio::test]
async fn streams_end_break_fall_silent_and_talk_nonsense_on_request() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    for fault in [Fault::EndAfter(1), Fault::BreakAfter(1)] {
        server.faults().add(Endpoint::GameStream, fault.clone());
        let mut stream = white.game(&id).await;
        assert_eq!(stream.next().await["type"], "gameFull");
        let expected = if fault == Fault::EndAfter(1) {
            Read::End
        } else {
            Read::Broken
        };
        assert_eq!(stream.read().await, expected);
    }
    server.faults().add(
        Endpoint::GameStream,
        Fault::SayAfter(1, r#"{"type":"odd"}"#.to_owned()),
    );
    let mut stream = white.game(&id).await;
    stream.next().await;
    assert_eq!(stream.next().await, json!({"type":"odd"}));
    server
        .faults()
        .add(Endpoint::GameStream, Fault::SilentAfter(1));
    let mut stream = white.game(&id).await;
    stream.next().await;
    let silence = Duration::from_millis(700);
    assert!(
        tokio::time::timeout(silence, stream.read()).await.is_err(),
        "ten keep-alives long"
    );
}

#[tokio::test]
async fn shutting_down_ends_the_streams_and_the_listening() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let stream = bot.events().await;
    let url = server.url().to_owned();
    server.shutdown().await;
    stream.end().await;
    assert!(
        http()
            .get(format!("{url}/api/bot/online"))
            .send()
            .await
            .is_err()
    );
}
