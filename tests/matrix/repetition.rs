//! The third repetition end to end: a state that still says "started", the server's claim right
//! after it, and a server that never claims.

use std::time::Duration;

use megaton::bot::BotEvent;
use megaton::lichess::{GameId, OfferDraw, Status};
use megaton::practice::{Endpoint, Event, Options, Server, ServerHandle, Timing};

use crate::guest::Guest;
use crate::harness::{BOT, SPEED, client, start};

/// Back and forth; with the last of them the first position stands for the third time.
const SHUFFLE: [&str; 8] = [
    "g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1", "f6g8",
];

/// A game, one move before the third repetition, which the guest is to make.
async fn on_the_brink(server: &ServerHandle, token: &str, guest: &Guest) -> GameId {
    // Someone else speaks for the bot's account until then.
    let stand_in = client(server, token);
    let game = guest.challenges().await;
    guest
        .brings(&game, &stand_in, &SHUFFLE[..7].join(" "))
        .await;
    game
}

/// The guest repeats for the third time; the server claims so much later.
async fn repeats(claim_after: Duration) -> (usize, Status) {
    let options = Options {
        timing: Timing {
            threefold_claim: claim_after,
            ..Timing::fast(SPEED)
        },
        ..Options::default()
    };
    let server = Server::start(options).await.unwrap();
    let token = server.open_bot(BOT).unwrap();
    let guest = Guest::new(&server, "Guest").await;
    let game = on_the_brink(&server, &token, &guest).await;
    let mut news = server.events();
    let mut bot = start(&server, &token, |_| {});
    bot.tells(|event| matches!(event, BotEvent::Joined { ply: 7, .. }).then_some(()))
        .await;
    let other = &guest.client;
    other
        .make_move(&game, SHUFFLE[7], OfferDraw::No)
        .await
        .unwrap();
    // A bot that may play on gets an answer, and the game comes to another end.
    let seen = guest.plays(&game).await;
    bot.is_at_rest().await;
    let mut moves = 0;
    while let Ok(event) = news.try_recv() {
        moves += usize::from(matches!(event, Event::Moved { name, .. } if name == BOT));
    }
    let calls = server.traffic().calls;
    // The four of the stand-in are among them.
    let sent = calls.get(Endpoint::Move.name()).copied().unwrap_or(0);
    assert!(sent as usize <= seen.plies + 3, "{sent} calls: {calls:?}");
    for report in server.take_reports() {
        assert!(!report.attribution.is_ours(), "{report:?}");
        assert_eq!((report.illegal, report.out_of_turn), (0, 0), "{report:?}");
    }
    bot.end().await;
    server.shutdown().await;
    (moves, seen.status.unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_third_repetition_that_the_server_claims_gets_no_answer_of_ours() {
    // At once, as Lichess does, and a little later, after the doubled state.
    for after in [Duration::ZERO, Duration::from_millis(10)] {
        assert_eq!(repeats(after).await, (0, Status::Draw), "{after:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_third_repetition_that_no_one_claims_is_played_on_in_time() {
    let (moves, status) = repeats(Duration::from_secs(3600)).await;
    assert!(moves >= 1, "it plays on");
    assert_ne!(status, Status::OutOfTime);
}
