//! Faults on request: on calls, on open streams at every phase of a game, and on the whole server.

use std::time::Duration;

use megaton::practice::{
    Announcement, BodyShape, Channel, Endpoint, Fault, FaultMix, FaultReply, FaultScript,
    GamePhase, Injection, Partner, ServerFault, ServerHandle, StreamFault, Trigger,
};
use reqwest::Method;
use serde_json::json;

use crate::client::{Bot, Read, http, server, start_game, two_bots};

/// A game against a partner that answers at once, the bot with White.
async fn game_with_partner(server: &ServerHandle, bot: &Bot) -> String {
    let partner = server.add_sparring_bot(Partner::Random, Duration::ZERO);
    let form = [
        ("clock.limit", "180"),
        ("clock.increment", "2"),
        ("variant", "atomic"),
        ("color", "white"),
    ];
    let path = format!("/api/challenge/{partner}");
    let challenge = bot.post_form(&path, &form).await.ok();
    let id = challenge["id"].as_str().unwrap().to_owned();
    let mut events = bot.events().await;
    events.next_of("gameStart").await;
    id
}

#[tokio::test]
async fn answers_come_in_every_shape_and_done_is_done() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let limit = FaultReply::new(429, BodyShape::Limit { seconds: 7 });
    let html = FaultReply::new(200, BodyShape::Html);
    let empty = FaultReply::new(503, BodyShape::Empty);
    for fault in [
        Fault::Answer(limit),
        Fault::Answer(html),
        Fault::DoneThen(empty),
    ] {
        server.faults().add_at(&id, Endpoint::Move, fault);
    }
    let limited = white.play(&id, "e2e4").await;
    assert_eq!(limited.json()["ratelimit"]["seconds"], 7);
    let page = white.play(&id, "e2e4").await;
    assert_eq!((page.status, &page.text[..6]), (200, "<html>"));
    let empty = white.play(&id, "e2e4").await;
    assert_eq!((empty.status, empty.text.as_str()), (503, ""));
    black.play(&id, "e7e5").await.ok();
    let injected = server.faults().injected();
    assert_eq!(injected["move: 429 with seconds"], 1, "{injected:?}");
    let traffic = server.traffic();
    assert_eq!((traffic.calls["move"], traffic.limited), (4, 1));
}

#[tokio::test]
async fn a_rate_limit_applies_to_one_account() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    white.play(&id, "e2e4").await.ok();
    black.play(&id, "e7e5").await.ok();
    let limit = Fault::Refuse { status: 429 };
    server.faults().add_at(&id, Endpoint::Game, limit);
    assert_eq!(white.at_game(&id, "draw/yes").await.status, 429);
    black.at_game(&id, "draw/yes").await.ok();
    assert_eq!(server.traffic().too_soon, [""; 0], "of the other account");
    white.at_game(&id, "resign").await.ok();
    assert_eq!(server.traffic().too_soon.len(), 1);
}

#[tokio::test]
async fn a_swallowed_request_is_never_answered() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    server.faults().add(Endpoint::Move, Fault::DoneInSilence);
    let path = format!("/api/bot/game/{id}/move/e2e4");
    let call = white.request(Method::POST, &path).send();
    let wait = Duration::from_millis(300);
    assert!(tokio::time::timeout(wait, call).await.is_err());
    black.play(&id, "e7e5").await.ok();
}

#[tokio::test]
async fn a_stream_fault_is_injected_at_its_phase() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let trigger = |phase, stream_fault| {
        let injection = Injection::Stream(Channel::Game, stream_fault);
        server.faults().trigger(Trigger::at(phase, injection));
    };
    trigger(GamePhase::Begin, StreamFault::say("[]"));
    trigger(GamePhase::Posting, StreamFault::say("[1]"));
    trigger(GamePhase::TheirTurn, StreamFault::say("[2]"));
    trigger(GamePhase::OurTurn, StreamFault::Truncate(10));
    let id = game_with_partner(&server, &bot).await;
    let mut stream = bot.game(&id).await;
    assert_eq!(stream.next().await["type"], "gameFull");
    assert_eq!(stream.next().await, json!([]));
    bot.play(&id, "g1f3").await.ok();
    assert_eq!(stream.next().await, json!([1]));
    assert_eq!(stream.next().await, json!([2]));
    assert_eq!(stream.next().await["moves"], "g1f3");
    // The line that says whose turn it is breaks off.
    stream.end_of_half_a_line(10).await;
    assert_eq!(server.faults().faults_left(), 0);
    assert_eq!(server.traffic().still_lost, 1);
    bot.game(&id).await;
    assert_eq!(server.traffic().recoveries["game: line cut short"].len(), 1);
}

#[tokio::test]
async fn a_restart_drops_every_socket_admits_no_one_and_gives_time() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut events = white.events().await;
    let mut stream = white.game(&id).await;
    events.next().await;
    stream.next().await;
    white.play(&id, "e2e4").await.ok();
    let restart = ServerFault::Restart {
        down: Duration::from_millis(200),
        bonus: Duration::from_secs(20),
    };
    server.trigger(&id, Injection::World(restart));
    for mut lost in [events, stream] {
        while !matches!(lost.read().await, Read::Broken | Read::End) {}
    }
    let url = format!("{}/api/account", white.url);
    let outside = http().get(&url).send().await;
    assert!(outside.is_err(), "{outside:?}");
    // From the first answer on it is back.
    while http().get(&url).send().await.is_err() {}
    let full = white.game(&id).await.next().await;
    assert_eq!(full["state"]["moves"], "e2e4");
    assert_eq!(full["state"]["wtime"], 200_000);
    black.play(&id, "e7e5").await.ok();
}

