//! The whole bot on the small server: games played to their end through every fault.

use std::time::Duration;

use megaton::bot::{BotError, BotEvent, Pace, SearchLimits};

use crate::running::{Bot, all_over};
use crate::server::{MoveFault, Piece, Server};

/// A page as proxies write them.
const HTML: &str = "<html><body>502 Bad Gateway</body></html>";

/// One game of some twenty plies under these faults.
async fn plays_through(faults: &[MoveFault]) -> Server {
    plays_at(&Pace::default().faster(25), faults).await
}

async fn plays_at(pace: &Pace, faults: &[MoveFault]) -> Server {
    let server = Server::start().await;
    server.world().move_faults.extend(faults.iter().cloned());
    server.world().begin("g1", true, 20);
    let bot = Bot::paced(&server, pace, |_| {});
    all_over(&server).await;
    assert!(server.world().move_faults.is_empty(), "every fault was met");
    bot.stop().await;
    server
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_is_played_to_its_end_with_one_call_a_move() {
    // At the real pace: on a busy machine a faster one would look twice at a slow answer.
    let server = plays_at(&Pace::default(), &[]).await;
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
async fn failing_servers_and_pages_of_html_cost_nothing() {
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
async fn a_yes_that_did_nothing_is_found_out() {
    plays_through(&[MoveFault::Ignored, MoveFault::Ignored]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_are_looked_into_before_another_move_is_tried() {
    plays_through(&[
        MoveFault::Instead(400, "Piece on e2 cannot move to e5"),
        MoveFault::Despite(400, "Not your turn, or game already over"),
        MoveFault::Instead(400, "Not your turn, or game already over"),
    ])
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_fails_in_any_way_loses_no_game() {
    let server = Server::start().await;
    server.world().begin("g1", false, 30);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        // Before our move is shown, and between it and the answer.
        round.cut_at.extend([
            (2, Piece::Cut),
            (4, Piece::End),
            (7, Piece::Garbage),
            (9, Piece::Silence),
            (12, Piece::Cut),
        ]);
    }
    let bot = Bot::start(&server);
    all_over(&server).await;
    assert!(server.world().rounds["g1"].openings > 5);
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
async fn a_killed_bot_takes_its_games_up_again() {
    let server = Server::start().await;
    server.world().begin("g1", true, 60);
    server.world().begin("g2", false, 60);
    for n in 1..=3 {
        let bot = Bot::start(&server);
        let enough =
            |round: &crate::round::Round| round.status != "started" || round.game.ply() >= n * 4;
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
async fn a_player_that_panics_again_and_again_still_finishes_its_game() {
    let server = Server::start().await;
    let limited = MoveFault::Instead(429, "Too many requests. Try again later.");
    server.world().move_faults.extend(vec![limited; 4]);
    server.world().begin("g1", true, 10);
    // No moment is so far away: a limit on moves ends in a panic.
    let pace = Pace {
        limited_retry: Duration::MAX,
        ..Pace::default().faster(25)
    };
    let bot = Bot::paced(&server, &pace, |_| {});
    all_over(&server).await;
    assert!(server.world().rounds["g1"].openings > 4, "it did panic");
    let events = bot.listeners.chronicle().events(99);
    let failed = events
        .iter()
        .filter(|event| event.kind == "engine" && event.game.as_deref() == Some("g1"));
    assert!(failed.count() >= 4, "each is on record: {events:?}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_announced_again_and_again_have_one_player() {
    let server = Server::start().await;
    server.world().begin("g1", true, 40);
    let bot = Bot::paced(&server, &Pace::default(), |_| {});
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
async fn an_event_stream_that_fails_in_any_way_leaves_nobody_deaf() {
    let server = Server::start().await;
    let bot = Bot::start(&server);
    let faults = [Piece::Cut, Piece::End, Piece::Garbage, Piece::Silence];
    for (n, fault) in faults.iter().enumerate() {
        let openings = n + 1;
        server
            .until("online", |world| {
                world.event_openings == openings && !world.events.is_empty()
            })
            .await;
        // The game begins while nobody can hear of it.
        server.world().tell(fault);
        server.world().begin(&format!("g{n}"), true, 6);
        all_over(&server).await;
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_is_one_event_however_often_a_stream_does_not_open_again() {
    const DOWN: [(u16, &str); 3] = [(502, HTML), (500, "oops"), (503, "down")];
    let mut server = Server::start().await;
    // Nothing is lost but what is cut here.
    server.timing.event_idle = Duration::from_secs(60);
    server.timing.game_idle = Duration::from_secs(60);
    server.world().begin("g1", true, 30);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = Some(2);
    }
    // What was never open is not lost.
    server.world().event_faults.extend(DOWN);
    server.world().stream_faults.extend(DOWN);
    let bot = Bot::start(&server);
    let mut news = bot.listeners.subscribe();
    let chronicle = bot.listeners.chronicle();
    let has_moved = || {
        let games = chronicle.running();
        games.iter().any(|live| live.record.moves.len() == 3)
    };
    server
        .until("both streams", |world| {
            has_moved() && !world.events.is_empty()
        })
        .await;
    let opened = {
        let mut world = server.world();
        world.event_faults.extend(DOWN);
        world.stream_faults.extend(DOWN);
        world.tell(&Piece::Cut);
        world.events.clear();
        let round = world.rounds.get_mut("g1").expect("it runs");
        round.tell(&Piece::Cut);
        round.openings
    };
    server
        .until("both again", |world| {
            !world.events.is_empty() && world.rounds["g1"].openings > opened
        })
        .await;
    let events = chronicle.events(99);
    for kind in ["offline", "stream"] {
        let lost = events.iter().filter(|event| event.kind == kind);
        assert_eq!(lost.count(), 1, "{kind}: {events:?}");
    }
    let mut told = 0;
    while let Ok(event) = news.try_recv() {
        told += usize::from(matches!(event, BotEvent::StreamLost { .. }));
    }
    assert_eq!(told, 1, "and counted once");
    bot.kill().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_well_again_is_found_without_spending_openings() {
    for fault in [(503, HTML), (0, "the connection breaks")] {
        let mut server = Server::start().await;
        // Only a small call that is answered can open the stream again while this test runs.
        server.timing.event_backoff_max = Duration::from_secs(3600);
        {
            let mut world = server.world();
            world.playing_faults = 10;
            // The stream comes back a moment after the rest.
            world.event_faults.extend([fault; 2]);
        }
        let bot = Bot::start(&server);
        server
            .until("online", |world| !world.events.is_empty())
            .await;
        server.world().begin("late", true, 6);
        all_over(&server).await;
        let looks = server.world().looks.clone();
        let looks = looks.iter().filter(|path| **path != "/api/account");
        let looks: Vec<_> = looks
            .map(|path| path.rsplit('/').next().unwrap_or_default())
            .collect();
        let mut expected = vec!["event"];
        expected.extend(["playing"; 11]);
        expected.extend(["event", "playing", "event"]);
        assert_eq!(
            looks[..expected.len()],
            expected,
            "small calls between the openings: {fault:?}"
        );
        bot.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_event_stream_would_tell_is_asked_for_while_it_alone_is_away() {
    for fault in [
        (503, HTML),
        (429, "Too many requests. Try again later."),
        (0, "the connection breaks"),
    ] {
        let mut server = Server::start().await;
        // It does not open while this test runs.
        server.timing.event_backoff_max = Duration::from_secs(3600);
        server.world().event_faults.extend([fault; 40]);
        server.world().begin("g0", true, 6);
        let bot = Bot::start(&server);
        all_over(&server).await;
        server.world().challenge("c1", "atomic");
        server
            .until("the challenge is accepted", |world| {
                world.calls.iter().any(|call| call.ends_with("c1/accept"))
            })
            .await;
        server.world().begin("c1", false, 6);
        all_over(&server).await;
        {
            let world = server.world();
            assert!(world.events.is_empty(), "it never opened: {fault:?}");
            assert!(world.event_openings <= 20, "{}", world.event_openings);
        }
        bot.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_whose_start_was_dropped_from_a_burst_is_found_soon() {
    let server = Server::start().await;
    // The usual look at the list does not come while this test runs.
    let pace = Pace {
        reconcile: Duration::from_secs(3600),
        ..Pace::default().faster(25)
    };
    let bot = Bot::paced(&server, &pace, |_| {});
    server
        .until("online", |world| !world.events.is_empty())
        .await;
    {
        let mut world = server.world();
        let streams = std::mem::take(&mut world.events);
        world.begin("lost", true, 6);
        world.events = streams;
        world.in_one_piece(|world| {
            for n in 0..60 {
                world.challenge(&format!("c{n}"), "standard");
            }
        });
    }
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_challenges_is_answered_without_a_storm_of_ours() {
    let server = Server::start().await;
    let bot = Bot::start(&server);
    server
        .until("online", |world| !world.events.is_empty())
        .await;
    for n in 0..500 {
        server.world().challenge(&format!("c{n}"), "standard");
    }
    server.world().challenge("good", "atomic");
    let accepted = |calls: &[String]| calls.iter().any(|call| call.ends_with("good/accept"));
    server
        .until("the good one", |world| accepted(&world.calls))
        .await;
    server.world().begin("good", true, 6);
    all_over(&server).await;
    bot.stop().await;
    let declines = |call: &&String| call.ends_with("/decline");
    assert!(server.world().calls.iter().filter(declines).count() <= 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn challenges_taken_back_in_a_storm_keep_nobody_from_a_seat() {
    let server = Server::start().await;
    let bot = Bot::start(&server);
    server
        .until("online", |world| !world.events.is_empty())
        .await;
    server.world().in_one_piece(|world| {
        for n in 0..500 {
            let id = format!("c{n}");
            world.challenge(&id, "atomic");
            world.take_back(&id);
        }
        world.challenge("good", "atomic");
    });
    let accepted = |call: &&String| call.ends_with("/accept");
    server
        .until("the good one", |world| {
            world.calls.iter().any(|call| call.ends_with("good/accept"))
        })
        .await;
    // A burst arrives in a few pieces; only at their edges is something asked for in vain, and never
    // so much that the server's limit (64 in five seconds for everybody) comes near.
    let asked = server.world().calls.iter().filter(accepted).count();
    assert!(asked <= 20, "{asked} acceptances");
    server.world().begin("good", true, 6);
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_is_not_accepted_ends_it_at_once() {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_without_the_scope_ends_it_at_once() {
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
    server
        .until("online", |world| !world.events.is_empty())
        .await;
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
async fn games_of_days_a_move_are_visited_and_left_until_they_end() {
    let server = Server::start().await;
    for n in 0..3 {
        let id = format!("s{n}");
        server.world().begin(&id, n % 2 == 0, 12);
        if let Some(round) = server.world().rounds.get_mut(&id) {
            round.slow = true;
        }
    }
    // A game with a clock beside them.
    server.world().begin("fast", true, 12);
    let bot = Bot::with(&server, |settings| {
        settings.correspondence.poll = Duration::from_millis(40);
        settings.correspondence.think = Duration::from_millis(5);
        settings.challenge.concurrency = 1;
    });
    let mut ear = bot.listeners.subscribe();
    all_over(&server).await;
    let mut endings = 0;
    while endings < 4 {
        let heard = tokio::time::timeout(Duration::from_secs(20), ear.recv()).await;
        if let BotEvent::Finished { ending } = heard.expect("in time").expect("nothing lost") {
            assert_ne!(ending.result(), "*", "{ending:?}");
            endings += 1;
        }
    }
    bot.stop().await;
    // An opponent who replies at once is answered at once, while we are there.
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
        settings.ponder = true;
        settings.search = SearchLimits::default();
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
async fn an_opponent_who_never_moves_is_aborted_by_us() {
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
async fn those_who_listen_hear_every_move_and_the_end() {
    let server = Server::start().await;
    let bot = Bot::start(&server);
    let mut ear = bot.listeners.subscribe();
    server
        .until("online", |world| !world.events.is_empty())
        .await;
    server.world().begin("g1", true, 12);
    let mut moves = 0;
    let ending = loop {
        let heard = tokio::time::timeout(Duration::from_secs(20), ear.recv()).await;
        match heard.expect("in time").expect("nothing lost") {
            BotEvent::Moved { moved, .. } => {
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
