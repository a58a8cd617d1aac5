//! Events missing from the event stream: it fails, is refused, or drops lines in a storm.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use megaton::archive::{ChallengeRecord, ChallengeVerdict};
use megaton::bot::{BotEvent, BotState, BotTiming};

use crate::captured_log::CapturedLog;
use crate::running_bot::{Bot, all_over};
use crate::test_server::{Piece, Server};
use crate::whole_bot::HTML;

/// Challenges of a storm, and how many of them the bot may accept.
const STORM: usize = 500;
const GOOD: usize = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_bot_recovers_from_every_failure_of_the_event_stream() {
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
        // The game begins while no event stream is open.
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
    // Only the cut here disconnects it.
    server.timing.event_idle = Duration::from_secs(60);
    server.timing.game_idle = Duration::from_secs(60);
    server.world().begin("g1", true, 30);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = Some(2);
    }
    // A stream that was never open does not disconnect.
    server.world().event_faults.extend(DOWN);
    server.world().stream_faults.extend(DOWN);
    let bot = Bot::start(&server);
    let mut news = bot.event_bus.subscribe();
    let event_log = bot.event_bus.event_log();
    let has_moved = || {
        let games = event_log.running();
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
    let events = event_log.events(99);
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

/// On one thread, whose log is captured.
#[tokio::test]
async fn failures_are_logged_at_first_and_with_each_reason_and_so_is_their_end() {
    let log = CapturedLog::default();
    let _capture = log.of_this_thread();
    let mut server = Server::start().await;
    // Only the cut here disconnects it, and no failure is logged again while this test runs.
    server.timing.event_idle = Duration::from_secs(60);
    server.timing.minute = Duration::from_secs(60);
    server.timing.event_backoff_max = Duration::from_millis(100);
    server.world().playing_faults = 3;
    let bot = Bot::start(&server);
    let said = |text: &str| log.lines(|line| line.contains(text)).len();
    server
        .until("the list at last", |world| {
            world.playing_faults == 0 && !world.events.is_empty()
        })
        .await;
    assert_eq!(said("cannot list the running games"), 1);
    {
        let mut world = server.world();
        world.event_faults.extend([(503, "down"); 3]);
        world.event_faults.extend([(502, HTML); 3]);
        world.tell(&Piece::Cut);
        world.events.clear();
    }
    server.until_online().await;
    server
        .until("its end is logged", |_| said("event stream open again") > 0)
        .await;
    bot.kill().await;
    assert_eq!(said("event stream lost"), 1);
    assert_eq!(said("cannot open the event stream"), 2, "two reasons");
    assert_eq!(said("event stream open again after"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recovered_server_is_found_without_spending_openings() {
    for fault in [(503, HTML), (0, "the connection breaks")] {
        let mut server = Server::start().await;
        // Only an answered small call can reopen the stream while this test runs.
        server.timing.event_backoff_max = Duration::from_secs(3600);
        {
            let mut world = server.world();
            world.playing_faults = 10;
            // The stream comes back a moment after the rest.
            world.event_faults.extend([fault; 2]);
        }
        let bot = Bot::start(&server);
        server.until_online().await;
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
async fn while_only_the_event_stream_is_down_the_bot_polls_for_its_content() {
    for fault in [
        (503, HTML),
        (429, "Too many requests. Try again later."),
        (0, "the connection breaks"),
        (1, "no answer comes"),
    ] {
        let mut server = Server::start().await;
        // It does not open while this test runs.
        server.timing.event_backoff_max = Duration::from_secs(3600);
        // An opening that hangs may not delay the polls until several have.
        server.timing.event_idle = Duration::from_secs(4);
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
    // The usual fetch of the list does not come while this test runs.
    let timing = BotTiming {
        reconcile: Duration::from_secs(3600),
        ..BotTiming::default().faster(25)
    };
    let bot = Bot::paced(&server, &timing, |_| {});
    server.until_online().await;
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

/// Five hundred challenges at once, the last twelve of them acceptable: how often each was answered.
async fn storm(refused: Option<&'static str>) -> BTreeMap<String, usize> {
    let server = Server::start().await;
    if let Some(path) = refused {
        let limited = (
            path,
            429,
            r#"{"error":"Too many requests. Try again later."}"#,
        );
        server.world().call_faults.push(limited);
    }
    let bot = Bot::with(&server, |settings| settings.challenge.concurrency = 16);
    server.until_online().await;
    server.world().in_one_piece(|world| {
        for n in 0..STORM {
            let variant = if n < STORM - GOOD {
                "standard"
            } else {
                "atomic"
            };
            world.challenge_by(&format!("c{n}"), variant, &format!("player{n}"), None);
        }
    });
    let is_answer = |call: &&String| call.ends_with("/accept") || call.ends_with("/decline");
    server
        .until("every challenge is answered", |world| {
            let answers = world.calls.iter().filter(is_answer);
            answers.collect::<BTreeSet<_>>().len() == STORM
        })
        .await;
    let log = bot.event_bus.event_log().clone();
    bot.stop().await;
    let kept = log.challenges(STORM);
    let failed = |it: &&Arc<ChallengeRecord>| it.verdict == ChallengeVerdict::Failed;
    assert_eq!(kept.iter().filter(failed).count(), 0, "{kept:?}");
    let calls = server.world().calls.clone();
    let accepts = calls
        .iter()
        .filter(|call| call.ends_with("/accept"))
        .count();
    assert_eq!(accepts, GOOD);
    let last = calls.iter().rposition(|call| call.ends_with("/accept"));
    let behind = calls.len() - last.expect("some were accepted");
    assert!(
        behind > STORM / 2,
        "accepts waited for declines: {behind} came after the last"
    );
    let mut times = BTreeMap::new();
    for call in calls.into_iter().filter(|call| is_answer(&call)) {
        *times.entry(call).or_default() += 1;
    }
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_challenge_of_a_storm_is_answered_once() {
    let times = storm(None).await;
    assert!(times.values().all(|&times| times == 1), "{times:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_429_amid_a_storm_of_challenges_leaves_none_unanswered() {
    let refused = "/api/challenge/c250/decline";
    let times = storm(Some(refused)).await;
    let twice: Vec<&String> = times
        .iter()
        .filter(|(_, times)| **times > 1)
        .map(|it| it.0)
        .collect();
    assert_eq!(twice, [refused], "only the refused call is repeated");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn challenges_withdrawn_in_a_storm_cost_no_one_a_slot() {
    let server = Server::start().await;
    // All are of one opponent.
    let bot = Bot::with(&server, |settings| settings.challenge.humans.at_once = 100);
    server.until_online().await;
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
    // A burst arrives in a few pieces; only at their edges are accepts wasted, and never enough to
    // come near the server's limit (64 in five seconds for everyone).
    let asked = server.world().calls.iter().filter(accepted).count();
    assert!(asked <= 20, "{asked} accepts");
    server.world().begin("good", true, 6);
    all_over(&server).await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_loop_does_not_overdraw_the_openings_that_the_server_counts() {
    let mut server = Server::start().await;
    server.timing.openings = 3;
    server.timing.opening_window = Duration::from_secs(3600);
    let state = BotState::nowhere();
    let start = || {
        Bot::remembering(
            &server,
            &BotTiming::default().faster(25),
            state.clone(),
            |_| {},
        )
    };
    for n in 1..=3 {
        let bot = start();
        server
            .until("online", |world| {
                world.event_openings == n && !world.events.is_empty()
            })
            .await;
        // Only an opening that the server answered is known to have been counted.
        let noted = || state.note("stream.openings").unwrap_or_default();
        server
            .until("noted", |_| noted().split_whitespace().count() == n)
            .await;
        bot.kill().await;
        server.world().events.clear();
    }
    // The fourth start polls instead, and plays.
    server.world().begin("g1", true, 6);
    let bot = start();
    all_over(&server).await;
    assert_eq!(server.world().event_openings, 3);
    bot.stop().await;
}
