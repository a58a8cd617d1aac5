//! Starts in the middle of everything: games that ran before the bot did, each taken up once.

use std::time::Duration;

use megaton::practice::{Blow, Event, Havoc};
use tokio_util::sync::CancellationToken;

use crate::ground::{BOT, put_on, put_on_with, schedule, server};

const GUARD: Duration = Duration::from_secs(60);

/// So many games run when the bot is started anew; all are played, each by one player.
async fn restarts_with(games: usize) {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let (first, _) = put_on(&server, &token);
    let mut news = server.events();
    let scheduled = server.play(BOT, schedule(2, 1), CancellationToken::new());
    let kill = async {
        let id = loop {
            if let Event::Moved { game, ply: 3, .. } = news.recv().await.unwrap() {
                break game;
            }
        };
        first.abort();
        let _ = first.await;
        server.strike(&id, Blow::World(Havoc::Burst { games }));
        for _ in 0..games {
            while !matches!(news.recv().await.unwrap(), Event::Started { .. }) {}
        }
        put_on(&server, &token)
    };
    let (report, second) = tokio::time::timeout(GUARD, async { tokio::join!(scheduled, kill) })
        .await
        .expect("the games end");
    let mut others = Vec::new();
    let all = async {
        while others.len() < games {
            others.extend(server.take_reports());
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(GUARD, all).await.expect("all end");
    assert!(report.is_clean(), "{report}");
    for game in &others {
        assert!(!game.blame.is_ours(), "{}: {:?}", game.blame, game.story);
    }
    second.1.drain.cancel();
    second.0.await.unwrap();
    // One opening for each game, one for that which ran before, and what a busy machine loses.
    let openings = server.traffic().calls["game-stream"] as usize;
    assert!(openings <= games + 3 + games / 4, "{openings} openings");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_with_running_games_takes_up_each_of_them_once() {
    for games in [0, 1, 12, 40] {
        restarts_with(games).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn games_above_the_limit_are_played_all_the_same() {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let (task, shutdown) = put_on_with(&server, &token, |settings| {
        settings.challenge.concurrency = 1;
    });
    let mut news = server.events();
    let scheduled = server.play(BOT, schedule(1, 1), CancellationToken::new());
    let burst = async {
        loop {
            if let Event::Moved { game, ply: 2, .. } = news.recv().await.unwrap() {
                server.strike(&game, Blow::World(Havoc::Burst { games: 5 }));
                break;
            }
        }
    };
    let (report, ()) = tokio::time::timeout(GUARD, async { tokio::join!(scheduled, burst) })
        .await
        .expect("it ends");
    assert!(report.is_clean(), "{report}");
    shutdown.drain.cancel();
    tokio::time::timeout(GUARD, task)
        .await
        .expect("all end")
        .unwrap();
    let others = server.take_reports();
    assert_eq!(others.len(), 5);
    assert!(
        others.iter().all(|game| !game.blame.is_ours()),
        "{others:?}"
    );
    server.shutdown().await;
}