#[tokio::test]
async fn a_revoked_token_is_known_again_after_a_while_and_open_streams_live_on() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = white.game(&id).await;
    stream.next().await;
    let span = Duration::from_millis(300);
    server.trigger(&id, Injection::World(ServerFault::Revoke { span }));
    while white.get("/api/account").await.status != 401 {}
    // White is the client that it is taken from.
    black.play(&id, "e2e4").await;
    while white.get("/api/account").await.status == 401 {}
    white.play(&id, "e2e4").await.ok();
    assert_eq!(stream.next_of("gameState").await["moves"], "e2e4");
}

#[tokio::test]
async fn storms_floods_and_false_announcements_come_on_request() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let id = game_with_partner(&server, &bot).await;
    let mut events = bot.events().await;
    events.next_of("gameStart").await;
    let mut stream = bot.game(&id).await;
    stream.next().await;
    let server_fault = |server_fault| server.trigger(&id, Injection::World(server_fault));
    server_fault(ServerFault::Storm { challenges: 20 });
    for _ in 0..20 {
        let challenge = events.next_of("challenge").await;
        assert_eq!(challenge["challenge"]["variant"]["key"], "standard");
    }
    server_fault(ServerFault::NoShows { challenges: 20 });
    for _ in 0..20 {
        let challenge = events.next_of("challenge").await;
        assert_eq!(challenge["challenge"]["variant"]["key"], "atomic");
    }
    server_fault(ServerFault::ChatFlood { lines: 12 });
    for _ in 0..12 {
        stream.next_of("chatLine").await;
    }
    server_fault(ServerFault::Announce(Announcement::Again));
    let again = events.next_of("gameStart").await;
    assert_eq!(again["game"]["gameId"], id.as_str());
    server_fault(ServerFault::Announce(Announcement::Foreign));
    let foreign = events.next_of("gameStart").await;
    let path = format!(
        "/api/bot/game/stream/{}",
        foreign["game"]["gameId"].as_str().unwrap()
    );
    assert_eq!(bot.get(&path).await.status, 404);
    server_fault(ServerFault::Announce(Announcement::NotForBots));
    let closed = events.next_of("gameStart").await;
    assert_eq!(closed["game"]["compat"]["bot"], false);
    server_fault(ServerFault::ClockJump {
        by: Duration::from_secs(20),
    });
    assert_eq!(stream.next_of("gameState").await["wtime"], 200_000);
    server_fault(ServerFault::GiveTime { seconds: 15 });
    assert_eq!(stream.next_of("gameState").await["wtime"], 215_000);
}

#[tokio::test]
async fn ghosts_and_bursts_are_games_that_no_one_accepted() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let id = game_with_partner(&server, &bot).await;
    let mut events = bot.events().await;
    events.next_of("gameStart").await;
    server.trigger(&id, Injection::World(ServerFault::Ghost));
    let challenge = events.next_of("challenge").await["challenge"]["id"].clone();
    let cancelled = events.next_of("challengeCanceled").await;
    assert_eq!(cancelled["challenge"]["id"], challenge);
    let path = format!("/api/challenge/{}/accept", challenge.as_str().unwrap());
    assert_eq!(bot.post(&path).await.status, 400);
    assert_eq!(
        events.next_of("gameStart").await["game"]["gameId"],
        challenge
    );
    server.trigger(&id, Injection::World(ServerFault::Burst { games: 40 }));
    for _ in 0..20 {
        events.next_of("gameStart").await;
    }
    // Who asks later is told of all of them.
    let mut late = bot.events().await;
    let mut told = 0;
    while matches!(late.read().await, Read::Line(_)) {
        told += 1;
    }
    assert_eq!(told, 42);
}

#[tokio::test]
async fn a_file_and_a_seed_determine_the_faults() {
    let server = server().await;
    let script = FaultScript::parse(
        "[[fault]]\nkind = \"answer\"\nplace = \"account\"\nstatus = 503\n\
         [[fault]]\nkind = \"clock-jump\"\nphase = \"their-turn\"\n",
        100,
    );
    server.faults().run(script.unwrap());
    let bot = Bot::new(&server, "SomeBot");
    assert_eq!(bot.get("/api/account").await.status, 503);
    let id = game_with_partner(&server, &bot).await;
    let mut stream = bot.game(&id).await;
    bot.play(&id, "g1f3").await.ok();
    // The partner may have answered before; then our clock runs.
    while stream.next_of("gameState").await["wtime"].as_i64() <= Some(180_000) {}
    server
        .faults()
        .mix(FaultMix::parse("talks", 1, 100).unwrap());
    for _ in 0..4 {
        game_with_partner(&server, &bot).await;
    }
    let talks = server
        .faults()
        .injected()
        .get("an opponent who talks")
        .copied();
    assert!(talks.is_some(), "{:?}", server.faults().injected());
}
