//! Shutdown in the middle of games: they are finished, on short clocks too.

use std::time::Duration;

use megaton::lichess::{GameId, Status};
use megaton::practice::{
    Event, GameReport, Options, Schedule, ScheduleReport, Server, ServerHandle, TimeControl, Timing,
};
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

use crate::guest::Guest;
use crate::harness::{BOT, GUARD, Running, SPEED, schedule, server, start, until};

/// Drains the bot once a move is as wanted, while games continue; then it must end.
async fn drained_at(
    server: &ServerHandle,
    bot: Running,
    schedule: Schedule,
    wanted: impl Fn(&Event) -> bool,
) -> ScheduleReport {
    let mut news = server.events();
    let stop = CancellationToken::new();
    let games = server.play(BOT, schedule, stop.clone());
    let operator = async {
        loop {
            match news.recv().await {
                Ok(event) if wanted(&event) => break,
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        }
        bot.shutdown.drain.cancel();
        stop.cancel();
    };
    let (report, ()) = tokio::time::timeout(GUARD, async { tokio::join!(games, operator) })
        .await
        .expect("the games end");
    let ended = tokio::time::timeout(GUARD, bot.task).await;
    ended.expect("it ends with its games").unwrap();
    report
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_begun_at_ply_20_finishes_the_game() {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let bot = start(&server, &token, |_| {});
    let report = drained_at(&server, bot, schedule(30, 2), |event| {
        matches!(event, Event::Moved { ply: 20, .. })
    })
    .await;
    assert!(report.games.iter().all(GameReport::is_clean), "{report}");
    assert!(report.games.iter().any(|game| game.plies >= 20), "{report}");
    // Nothing is under way any more: anyone who ran was finished, not left.
    let left = server.take_reports();
    assert!(left.iter().all(GameReport::is_clean), "{left:?}");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_with_two_seconds_left_on_our_clock_loses_no_game_on_time() {
    // A game of two seconds a side; our clock's rules are those of Lichess.
    let options = Options {
        timing: Timing {
            clock_speed: 15,
            ..Timing::scaled(SPEED)
        },
        ..Options::default()
    };
    let server = Server::start(options).await.unwrap();
    let token = server.open_bot(BOT).unwrap();
    let bot = start(&server, &token, |settings| {
        settings.clock = megaton::config::Clock::default();
        (settings.engine.movetime, settings.engine.nodes) = (None, None);
        settings.shutdown.drain = Duration::from_secs(300);
    });
    let short = Schedule {
        rated: false,
        time: TimeControl::Clock {
            limit: 30,
            increment: 0,
        },
        ..schedule(60, 3)
    };
    let report = drained_at(&server, bot, short, |event| {
        matches!(event, Event::Moved { name, ply: 4.., left, .. }
                if name == BOT && *left <= 2000)
    })
    .await;
    assert!(!report.games.is_empty());
    for game in report.games.iter().chain(&server.take_reports()) {
        assert!(
            !game.attribution.is_ours(),
            "{}: {:?}",
            game.attribution,
            game.trace
        );
        assert_eq!(game.illegal, 0);
    }
    server.shutdown().await;
}

/// A game between a guest and the bot that has come to some moves.
async fn begun(server: &ServerHandle, bot: &Running, guest: &Guest) -> GameId {
    until("it is online", async || server.is_online(BOT)).await;
    let game = guest.challenges().await;
    until("the game runs", async || {
        let status = bot.status().await;
        status.games.iter().any(|it| it.id == game.as_str())
    })
    .await;
    game
}

/// Until a move of the bot makes the game so long.
async fn until_ply(news: &mut Receiver<Event>, wanted: usize) {
    loop {
        if let Event::Moved { ply, .. } = news.recv().await.unwrap()
            && ply >= wanted
        {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_the_second_signal_and_at_the_drains_limit_a_game_is_left_whole() {
    for second_signal in [true, false] {
        let server = server().await;
        let token = server.open_bot(BOT).unwrap();
        let guest = Guest::new(&server, "Guest").await;
        let mut news = server.events();
        let bot = start(&server, &token, |settings| {
            settings.shutdown.drain = if second_signal {
                Duration::from_secs(300)
            } else {
                Duration::from_millis(100)
            };
        });
        let game = begun(&server, &bot, &guest).await;
        // The guest plays to ply 4 and then lets the bot wait.
        let waiting = CancellationToken::new();
        let playing = guest.plays_and(&game, async |ply| {
            if ply >= 4 {
                waiting.cancelled().await;
            }
        });
        let operator = async {
            until_ply(&mut news, 4).await;
            bot.shutdown.drain.cancel();
            if second_signal {
                bot.shutdown.now.cancel();
            }
            let ended = tokio::time::timeout(GUARD, bot.task).await;
            ended.expect("it ends, though the game goes on").unwrap();
            // Who starts again takes the game up and plays it to its end.
            let again = start(&server, &token, |_| {});
            waiting.cancel();
            again
        };
        let (seen, again) = tokio::time::timeout(GUARD, async { tokio::join!(playing, operator) })
            .await
            .expect("the game ends");
        assert_ne!(seen.status, Some(Status::Aborted));
        assert!(seen.plies > 4);
        again.is_at_rest().await;
        for report in server.take_reports() {
            assert!(!report.attribution.is_ours(), "{report:?}");
        }
        again.end().await;
        server.shutdown().await;
    }
}
