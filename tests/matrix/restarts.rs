//! Starts with games in progress, each resumed once, and a bot killed in every phase of a game.

use std::sync::Mutex;
use std::time::Duration;

use megaton::practice::{
    Channel, Endpoint, Event, Fault, GamePhase, Injection, Schedule, ServerFault, StreamFault,
    TimeControl, Timing, Trigger,
};
use tokio_util::sync::CancellationToken;

use crate::harness::{
    BOT, SPEED, doubled, put_on, put_on_with, run_all, schedule, server, server_in, start, until,
};

const GUARD: Duration = Duration::from_secs(60);

/// So many games run when the bot is started anew; all are played, each by one player.
async fn restarts_with(games: usize) {
    // No partner gives up a game that a busy machine begins late.
    let timing = Timing {
        first_move_speed: 1,
        first_move: GUARD,
        ..Timing::fast(SPEED)
    };
    let server = server_in(timing).await;
    let token = server.open_bot(BOT).unwrap();
    let (first, _) = put_on(&server, &token);
    let mut news = server.events();
    // So long that a busy machine does not lose on time.
    let time = TimeControl::Clock {
        limit: 1800,
        increment: 2,
    };
    let games_of_its_own = Schedule {
        time,
        ..schedule(2, 1)
    };
    let scheduled = server.play(BOT, games_of_its_own, CancellationToken::new());
    let kill = async {
        let id = loop {
            if let Event::Moved { game, ply: 3, .. } = news.recv().await.unwrap() {
                break game;
            }
        };
        first.abort();
        let _ = first.await;
        server.trigger(&id, Injection::World(ServerFault::Burst { games }));
        for _ in 0..games {
            while !matches!(news.recv().await.unwrap(), Event::Started { .. }) {}
        }
        // Those above the limit are played too.
        let second = start(&server, &token, |settings| {
            settings.challenge.concurrency = 1;
        });
        let over = CancellationToken::new();
        let doubled = tokio::spawn(doubled(second.news, over.clone()));
        (second.task, second.shutdown, doubled, over)
    };
    let (report, (task, shutdown, doubled, over)) =
        tokio::time::timeout(GUARD, async { tokio::join!(scheduled, kill) })
            .await
            .expect("the games end");
    let others = Mutex::new(Vec::new());
    until("the other games end", async || {
        let mut others = others.lock().unwrap();
        others.extend(server.take_reports());
        others.len() >= games
    })
    .await;
    assert!(report.is_clean(), "{report}");
    for game in others.lock().unwrap().iter() {
        assert!(
            !game.attribution.is_ours(),
            "{}: {:?}",
            game.attribution,
            game.trace
        );
    }
    shutdown.drain.cancel();
    task.await.unwrap();
    over.cancel();
    assert_eq!(doubled.await.unwrap(), [], "games with two players");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_running_games_resumes_each_once() {
    run_all([0, 1, 12, 40], restarts_with).await;
}

/// The bot is killed at a phase of its first game, without a word, and started anew.
async fn killed_at(phase: GamePhase) {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let (first, _) = put_on_with(&server, &token, |settings| {
        // It is to be killed over it.
        settings.engine.movetime = Some(Duration::from_millis(60));
        settings.engine.nodes = None;
    });
    // What makes the phase last until the end: a line that is never read, a move that is never
    // answered. Thinking takes its time anyhow. (A move that was lost with the bot cannot be known
    // to the next one, which may well find another.)
    let injection = match phase {
        GamePhase::Posting => Injection::Call(Endpoint::Move, Fault::DoneInSilence),
        GamePhase::Thinking => Injection::Call(Endpoint::Chat, Fault::SlowReply(Duration::ZERO)),
        _ => Injection::Stream(Channel::Game, StreamFault::Silence),
    };
    let ply = if phase == GamePhase::Begin { 0 } else { 4 };
    server
        .faults()
        .trigger(Trigger::at(phase, injection).from_ply(ply));
    let scheduled = server.play(BOT, schedule(2, 1), CancellationToken::new());
    let kill = async {
        until(phase.name(), async || server.faults().faults_left() == 0).await;
        if phase == GamePhase::Thinking {
            // It is announced with the turn.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        first.abort();
        let _ = first.await;
        put_on(&server, &token)
    };
    let (report, second) = tokio::time::timeout(GUARD, async { tokio::join!(scheduled, kill) })
        .await
        .unwrap_or_else(|_| panic!("killed at {}: it hangs", phase.name()));
    assert!(report.is_clean(), "killed at {}: {report}", phase.name());
    second.1.drain.cancel();
    second.0.await.unwrap();
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bot_killed_at_any_phase_finds_its_game_again() {
    run_all(GamePhase::ALL, killed_at).await;
}
