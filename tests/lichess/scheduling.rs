//! The rate limiter end to end: calls that are not urgent wait their turn, and a limit on one class
//! delays no other.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use futures::future::join_all;
use megaton::lichess::{
    CallResult, ChallengeId, DeclineReason, Disconnect, EndpointClass, Error, GameId, OfferDraw,
    Room, Timing,
};

use crate::server::{Server, Step, client, ok, reply};

/// Longer than any call takes.
const GUARD: Duration = Duration::from_secs(30);

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
    let leaving = client.leave_arena("may26aut");
    let no_time = tokio::time::timeout(Duration::ZERO, leaving).await;
    assert!(no_time.is_err(), "it waits");
    under_way.iter().for_each(tokio::task::JoinHandle::abort);
    client.leave_arena("may26aut").await.unwrap();
    assert_eq!(client.stats().sent(EndpointClass::Arena), 1);
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

#[tokio::test]
async fn a_limit_on_the_address_pauses_every_call() {
    let server = Server::start(|_| limited()).await;
    let client = client(&server.url(), Timing::default());
    client.chat(&game(), Room::Player, "hi").await.unwrap_err();
    let refused = client.make_move(&game(), "e2e4", OfferDraw::No).await;
    assert!(refused.unwrap_err().is_rate_limited());
    let id = ChallengeId::new("fromhum1");
    let held = [
        client.playing().await.err(),
        client.challenges().await.err(),
        client.accept(&id).await.err(),
        client.decline(&id, DeclineReason::Later).await.err(),
        client.make_move(&game(), "e2e4", OfferDraw::No).await.err(),
    ];
    for error in held {
        assert!(
            error.as_ref().is_some_and(Error::is_rate_limited),
            "{error:?}"
        );
    }
    let streams = [
        client.events().await.err(),
        client.game(&game(), GUARD).await.err(),
    ];
    for loss in streams {
        let told = matches!(&loss, Some(Disconnect::Unopened(error)) if error.is_rate_limited());
        assert!(told, "{loss:?}");
    }
    assert!(!client.ping().await);
    assert_eq!(server.requests().len(), 2, "{:?}", server.requests());
}

#[tokio::test]
async fn equal_questions_that_wait_for_the_end_of_a_pause_are_one_question() {
    let refusals = AtomicUsize::new(2);
    let server = Server::start(move |request| {
        if refusals
            .fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1))
            .is_ok()
        {
            return limited();
        }
        let body = if request.line.contains("playing") {
            r#"{"nowPlaying":[]}"#
        } else {
            r#"{"in":[],"out":[]}"#
        };
        vec![Step::Send(reply("200 OK", "application/json", body))]
    })
    .await;
    let timing = Timing {
        rate_limit: Duration::from_millis(300),
        ..Timing::default()
    };
    let client = client(&server.url(), timing);
    client.playing().await.unwrap_err();
    client.challenges().await.unwrap_err();
    let playing = (0..4).map(|_| client.playing());
    let challenges = (0..3).map(|_| client.challenges());
    let (playing, challenges) = tokio::join!(join_all(playing), join_all(challenges));
    assert!(playing.iter().all(Result::is_ok), "{playing:?}");
    assert!(challenges.iter().all(Result::is_ok), "{challenges:?}");
    let lines: Vec<_> = server.requests().into_iter().map(|it| it.line).collect();
    assert_eq!(lines.len(), 4, "two refused, and two answered: {lines:?}");
    client.playing().await.unwrap();
    assert_eq!(server.requests().len(), 5, "a later question is a new one");
}

/// A refusal that names neither a limit nor a wait.
fn limited() -> Vec<Step> {
    vec![Step::Send(reply(
        "429 Too Many Requests",
        "application/json",
        r#"{"error":"Too many requests. Try again later."}"#,
    ))]
}
