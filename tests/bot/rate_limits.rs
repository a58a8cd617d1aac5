//! 429s are logged, whichever part of the bot made the call, with the game if there is one.

use std::time::Duration;

use megaton::archive::EventRecord;
use megaton::bot::BotTiming;
use serde_json::json;

use crate::captured_log::CapturedLog;
use crate::running_bot::{Bot, GUARD, all_over, patient};
use crate::test_server::{MoveFault, Server, World};

const LIMIT: &str = "Too many requests. Try again later.";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_429_is_logged_whichever_call_got_it() {
    let mut server = Server::start().await;
    server.timing.rate_limit = Duration::from_millis(100);
    {
        let mut world = server.world();
        world.event_faults.push_back((429, LIMIT));
        world.stream_faults.push_back((429, LIMIT));
        world.move_faults.push_back(MoveFault::Instead(429, LIMIT));
        world.begin("g1", true, 10);
    }
    let bot = Bot::start(&server);
    all_over(&server).await;
    let event_log = bot.event_bus.event_log().clone();
    bot.stop().await;
    let events = event_log.events(1000);
    for (kind, game) in [
        ("event_stream", None),
        ("game_stream", Some("g1")),
        ("move", Some("g1")),
    ] {
        let start = format!("{kind}: rate limited, to wait ");
        let is_it = |event: &&EventRecord| {
            event.kind == "limited"
                && event.text.starts_with(&start)
                && event.text.ends_with(LIMIT)
                && event.game.as_deref() == game
        };
        let found = events.iter().map(|event| &**event).filter(is_it).count();
        assert_eq!(found, 1, "{kind}: {events:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_is_declined_once_more_after_a_429_that_asks_for_a_short_wait() {
    let mut server = Server::start().await;
    server.timing.rate_limit = Duration::from_millis(100);
    let limited = ("/c1/decline", 429, r#"{"error":"Too many requests."}"#);
    server.world().call_faults.push(limited);
    let bot = Bot::start(&server);
    server.until_online().await;
    server.world().challenge("c1", "standard");
    server
        .until("a second attempt", |world| {
            let declines = world.calls.iter();
            declines
                .filter(|call| call.ends_with("/c1/decline"))
                .count()
                == 2
        })
        .await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_without_a_clock_is_declined_when_others_have_lapsed() {
    let mut server = Server::start().await;
    // Two of these minutes are over before the pause.
    server.timing.minute = Duration::from_millis(20);
    server.timing.rate_limit = Duration::from_millis(400);
    for path in ["/fast/decline", "/slow/decline"] {
        let limited = (path, 429, r#"{"error":"Too many requests."}"#);
        server.world().call_faults.push(limited);
    }
    let bot = Bot::start(&server);
    server.until_online().await;
    {
        let mut world = server.world();
        world.challenge("fast", "standard");
        let unlimited = json!({ "type": "unlimited" });
        world.challenge_at("slow", "standard", ("blastcap", None), &unlimited);
    }
    let declines = |world: &World, end: &str| {
        let declines = world.calls.iter().filter(|call| call.ends_with(end));
        declines.count()
    };
    server
        .until("a second attempt", |world| {
            declines(world, "/slow/decline") == 2
        })
        .await;
    bot.stop().await;
    assert!(declines(&server.world(), "/fast/decline") <= 1);
}

/// On one thread, whose log is captured.
#[tokio::test]
async fn a_storm_of_429s_is_a_few_lines_and_all_of_them_are_counted() {
    let log = CapturedLog::default();
    let _capture = log.of_this_thread();
    let mut server = Server::start().await;
    server.timing.rate_limit = Duration::from_millis(20);
    server.timing.move_call = GUARD;
    {
        let mut world = server.world();
        let storm = vec![MoveFault::Instead(429, LIMIT); 40];
        world.move_faults.extend(storm);
        for number in 0..4 {
            world.begin(&format!("g{number}"), true, 8);
        }
    }
    // After the first lines the rest is logged at the end.
    let timing = BotTiming {
        limited_note: Duration::from_secs(3600),
        ..patient()
    };
    let bot = Bot::paced(&server, &timing, |_| {});
    all_over(&server).await;
    let event_log = bot.event_bus.event_log().clone();
    bot.stop().await;
    let events = event_log.events(1000);
    let limited = events.iter().filter(|event| event.kind == "limited");
    assert!(limited.clone().count() <= 8, "{events:?}");
    let lines = log.lines(|line| line.contains("WARN") && line.contains("move: rate limited"));
    assert_eq!(lines.len(), limited.clone().count(), "{lines:?}");
    let times = |text: &str| -> u64 {
        let counted = text.split(" times").next().unwrap_or_default();
        let number = counted.rsplit(' ').next().unwrap_or_default();
        number.parse().unwrap_or(1)
    };
    let all: u64 = limited.map(|event| times(&event.text)).sum();
    assert_eq!(all, 40, "{events:?}");
}
