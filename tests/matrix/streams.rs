//! What can happen to an open stream, in every phase.

use megaton::practice::{Blow, Channel, Havoc, Mess, Phase};

use crate::ground::{Cell, play};

/// Everything that can go wrong on a stream.
fn messes() -> Vec<Mess> {
    vec![
        Mess::End,
        Mess::Break,
        Mess::Silence,
        Mess::Truncate(0),
        Mess::Truncate(1),
        Mess::Truncate(70),
        Mess::Truncate(10_000),
        Mess::Tear(33),
        Mess::Chop(1),
        Mess::Chop(7),
        Mess::Merge(3),
        Mess::Repeat(3),
        Mess::Swap,
        Mess::Noise(4),
        Mess::Overlong,
        Mess::say("<html><body>502 Bad Gateway</body></html>"),
        Mess::say("{\"error\":\"Too many requests. Try again later.\"}"),
        Mess::say("{\"type\":\"tomorrow\",\"news\":[1,null]}"),
        Mess::say("null"),
        Mess::Say(b"\xff\xfe{\"type\":\"gameState\"}\n".to_vec()),
    ]
}

fn cells(channel: Channel, games: usize) -> Vec<Cell> {
    let mut cells = Vec::new();
    for mess in messes() {
        for phase in Phase::ALL {
            let blow = Blow::Stream(channel, mess.clone());
            cells.push(Cell::at(phase, blow).games(games));
        }
    }
    cells
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_mess_on_a_game_stream_costs_a_game() {
    play(cells(Channel::Game, 1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_mess_on_the_event_stream_leaves_anybody_deaf() {
    play(cells(Channel::Events, 2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_come_in_the_wrong_order_confuse_nobody() {
    let mut cells = Vec::new();
    // Two events one right after the other: two games that begin, and a challenge that is heard of
    // after it was taken back.
    for havoc in [Havoc::Burst { games: 2 }, Havoc::Ghost] {
        for phase in Phase::ALL {
            let swap = Blow::Stream(Channel::Events, Mess::Swap);
            let events = Blow::World(havoc.clone());
            let name = format!("{} swapped at {}", events.name(), phase.name());
            let cell = Cell::new(name).with(phase, swap, 1);
            cells.push(cell.with(phase, events, 1).games(2));
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lines_that_are_missing_are_missed_in_time() {
    let skips = [1, 2].map(|lines| {
        let skip = Blow::Stream(Channel::Game, Mess::Skip(lines));
        [Phase::OurTurn, Phase::TheirTurn].map(|phase| Cell::at(phase, skip.clone()))
    });
    play(skips.into_iter().flatten().collect()).await;
}
