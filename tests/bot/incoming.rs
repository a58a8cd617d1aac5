//! Incoming challenges to the whole bot: refused accepts, crowds, and games from before the start.

use std::time::Duration;

use megaton::bot::BotEvent;

use crate::running_bot::{Bot, GUARD, all_over, patient};
use crate::test_server::Server;

const OUR_DAY: &str = r#"{"error":"You played 100 games against other bots today, please wait.",
    "ratelimit":{"key":"bot.vsBot.day","seconds":27594}}"#;
const THEIR_DAY: &str = r#"{"error":"NukeEngine played 100 games against other bots today.",
    "ratelimit":{"key":"bot.vsBot.day","seconds":30411}}"#;

fn accept(id: &str) -> String {
    format!("/api/challenge/{id}/accept")
}

fn decline(id: &str) -> String {
    format!("/api/challenge/{id}/decline")
}

async fn online() -> (Server, Bot) {
    let server = Server::start().await;
    let bot = Bot::start(&server);
    server.until_online().await;
    (server, bot)
}

async fn until_called(server: &Server, call: &str) {
    let called = |calls: &[String]| calls.iter().any(|made| made == call);
    server.until(call, |world| called(&world.calls)).await;
}

async fn a_person_plays_and_no_second_bot(server: &Server) {
    server.world().challenge("h1", "atomic");
    until_called(server, &accept("h1")).await;
    server.world().begin("h1", true, 6);
    all_over(server).await;
    assert!(!server.world().calls.contains(&accept("b2")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_spent_daily_limit_of_the_bot_declines_bots_and_no_one_else() {
    let (server, bot) = online().await;
    server.world().call_faults.push(("/accept", 429, OUR_DAY));
    server
        .world()
        .challenge_by("b1", "atomic", "nuke", Some("BOT"));
    until_called(&server, &decline("b1")).await;
    server
        .world()
        .challenge_by("b2", "atomic", "fuse", Some("BOT"));
    until_called(&server, &decline("b2")).await;
    a_person_plays_and_no_second_bot(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_refused_for_the_rate_declines_bots_and_no_one_else() {
    let mut server = Server::start().await;
    server.timing.rate_limit = Duration::from_secs(60);
    let bot = Bot::start(&server);
    server.until_online().await;
    let limit = r#"{"error":"Too many requests. Try again later."}"#;
    server.world().call_faults.push(("/accept", 429, limit));
    for id in ["b1", "b2"] {
        server.world().challenge_by(id, "atomic", id, Some("BOT"));
        until_called(&server, &decline(id)).await;
    }
    a_person_plays_and_no_second_bot(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_accept_costs_no_slot() {
    let server = Server::start().await;
    let bot = Bot::with(&server, |settings| settings.challenge.concurrency = 1);
    server.until_online().await;
    let faults = [
        ("b1", 400, THEIR_DAY),
        ("b2", 404, r#"{"error":"Not found"}"#),
        ("b3", 400, r#"{"error":"The challenge has been canceled."}"#),
    ];
    for (id, status, body) in faults {
        server.world().call_faults.push(("/accept", status, body));
        server.world().challenge_by(id, "atomic", id, Some("BOT"));
        until_called(&server, &accept(id)).await;
    }
    // The answer is lost, so the accept is repeated; then the game begins.
    server.world().call_faults.push(("/accept", 0, ""));
    server.world().challenge("h1", "atomic");
    let twice = |calls: &[String]| calls.iter().filter(|call| **call == accept("h1")).count() == 2;
    server.until("twice", |world| twice(&world.calls)).await;
    server.world().begin("h1", true, 6);
    all_over(&server).await;
    // And one whose game never begins gives its slot to the next.
    server.world().challenge("n1", "atomic");
    until_called(&server, &accept("n1")).await;
    server.world().challenge("h2", "atomic");
    server
        .until("an answer", |world| {
            world.calls.contains(&accept("h2")) || world.calls.contains(&decline("h2"))
        })
        .await;
    if server.world().calls.contains(&decline("h2")) {
        // It came before the first accepted challenge had expired; the next one comes after.
        let mut number = 3;
        loop {
            let id = format!("h{number}");
            server.world().challenge(&id, "atomic");
            server
                .until("an answer", |world| {
                    world.calls.contains(&accept(&id)) || world.calls.contains(&decline(&id))
                })
                .await;
            if server.world().calls.contains(&accept(&id)) {
                break;
            }
            number += 1;
            assert!(number < 100, "the slot is lost");
        }
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_games_from_before_the_start_are_each_joined_once() {
    let mut server = Server::start().await;
    // A machine that is slow with forty games is no reason to reopen a stream.
    server.timing.game_opening = GUARD;
    server.timing.game_idle = GUARD;
    server.timing.move_call = GUARD;
    let ids: Vec<String> = (0..40).map(|n| format!("g{n:02}")).collect();
    for id in &ids {
        server.world().begin(id, true, 6);
    }
    // As the real server does: it drops what exceeds its buffer.
    server.world().told_at_opening = Some(32);
    let bot = Bot::paced(&server, &patient(), |_| {});
    all_over(&server).await;
    let events = bot.event_bus.event_log().events(99);
    bot.stop().await;
    let world = server.world();
    for id in &ids {
        assert_eq!(world.rounds[id].openings, 1, "{id}: {events:?}");
    }
    let aborts = world.calls.iter().filter(|call| call.starts_with("abort"));
    assert_eq!(aborts.count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decline_names_its_rule_to_subscribers() {
    let (server, bot) = online().await;
    let mut ear = bot.event_bus.subscribe();
    server.world().challenge("c1", "standard");
    let rule = loop {
        let event = tokio::time::timeout(Duration::from_secs(20), ear.recv()).await;
        if let BotEvent::Declined { rule, .. } = event.expect("in time").expect("nothing lost") {
            break rule;
        }
    };
    let rule = rule.map(|rule| rule.to_string());
    assert_eq!(rule.as_deref(), Some("only atomic is accepted"));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_challenge_waits_for_a_list_that_does_not_come() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = silent.local_addr().expect("a bound socket");
    let server = Server::start().await;
    let bot = Bot::with(&server, |settings| {
        let list = format!("http://{address}/list");
        settings.challenge.block = vec![list.parse().expect("an address")];
    });
    server.until_online().await;
    server.world().challenge("c1", "atomic");
    until_called(&server, &accept("c1")).await;
    bot.stop().await;
    drop(silent);
}
