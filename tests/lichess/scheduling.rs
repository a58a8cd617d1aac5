//! The rate limiter end to end: calls that are not urgent wait their turn, and a limit on one class
//! delays no other.

use std::time::Duration;

use megaton::lichess::{
    CallResult, ChallengeId, DeclineReason, EndpointClass, Error, GameId, OfferDraw, Room, Timing,
};

use crate::server::{Server, Step, client, ok, reply};

fn game() -> GameId {
    GameId::new("q7ZxVt2B")
}

#[tokio::test]
async fn queued_chat_goes_two_at_a_time_and_a_move_overtakes_it() {
    let server = Server::start(|request| {
        if request.line.ends_with("/chat") {
            return vec![Step::Hang];
        }
        ok()
    })
    .await;
    let timing = Timing {
        call: Duration::from_secs(60),
        ..Timing::default()
    };
    let client = client(&server.url(), timing);
    let mut chat = tokio::task::JoinSet::new();
    for _ in 0..200 {
        let client = client.clone();
        chat.spawn(async move { client.chat(&game(), Room::Player, "hi").await });
    }
    // All but those under way and those who may wait are told so.
    for _ in 0..182 {
        let told = chat.join_next().await.unwrap().unwrap().unwrap_err();
        assert!(matches!(told, Error::RateLimited { .. }), "{told:?}");
    }
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
    let lines: Vec<_> = server.requests().into_iter().map(|it| it.line).collect();
    let spoken = lines.iter().filter(|line| line.ends_with("/chat")).count();
    assert!(spoken <= 2, "{lines:?}");
    assert_eq!(client.stats().sent(EndpointClass::Move), 1);
    assert_eq!(client.stats().held(EndpointClass::Chat), 182);
}

#[tokio::test]
async fn a_call_given_up_while_it_waits_leaves_its_place() {
    let server = Server::start(|request| {
        if request.line.ends_with("/chat") {
            return vec![Step::Hang];
        }
        ok()
    })
    .await;
    let client = server.client();
    let under_way: Vec<_> = (0..2)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.chat(&game(), Room::Player, "hi").await })
        })
        .collect();
    while server.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    let id = ChallengeId::new("q7ZxVt2B");
    let decline = client.decline(&id, DeclineReason::Later);
    let no_time = tokio::time::timeout(Duration::ZERO, decline).await;
    assert!(no_time.is_err(), "it waits");
    under_way.iter().for_each(tokio::task::JoinHandle::abort);
    client.decline(&id, DeclineReason::Later).await.unwrap();
    assert_eq!(client.stats().sent(EndpointClass::Decline), 1);
}

#[tokio::test]
async fn the_days_games_against_bots_are_no_limit_on_answers() {
    let limited = reply(
        "429 Too Many Requests",
        "application/json",
        r#"{"error":"You played 100 games against other bots today, please wait.","ratelimit":{"key":"bot.vsBot.day","seconds":27594}}"#,
    );
    let server = Server::start(move |request| {
        if request.line.contains("frombot1") {
            return vec![Step::Send(limited.clone())];
        }
        ok()
    })
    .await;
    let client = server.client();
    let told = client
        .accept_bot(&ChallengeId::new("frombot1"))
        .await
        .unwrap_err();
    assert_eq!(told.wait(), Some(Duration::from_secs(27_594)));
    assert_eq!(client.pause(EndpointClass::AcceptBot), None);
    let human = ChallengeId::new("fromhum1");
    client.accept(&human).await.unwrap();
    client.decline(&human, DeclineReason::Later).await.unwrap();
    let stats = client.stats();
    assert_eq!(
        stats.ended(EndpointClass::AcceptBot, CallResult::Limited),
        1
    );
    assert_eq!(stats.ended(EndpointClass::Answer, CallResult::Done), 1);
}

#[tokio::test]
async fn unacceptable_bots_do_not_block_humans() {
    let server = Server::start(|request| {
        if request.line.contains("frombot") && request.line.contains("/accept") {
            return limited();
        }
        ok()
    })
    .await;
    let timing = Timing {
        rate_limit: Duration::from_secs(60),
        ..Timing::default().faster(50)
    };
    let client = client(&server.url(), timing);
    let [bot, other, human] = ["frombot1", "frombot2", "fromhum1"].map(ChallengeId::new);
    let told = client.accept_bot(&bot).await.unwrap_err();
    assert_eq!(told.wait(), Some(client.timing().rate_limit));
    let held = client.accept_bot(&other).await.unwrap_err();
    assert!(matches!(held, Error::RateLimited { .. }), "{held:?}");
    assert_eq!(server.requests().len(), 1, "the second was not sent");
    assert_eq!(client.pause(EndpointClass::Answer), None);
    client.accept(&human).await.unwrap();
    client.decline(&bot, DeclineReason::Later).await.unwrap();
}

#[tokio::test]
async fn a_429_on_look_ups_does_not_delay_the_running_games() {
    let server = Server::start(|request| {
        if request.line.contains("/account/playing") {
            let none = reply("200 OK", "application/json", r#"{"nowPlaying":[]}"#);
            return vec![Step::Send(none)];
        }
        limited()
    })
    .await;
    let client = server.client();
    let told = client.export(&game()).await.unwrap_err();
    assert!(matches!(told, Error::RateLimited { .. }), "{told:?}");
    assert!(client.pause(EndpointClass::Lookup).is_some());
    assert!(client.playing().await.unwrap().games.is_empty());
}

/// A refusal that names neither a limit nor a wait.
fn limited() -> Vec<Step> {
    vec![Step::Send(reply(
        "429 Too Many Requests",
        "application/json",
        r#"{"error":"Too many requests. Try again later."}"#,
    ))]
}
