//! Faults of open streams, in every phase.

use std::time::Duration;

use megaton::practice::{
    Channel, Endpoint, Event, Fault, GamePhase, Injection, ServerFault, StreamFault,
};
use tokio_util::sync::CancellationToken;

use crate::guest::Guest;
use crate::harness::{BOT, Cell, play, schedule, server, start, until};

/// Everything that can go wrong on a stream, one of each kind.
fn stream_faults() -> Vec<StreamFault> {
    vec![
        StreamFault::End,
        StreamFault::Break,
        StreamFault::Silence,
        StreamFault::Truncate(70),
        StreamFault::Tear(33),
        StreamFault::Chop(7),
        StreamFault::Merge(3),
        StreamFault::Repeat(3),
        StreamFault::Swap,
        StreamFault::Noise(4),
        StreamFault::Overlong,
        StreamFault::say("<html><body>502 Bad Gateway</body></html>"),
    ]
}

/// More of the same kinds.
fn other_sizes_and_texts() -> Vec<StreamFault> {
    vec![
        StreamFault::Truncate(0),
        StreamFault::Truncate(1),
        StreamFault::Truncate(10_000),
        StreamFault::Chop(1),
        StreamFault::say("{\"error\":\"Too many requests. Try again later.\"}"),
        StreamFault::say("{\"type\":\"tomorrow\",\"news\":[1,null]}"),
        StreamFault::say("null"),
        StreamFault::Say(b"\xff\xfe{\"type\":\"gameState\"}\n".to_vec()),
    ]
}

fn cells(channel: Channel, games: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for phase in GamePhase::ALL {
        let mut stream_faults = stream_faults();
        // The reader of lines knows no phases: there are those of the first line and of a later one.
        if [GamePhase::Begin, GamePhase::OurTurn].contains(&phase) {
            stream_faults.extend(other_sizes_and_texts());
        }
        for stream_fault in stream_faults {
            let injection = Injection::Stream(channel, stream_fault);
            cells.push(Cell::at(phase, injection).games(games));
        }
    }
    cells
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_a_game_stream_costs_a_game() {
    play(cells(Channel::Game, 1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_the_event_stream_leaves_the_bot_deaf() {
    play(cells(Channel::Events, 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_in_the_wrong_order_do_not_confuse_the_bot() {
    let mut cells = Vec::new();
    // Two events one right after the other: two games that begin, and a challenge that is heard of
    // after it was taken back.
    for havoc in [ServerFault::Burst { games: 2 }, ServerFault::Ghost] {
        for phase in GamePhase::ALL {
            let swap = Injection::Stream(Channel::Events, StreamFault::Swap);
            let events = Injection::World(havoc.clone());
            let name = format!("{} swapped at {}", events.name(), phase.name());
            let cell = Cell::new(name).with(phase, swap, 1);
            cells.push(cell.with(phase, events, 1).games(2));
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn missing_lines_are_noticed_in_time() {
    let skips = [1, 2].map(|lines| {
        let skip = Injection::Stream(Channel::Game, StreamFault::Skip(lines));
        [GamePhase::OurTurn, GamePhase::TheirTurn].map(|phase| Cell::at(phase, skip.clone()))
    });
    play(skips.into_iter().flatten().collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unannounced_end_of_a_game_does_no_harm() {
    let skip = Injection::Stream(Channel::Events, StreamFault::Skip(1));
    let cells = GamePhase::ALL.map(|phase| Cell::at(phase, skip.clone()).games(2));
    play(cells.into()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_whose_start_is_never_announced_is_found_and_played() {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let bot = start(&server, &token, |_| {});
    until("it is online", async || server.is_online(BOT)).await;
    let mut news = server.events();
    // Between the challenge and the game there is time to lose what comes.
    let late = Fault::Late(Duration::from_millis(100));
    server.faults().add(Endpoint::Accept, late);
    let deaf = async {
        loop {
            if let Event::Challenged { game, .. } = news.recv().await.unwrap() {
                let skip = Injection::Stream(Channel::Events, StreamFault::Skip(1));
                return server.trigger(&game, skip);
            }
        }
    };
    let game = server.play(BOT, schedule(1, 1), CancellationToken::new());
    let (report, ()) = tokio::join!(game, deaf);
    assert!(report.is_clean(), "{report}");
    bot.is_at_rest().await;
    bot.end().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_that_is_never_announced_is_found_at_the_next_opening() {
    let server = server().await;
    let guest = Guest::new(&server, "Guest").await;
    let token = server.open_bot(BOT).unwrap();
    let bot = start(&server, &token, |_| {});
    until("it is online", async || server.is_online(BOT)).await;
    // All event streams lose a line; it is of no game yet.
    let skip = Injection::Stream(Channel::Events, StreamFault::Skip(1));
    server.trigger("", skip);
    let game = guest.challenges().await;
    server.break_streams();
    until("the game runs", async || {
        let status = bot.status().await;
        status.games.iter().any(|it| it.id == game.as_str())
    })
    .await;
    guest.plays(&game).await;
    bot.is_at_rest().await;
    for report in server.take_reports() {
        assert!(!report.attribution.is_ours(), "{report:?}");
    }
    bot.end().await;
    server.shutdown().await;
}
