//! The connection of the moves: warm, separate, and delayed by nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use futures::future::join_all;
use megaton::lichess::{EndpointClass, Error, GameId, OfferDraw, Room, Timing};
use tokio::sync::Barrier;

use crate::server::{Server, Step, client, ok, reply};

fn game() -> GameId {
    GameId::new("q7ZxVt2B")
}

#[tokio::test]
async fn a_move_takes_the_connection_that_was_warmed() {
    let server = Server::start(|_| ok()).await;
    let client = server.client();
    assert!(client.warm().await);
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
    client
        .make_move(&game(), "d2d4", OfferDraw::No)
        .await
        .unwrap();
    let requests = server.requests();
    assert!(
        requests.iter().all(|request| request.connection == 0),
        "{requests:?}"
    );
    assert_eq!(requests[0].line, "GET /api/account/playing?nb=1");
    assert_eq!(client.calls(EndpointClass::Warm), 1);
    assert_eq!(client.calls(EndpointClass::Move), 2);
}

#[tokio::test]
async fn the_connection_is_warmed_only_after_idle_time() {
    let server = Server::start(|_| ok()).await;
    let timing = Timing {
        warm_after: Duration::from_millis(80),
        ..Timing::default()
    };
    let client = client(&server.url(), timing);
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
    let used = Instant::now();
    if used.elapsed() < Duration::from_millis(40) {
        assert!(!client.warm().await, "it is warm");
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(client.warm().await, "it has been idle");
}

#[tokio::test]
async fn a_connection_the_server_closed_meanwhile_costs_no_move() {
    let server = Server::start(|_| {
        let mut steps = ok();
        steps.extend([Step::Wait(Duration::from_millis(20)), Step::Close]);
        steps
    })
    .await;
    let client = server.client();
    client.warm().await;
    tokio::time::sleep(Duration::from_millis(80)).await;
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_slow_chat_does_not_take_the_connection_of_the_moves() {
    let server = Server::start(|request| {
        if request.line.ends_with("/chat") {
            return vec![Step::Hang];
        }
        ok()
    })
    .await;
    let client = server.client();
    client.warm().await;
    let chat = {
        let client = client.clone();
        tokio::spawn(async move { client.chat(&game(), Room::Player, "hi").await })
    };
    while server.requests().len() < 2 {
        tokio::task::yield_now().await;
    }
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
    let requests = server.requests();
    let connections: Vec<_> = requests.iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 1, 0], "{requests:?}");
    chat.abort();
}

#[tokio::test]
async fn a_429_pauses_its_class_of_calls_and_no_move() {
    let limited = reply(
        "429 Too Many Requests",
        "application/json",
        r#"{"error":"Too many requests. Try again later.","ratelimit":{"key":"x","seconds":90}}"#,
    );
    let server = Server::start(move |request| {
        if request.line.contains("/move/") && !request.line.contains("limited") {
            return ok();
        }
        vec![Step::Send(limited.clone())]
    })
    .await;
    let client = server.client();
    let minute_and_a_half = Some(Duration::from_secs(90));
    let told = client.chat(&game(), Room::Player, "hi").await.unwrap_err();
    assert_eq!(told.wait(), minute_and_a_half);
    let again = client.chat(&game(), Room::Player, "hi").await.unwrap_err();
    assert!(matches!(again, Error::RateLimited { .. }), "{again:?}");
    assert_eq!(server.requests().len(), 1, "the second was not sent");
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
    // A 429 on a move is told; what to do about it is the player's affair.
    let told = client
        .make_move(&game(), "limited", OfferDraw::No)
        .await
        .unwrap_err();
    assert_eq!(told.wait(), minute_and_a_half);
    assert!(client.pause(EndpointClass::Move).is_some());
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
}

#[tokio::test]
async fn after_a_change_of_network_two_calls_are_lost_and_no_more() {
    let parallel = 6;
    let gone = Arc::new(AtomicBool::new(false));
    let (meeting, is_gone) = (Arc::new(Barrier::new(parallel)), Arc::clone(&gone));
    // The first calls wait for each other, so that each has a connection of its own. After the change
    // no packet of these connections arrives any more.
    let server = Server::start(move |request| {
        if request.connection < parallel {
            if is_gone.load(SeqCst) {
                return vec![Step::Hang];
            }
            return vec![Step::Meet(Arc::clone(&meeting)), ok().remove(0)];
        }
        ok()
    })
    .await;
    let timing = Timing {
        move_call: Duration::from_millis(200),
        ..Timing::default()
    };
    let client = client(&server.url(), timing);
    let game = game();
    let moves = (0..parallel).map(|_| client.make_move(&game, "e2e4", OfferDraw::No));
    let moves = join_all(moves).await;
    assert!(moves.iter().all(Result::is_ok), "{moves:?}");
    gone.store(true, SeqCst);
    let mut lost = 0;
    while client
        .make_move(&game, "d2d4", OfferDraw::No)
        .await
        .is_err()
    {
        lost += 1;
        assert!(
            lost <= 2,
            "the idle connections are tried one after another"
        );
    }
    assert_eq!(lost, 2);
}

#[tokio::test]
async fn connections_that_replace_lost_ones_are_warmed_before_the_next_move() {
    let gone = Arc::new(AtomicBool::new(false));
    let is_gone = Arc::clone(&gone);
    let server = Server::start(move |_| {
        if is_gone.load(SeqCst) {
            return vec![Step::Hang];
        }
        ok()
    })
    .await;
    let timing = Timing {
        move_call: Duration::from_millis(200),
        warm_after: Duration::from_secs(3600),
        ..Timing::default()
    };
    let client = client(&server.url(), timing);
    assert!(client.warm().await);
    assert!(!client.warm().await, "it is warm");
    gone.store(true, SeqCst);
    for _ in 0..2 {
        let lost = client.make_move(&game(), "e2e4", OfferDraw::No).await;
        assert!(lost.is_err());
    }
    gone.store(false, SeqCst);
    assert!(
        client.warm().await,
        "the new connection never carried a call"
    );
}

#[tokio::test]
async fn a_client_is_ready_at_once() {
    let begun = Instant::now();
    drop(client("https://lichess.org", Timing::default()));
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(2),
        "{took:?}: a hang guard, not a measurement"
    );
}
