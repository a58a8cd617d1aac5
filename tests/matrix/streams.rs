//! What can happen to an open stream, in every phase.

use megaton::practice::{Blow, Channel, Mess, Phase};

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
async fn lines_that_are_missing_are_missed_in_time() {
    let skips = [1, 2].map(|lines| {
        let skip = Blow::Stream(Channel::Game, Mess::Skip(lines));
        [Phase::OurTurn, Phase::TheirTurn].map(|phase| Cell::at(phase, skip.clone()))
    });
    play(skips.into_iter().flatten().collect()).await;
}
