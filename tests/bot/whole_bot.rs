//! The whole bot on the small test server: games played to their end under every fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use megaton::bot::{BotError, BotEvent, BotState, BotTiming, Command, Reply, StateRules};
use megaton::lichess::{GameId, UserId};
use megaton::store::Store;
use serde_json::json;
use tokio::sync::broadcast::Receiver;

use crate::list_refresh::{HangingFile, in_file};
use crate::running_bot::{Bot, GUARD, all_over, patient};
use crate::test_server::{MoveFault, Piece, Server, World};

/// A page as proxies send it.
pub(crate) const HTML: &str = "<html><body>502 Bad Gateway</body></html>";

/// One game of about twenty plies under these faults.
async fn plays_through(faults: &[MoveFault]) -> Server {
    plays_at(&BotTiming::default().faster(25), faults).await
}

async fn plays_at(timing: &BotTiming, faults: &[MoveFault]) -> Server {
    let server = Server::start().await;
    server.world().move_faults.extend(faults.iter().cloned());
    server.world().begin("g1", true, 20);
    let bot = Bot::paced(&server, timing, |_| {});
    all_over(&server).await;
    assert!(server.world().move_faults.is_empty(), "every fault was met");
    bot.stop().await;
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_is_played_to_its_end_with_one_call_per_move() {
    // With real timing: on a busy machine a faster one would check a slow answer twice.
    let server = plays_at(&BotTiming::default(), &[]).await;
    let world = server.world();
    let round = &world.rounds["g1"];
    assert_eq!(world.posts.len(), round.game.ply().div_ceil(2));
    assert_eq!(round.openings, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_moves_and_lost_answers_cost_nothing() {
    plays_through(&[
        MoveFault::Missed,
        MoveFault::Missed,
        MoveFault::AnswerLost,
        MoveFault::Hangs,
        MoveFault::Missed,
        MoveFault::AnswerLost,
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_servers_and_html_pages_cost_nothing() {
    plays_through(&[
        MoveFault::Instead(502, HTML),
        MoveFault::Instead(503, "down"),
        MoveFault::Despite(504, HTML),
        MoveFault::Instead(200, HTML),
        MoveFault::Despite(500, "oops"),
        MoveFault::Instead(403, HTML),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limits_are_waited_out() {
    plays_through(&[
        MoveFault::Instead(429, "Too many requests. Try again later."),
        MoveFault::Instead(429, "Too many requests. Try again later."),
        MoveFault::Despite(429, "Too many requests. Try again later."),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_successful_answer_without_effect_is_detected() {
    plays_through(&[MoveFault::Ignored, MoveFault::Ignored]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_investigated_before_another_move_is_tried() {
    plays_through(&[
        MoveFault::Instead(400, "Piece on e2 cannot move to e5"),
        MoveFault::Despite(400, "Not your turn, or game already over"),
        MoveFault::Instead(400, "Not your turn, or game already over"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_failure_of_a_stream_loses_a_game() {
    let server = Server::start().await;
    server.world().begin("g1", false, 30);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        // Before the bot's move is shown, and between it and the answer; early, as a game can be short.
        round.cut_at.extend([
            (2, Piece::Cut),
            (4, Piece::End),
            (7, Piece::Garbage),
            (9, Piece::Silence),
            (10, Piece::Cut),
        ]);
    }
    let bot = Bot::start(&server);
    all_over(&server).await;
    {
        let world = server.world();
        let round = &world.rounds["g1"];
        assert!(round.openings > 5, "in {:?}", round.game.moves());
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_stream_that_is_refused_at_first_is_opened_in_the_end() {
    let server = Server::start().await;
    server.world().stream_faults.extend([
        (502, HTML),
        (429, "Too many requests. Try again later."),
        (404, "No such game"),
        (401, "No such token"),
    ]);
    server.world().begin("g1", true, 12);
    let bot = Bot::start(&server);
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_bot_resumes_its_games() {
    let server = Server::start().await;
    server.world().begin("g1", true, 60);
    server.world().begin("g2", false, 60);
    for n in 1..=3 {
        let bot = Bot::start(&server);
        let enough = |round: &crate::server_game::Round| {
            round.status != "started" || round.game.ply() >= n * 4
        };
        server
            .until("some moves", |world| world.rounds.values().all(enough))
            .await;
        bot.kill().await;
    }
    let bot = Bot::start(&server);
    server
        .until("all games over", |world| world.all_over())
        .await;
    // A killed bot's last move may have been lost with it: only illegal ones are forbidden here.
    let violations = server.world().violations.clone();
    assert!(
        !violations.iter().any(|v| v.contains("illegal")),
        "{violations:?}"
    );
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_task_that_panics_repeatedly_still_finishes_its_game() {
    let server = Server::start().await;
    let limited = MoveFault::Instead(429, "Too many requests. Try again later.");
    server.world().move_faults.extend(vec![limited; 4]);
    server.world().begin("g1", true, 10);
    // No instant is so far away: a limit on moves ends in a panic.
    let timing = BotTiming {
        limited_retry: Duration::MAX,
        ..BotTiming::default().faster(25)
    };
    let bot = Bot::paced(&server, &timing, |_| {});
    all_over(&server).await;
    assert!(server.world().rounds["g1"].openings > 4, "it did panic");
    let events = bot.event_bus.event_log().events(99);
    let failed = events
        .iter()
        .filter(|event| event.kind == "engine" && event.game.as_deref() == Some("g1"));
    assert!(failed.count() >= 4, "each is on record: {events:?}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_loop_that_panics_repeatedly_disturbs_no_game_and_learns_of_the_next() {
    let server = Server::start().await;
    server.world().begin("g1", true, 60);
    // No instant is so far away: an accepted challenge ends in a panic, and so does every tick.
    let timing = BotTiming {
        accepted: Duration::MAX,
        ..BotTiming::default().faster(25)
    };
    let bot = Bot::paced(&server, &timing, |_| {});
    server
        .until("the first move", |world| world.rounds["g1"].game.ply() > 1)
        .await;
    server.world().challenge("c1", "atomic");
    let event_log = bot.event_bus.event_log();
    let failures = || {
        let events = event_log.events(99);
        events
            .iter()
            .filter(|event| event.kind == "event-loop")
            .count()
    };
    server.until("it panics", |_| failures() > 0).await;
    server.world().begin("g2", false, 6);
    all_over(&server).await;
    let openings = |world: &World| {
        let of = |game: &str| world.rounds[game].openings;
        (of("g1"), of("g2"), world.event_openings)
    };
    assert_eq!(openings(&server.world()), (1, 1, 1));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_loop_that_panics_while_it_starts_over_starts_over_again() {
    let server = Server::start().await;
    let faults = Arc::new(AtomicU32::new(0));
    let planned = Arc::clone(&faults);
    // The event loop reads the clock at each event, also at the first ones after a panic.
    let clock = move || {
        let order = Ordering::SeqCst;
        let is_planned = planned.fetch_update(order, order, |left| left.checked_sub(1));
        assert!(is_planned.is_err(), "an injected fault");
        SystemTime::now()
    };
    let (store, kept) = Store::nowhere();
    let state = BotState::with_clock(store, kept, StateRules::default(), Arc::new(clock));
    let timing = BotTiming::default().faster(25);
    let bot = Bot::remembering(&server, &timing, state, |_| {});
    server.until_online().await;
    faults.store(3, Ordering::SeqCst);
    server.world().challenge("c1", "atomic");
    let accept = "/api/challenge/c1/accept".to_owned();
    server
        .until("it has looked for what it lost", |world| {
            world.calls.contains(&accept)
        })
        .await;
    let events = bot.event_bus.event_log().events(99);
    let failures = events.iter().filter(|event| event.kind == "event-loop");
    assert_eq!(failures.count(), 3, "{events:?}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_announced_repeatedly_have_one_task() {
    let server = Server::start().await;
    server.world().begin("g1", true, 40);
    let bot = Bot::paced(&server, &BotTiming::default(), |_| {});
    server
        .until("the first move", |world| world.rounds["g1"].game.ply() > 1)
        .await;
    for _ in 0..10 {
        server.world().announce("g1");
    }
    server.world().tell(&Piece::Cut);
    all_over(&server).await;
    assert_eq!(server.world().rounds["g1"].openings, 1);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_games_at_once_through_a_storm_of_faults() {
    let server = Server::start().await;
    {
        let mut world = server.world();
        for n in 0..8 {
            world.begin(&format!("g{n}"), n % 2 == 0, 30);
        }
        for n in 0..40 {
            world.move_faults.push_back(match n % 5 {
                0 => MoveFault::Missed,
                1 => MoveFault::AnswerLost,
                2 => MoveFault::Instead(503, HTML),
                3 => MoveFault::Despite(502, HTML),
                _ => MoveFault::Ignored,
            });
        }
        for round in world.rounds.values_mut() {
            round.cut_at.extend([(6, Piece::Cut), (15, Piece::End)]);
        }
    }
    let bot = Bot::start(&server);
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_boots_before_its_network_waits_for_it() {
    let server = Server::start().await;
    server.world().account_faults.extend([
        (502, HTML),
        (429, "Too many requests. Try again later."),
        (503, "down"),
    ]);
    server
        .world()
        .event_faults
        .extend([(502, HTML), (500, "oops")]);
    server.world().begin("g1", true, 8);
    let bot = Bot::start(&server);
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_server_is_out_of_order_a_starting_bot_asks_often() {
    let mut server = Server::start().await;
    // At these intervals it would not begin to play while this test runs.
    server.timing.event_backoff_max = Duration::from_secs(3600);
    server.timing.unreached_backoff_max = Duration::from_millis(10);
    server.world().account_faults.extend([(503, HTML); 24]);
    server.world().begin("g1", true, 8);
    let bot = Bot::start(&server);
    all_over(&server).await;
    bot.stop().await;
}

/// Of a proxy or a firewall: it says nothing of the token.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_that_meets_forbidding_pages_at_its_start_plays_once_they_are_gone() {
    let mut server = Server::start().await;
    server.timing.unreached_backoff_max = Duration::from_millis(10);
    server.world().account_faults.extend([(403, HTML); 12]);
    server.world().event_faults.extend([(403, HTML); 6]);
    server.world().begin("g1", true, 8);
    let bot = Bot::start(&server);
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rejected_token_ends_the_bot_at_once() {
    let server = Server::start().await;
    server
        .world()
        .account_faults
        .extend([(401, "No such token"); 2]);
    let bot = Bot::start(&server);
    let ended = tokio::time::timeout(Duration::from_secs(20), bot.task).await;
    let outcome = ended.expect("in time").expect("no panic");
    assert!(
        matches!(outcome, Err(BotError::Unauthorized(_))),
        "{outcome:?}"
    );
}

/// What the server says about a good token.
const GOOD_TOKEN: &str = r#"{"lip_test":{"userId":"megaton","scopes":"bot:play","expires":null}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_at_the_start_that_the_server_takes_back_does_not_end_the_bot() {
    for (refusal, tests) in [
        ((401, HTML), 0),
        ((401, "No such token"), 1),
        ((403, "no"), 1),
    ] {
        let server = Server::start().await;
        {
            let mut world = server.world();
            // A 401 is repeated once without the name in the user agent.
            world.account_faults.push_back(refusal);
            if refusal.0 == 401 {
                world.account_faults.push_back(refusal);
            }
            world.call_faults = vec![("token/test", 200, GOOD_TOKEN); 9];
        }
        let bot = Bot::start(&server);
        server.until_online().await;
        let calls = server.world().calls.clone();
        let tested = calls.iter().filter(|call| call.ends_with("token/test"));
        assert!(tested.count() >= tests, "{calls:?}");
        bot.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_refused_at_the_start_is_opened_again_while_the_token_is_good() {
    let server = Server::start().await;
    {
        let mut world = server.world();
        world.event_faults.extend([(401, "No such token"); 2]);
        world.event_faults.push_back((403, "Forbidden"));
        world.call_faults = vec![("token/test", 200, GOOD_TOKEN); 9];
    }
    let bot = Bot::start(&server);
    server.until_online().await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_refused_once_before_an_outage_is_opened_after_it() {
    let mut server = Server::start().await;
    // Refusals are final after 1.5 s; the outage lasts longer.
    server.timing.minute = Duration::from_millis(150);
    server.timing.event_backoff_max = Duration::from_millis(100);
    server.timing.openings = 99;
    {
        let mut world = server.world();
        world.event_faults.extend([(401, "No such token"); 2]);
        world.event_faults.extend([(502, HTML); 50]);
        world.call_faults = vec![("token/test", 503, "{}"); 99];
    }
    let bot = Bot::start(&server);
    server.until_online().await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_at_the_start_are_final_only_in_a_row() {
    for between in [(503, "deploying"), (401, HTML)] {
        let mut server = Server::start().await;
        server.timing.minute = Duration::from_millis(20);
        {
            let mut world = server.world();
            world.account_faults.extend([(401, "No such token"); 4]);
            world.account_faults.push_back(between);
            world.account_faults.push_back((401, "No such token"));
            world.call_faults = vec![("token/test", 200, GOOD_TOKEN); 9];
        }
        let bot = Bot::start(&server);
        server.until_online().await;
        bot.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_the_server_no_longer_knows_ends_the_bot_at_once() {
    let server = Server::start().await;
    {
        let mut world = server.world();
        world.account_faults.extend([(401, "No such token"); 2]);
        world.call_faults = vec![("token/test", 200, r#"{"lip_test":null}"#)];
    }
    let bot = Bot::start(&server);
    let ended = tokio::time::timeout(Duration::from_secs(20), bot.task).await;
    let outcome = ended.expect("in time").expect("no panic");
    assert!(
        matches!(outcome, Err(BotError::Unauthorized(_))),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_without_the_scope_ends_the_bot_at_once() {
    let server = Server::start().await;
    server
        .world()
        .event_faults
        .push_back((403, "Missing scope: bot:play"));
    let bot = Bot::start(&server);
    let ended = tokio::time::timeout(Duration::from_secs(20), bot.task).await;
    let outcome = ended.expect("in time").expect("no panic");
    assert!(
        matches!(outcome, Err(BotError::Forbidden(_))),
        "{outcome:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn challenges_are_answered() {
    let server = Server::start().await;
    let bot = Bot::start(&server);
    server.until_online().await;
    server.world().challenge("c1", "atomic");
    server.world().challenge("c2", "standard");
    let called = |calls: &[String], call: &str| calls.iter().any(|c| c == call);
    server
        .until("answers", |world| {
            called(&world.calls, "/api/challenge/c1/accept")
                && called(&world.calls, "/api/challenge/c2/decline")
        })
        .await;
    server.world().begin("c1", true, 6);
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn correspondence_games_are_visited_and_left_until_they_end() {
    let server = Server::start().await;
    for n in 0..3 {
        let id = format!("s{n}");
        server.world().begin(&id, n % 2 == 0, 12);
        if let Some(round) = server.world().rounds.get_mut(&id) {
            round.slow = true;
            round.asleep_at = Some(5);
        }
    }
    // A game with a clock beside them.
    server.world().begin("fast", true, 12);
    let bot = Bot::with(&server, |settings| {
        settings.correspondence.poll = Duration::from_millis(40);
        settings.correspondence.think = Duration::from_millis(5);
        settings.challenge.concurrency = 1;
    });
    let mut ear = bot.event_bus.subscribe();
    // The bot stays for opponents who reply at once; these make it leave.
    server
        .until("those who sleep are left", |world| {
            let mut slow = world.rounds.values().filter(|round| round.slow);
            slow.all(|round| round.game.ply() >= 5 && round.is_left())
        })
        .await;
    for round in server.world().rounds.values_mut() {
        if round.slow {
            round.asleep_at = None;
            round.reply(60_000);
        }
    }
    all_over(&server).await;
    let mut endings = 0;
    while endings < 4 {
        let event = tokio::time::timeout(Duration::from_secs(20), ear.recv()).await;
        if let BotEvent::Finished { ending } = event.expect("in time").expect("nothing lost") {
            assert_ne!(ending.result(), "*", "{ending:?}");
            endings += 1;
        }
    }
    bot.stop().await;
    for (id, round) in server.world().rounds.iter().filter(|(_, r)| r.slow) {
        assert!(round.openings > 1, "{id} was left and visited again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pondering_on_the_opponents_time_costs_no_game() {
    let server = Server::start().await;
    server.world().millis_left = 2_000;
    server
        .world()
        .move_faults
        .extend([MoveFault::Missed, MoveFault::AnswerLost]);
    for n in 0..3 {
        server.world().begin(&format!("g{n}"), n % 2 == 0, 16);
    }
    let bot = Bot::with(&server, |settings| {
        settings.engine.ponder = true;
        settings.engine.nodes = None;
    });
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_draining_bot_finishes_its_games_first() {
    let server = Server::start().await;
    server.world().begin("g1", true, 40);
    let bot = Bot::start(&server);
    server
        .until("some moves", |world| world.rounds["g1"].game.ply() > 4)
        .await;
    bot.stop().await;
    assert!(server.world().all_over());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_signal_leaves_at_once() {
    let server = Server::start().await;
    server.world().begin("g1", true, 10_000);
    server
        .world()
        .move_faults
        .extend(vec![MoveFault::Missed; 100_000]);
    let bot = Bot::start(&server);
    server
        .until("a move", |world| !world.posts.is_empty())
        .await;
    bot.shutdown.drain.cancel();
    bot.shutdown.now.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(20), bot.task).await;
    ended
        .expect("at once")
        .expect("no panic")
        .expect("no error");
    assert!(!server.world().all_over());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opponent_who_never_moves_makes_the_bot_abort() {
    let server = Server::start().await;
    server.world().begin("g1", false, 20);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.game.takeback(1);
    }
    let bot = Bot::with(&server, |settings| {
        settings.game.abort_humans = Duration::from_millis(100);
    });
    server
        .until("an abort", |world| world.rounds["g1"].status == "aborted")
        .await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_an_abort_that_the_server_accepts_makes_the_end_the_bots() {
    let refusal = r#"{"error":"This game can no longer be aborted"}"#;
    // An operator's resignation aborts a game that has barely begun.
    for (answer, command, no_shows) in [
        (Some(400), Command::Abort as fn(GameId) -> Command, 1),
        (Some(429), Command::Abort, 1),
        (None, Command::Abort, 0),
        (Some(400), Command::Resign, 1),
        (None, Command::Resign, 0),
    ] {
        let (server, state) = (Server::start().await, BotState::nowhere());
        let bot = bot_that_waits(&server, &state);
        let mut told = bot.event_bus.subscribe();
        server.until_online().await;
        server.world().begin_unmoved("g1");
        let is_joined = |event: &BotEvent| matches!(event, BotEvent::Joined { .. });
        heard(&mut told, is_joined).await;
        for end in ["g1/abort", "g1/resign"] {
            let fault = answer.map(|status| (end, status, refusal));
            server.world().call_faults.extend(fault);
        }
        let reply = bot.control.ask(command(GameId::new("g1")), GUARD).await;
        assert_eq!(answer.is_none(), matches!(reply, Ok(Reply::Done(_))));
        server.world().stop("g1", "aborted");
        assert_eq!(
            no_shows_at_the_end(&mut told, &state).await,
            no_shows,
            "{answer:?}"
        );
        bot.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_withdrawn_challenge_whose_game_the_server_aborts_is_no_no_show() {
    let refusal = r#"{"error":"Missing opponentToken"}"#;
    for (answer, no_shows) in [(None, 0), (Some(400), 1)] {
        let (server, state) = (Server::start().await, BotState::nowhere());
        {
            let mut world = server.world();
            // An earlier run left it open.
            world.ours = vec![json!({ "id": "g1", "destUser": { "id": "blastcap" } })];
            let fault = answer.map(|status| ("g1/cancel", status, refusal));
            world.call_faults.extend(fault);
        }
        let bot = bot_that_waits(&server, &state);
        let mut told = bot.event_bus.subscribe();
        if answer.is_some() {
            let is_joined = |event: &BotEvent| matches!(event, BotEvent::Joined { .. });
            heard(&mut told, is_joined).await;
            server.world().stop("g1", "aborted");
        }
        assert_eq!(
            no_shows_at_the_end(&mut told, &state).await,
            no_shows,
            "{answer:?}"
        );
        bot.stop().await;
    }
}

/// A bot that gives a human ten minutes for the first move.
fn bot_that_waits(server: &Server, state: &BotState) -> Bot {
    Bot::remembering(server, &patient(), state.clone(), |settings| {
        settings.game.abort_humans = Duration::from_secs(600);
    })
}

/// In how many games the opponent owed the first move, once the game is over.
async fn no_shows_at_the_end(told: &mut Receiver<BotEvent>, state: &BotState) -> u32 {
    let is_over = |event: &BotEvent| matches!(event, BotEvent::Finished { .. });
    heard(told, is_over).await;
    state.opponent(&UserId::new("blastcap")).no_shows_today
}

/// Waits for an event of the bot.
async fn heard(told: &mut Receiver<BotEvent>, wanted: impl Fn(&BotEvent) -> bool) {
    let hearing = async { while !wanted(&told.recv().await.expect("nothing lost")) {} };
    tokio::time::timeout(GUARD, hearing).await.expect("in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_receive_every_move_and_the_end() {
    let server = Server::start().await;
    let bot = Bot::start(&server);
    let mut ear = bot.event_bus.subscribe();
    server.until_online().await;
    server.world().begin("g1", true, 12);
    let mut moves = 0;
    let ending = loop {
        let event = tokio::time::timeout(Duration::from_secs(20), ear.recv()).await;
        match event.expect("in time").expect("nothing lost") {
            BotEvent::Moved { moved } => {
                assert_eq!(moved.ours, moved.ply % 2 == 0);
                moves += 1;
            }
            BotEvent::Finished { ending } => break ending,
            _ => {}
        }
    };
    assert_eq!(moves, ending.plies);
    assert_eq!(
        ending.result(),
        server.world().rounds["g1"]
            .winner
            .map_or("1/2-1/2", |w| { if w == "white" { "1-0" } else { "0-1" } })
    );
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_a_list_hangs_games_are_played_and_challenges_wait_for_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("foes");
    let disk = HangingFile::new(&file);
    let server = Server::start().await;
    server.world().begin("g1", true, 20);
    let timing = BotTiming {
        list_file: GUARD * 10,
        ..BotTiming::default().faster(25)
    };
    let bot = Bot::paced(&server, &timing, |settings| {
        let entry = in_file(&file).parse().expect("an entry");
        settings.challenge.block = vec![entry];
    });
    server
        .until("it listens", |world| world.event_openings > 0)
        .await;
    server.world().challenge_by("c1", "atomic", "foe", None);
    server.world().challenge_by("c2", "atomic", "friend", None);
    all_over(&server).await;
    let judged = |world: &World, id: &str, how: &str| {
        let call = format!("/api/challenge/{id}/{how}");
        world.calls.contains(&call)
    };
    let early = server.world().calls.clone();
    assert!(
        !early.iter().any(|path| path.starts_with("/api/challenge/")),
        "{early:?}"
    );
    disk.answer("foe\n");
    server
        .until("both are judged", |world| {
            judged(world, "c1", "decline") && judged(world, "c2", "accept")
        })
        .await;
    all_over(&server).await;
    bot.stop().await;
}
