//! Faults in the games of an arena, where no game can be aborted and a first move that does not
//! come in time loses it; and faults of the calls that lead into one.

use std::time::Duration;

use megaton::practice::{
    Announcement, Blow, Channel, Fault, Havoc, Mess, Mood, Phase, Place, Reply, Shape,
};

use crate::ground::{Cell, SPEED, play};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds) / SPEED
}

/// One of each kind of answer; in how many shapes they come is seen elsewhere.
pub(crate) fn replies() -> Vec<Reply> {
    let statuses = [
        (400, Shape::Error),
        (401, Shape::Error),
        (403, Shape::Html),
        (404, Shape::Error),
        (429, Shape::Error),
        (429, Shape::Limit { seconds: 1 }),
        (500, Shape::Empty),
        (502, Shape::Html),
        (503, Shape::Text),
        (200, Shape::HalfJson),
    ];
    statuses
        .map(|(status, shape)| Reply::new(status, shape))
        .into()
}

/// One of each kind of fault that a call can meet.
pub(crate) fn faults() -> Vec<Fault> {
    let mut faults = vec![
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::Swallow,
        Fault::DoneInSilence,
        Fault::Late(Duration::from_millis(600)),
        Fault::SlowReply(Duration::from_millis(600)),
    ];
    faults.extend(replies().into_iter().map(Fault::Answer));
    faults.extend(replies().into_iter().map(Fault::DoneThen));
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_a_first_moves_call_costs_an_arena_game() {
    let cells = faults().into_iter().map(|fault| {
        let name = format!("first {}", Blow::Call(Place::Move, fault.clone()).name());
        Cell::new(name).call(Place::Move, fault).in_arena()
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arena_is_entered_in_the_end_whatever_its_join_meets() {
    let cells = faults().into_iter().filter_map(|fault| {
        // What the server says of the account keeps it out for an hour, and is meant to.
        if matches!(&fault, Fault::Answer(reply) | Fault::DoneThen(reply) if [401, 403, 404].contains(&reply.status)) {
            return None;
        }
        let name = Blow::Call(Place::Arena, fault.clone()).name();
        Some(Cell::new(name).call(Place::Arena, fault).games(2).in_arena())
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_is_lost_or_lies_at_the_start_costs_no_arena_game() {
    let messes = [
        Mess::End,
        Mess::Break,
        Mess::Silence,
        Mess::Truncate(70),
        Mess::Tear(33),
        Mess::Chop(7),
        Mess::Repeat(3),
        Mess::Swap,
        Mess::Noise(4),
    ];
    let mut cells = Vec::new();
    for mess in messes {
        for channel in [Channel::Game, Channel::Events] {
            for phase in [Phase::Begin, Phase::TheirTurn, Phase::Ending] {
                let blow = Blow::Stream(channel, mess.clone());
                cells.push(Cell::at(phase, blow).games(2).in_arena());
            }
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_befalls_the_whole_server_costs_no_arena_game() {
    let havoc = [
        Havoc::Restart {
            down: seconds(5),
            bonus: seconds(20),
        },
        Havoc::Revoke { span: seconds(5) },
        Havoc::Storm { challenges: 500 },
        Havoc::ChatFlood { lines: 100 },
        Havoc::ClockJump { by: seconds(20) },
        Havoc::Announce(Announcement::Again),
        Havoc::Announce(Announcement::Finished),
        Havoc::Ghost,
        Havoc::Burst { games: 12 },
    ];
    let mut cells = Vec::new();
    for havoc in havoc {
        for phase in [Phase::Begin, Phase::Thinking, Phase::Ending] {
            let blow = Blow::World(havoc.clone());
            cells.push(Cell::at(phase, blow).games(2).in_arena());
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_opponent_in_an_arena_can_knock_it_over() {
    let moods = [
        Mood::Leaves,
        Mood::Returns,
        Mood::OffersDraws,
        Mood::AsksTakebacks,
        Mood::GivesTime,
        Mood::Talks,
        Mood::NeverMoves,
    ];
    let cells = moods.map(|mood| {
        let mut cell = Cell::new(mood.name()).games(2).in_arena();
        cell.mood = Some(mood);
        cell.unplayed = mood == Mood::NeverMoves;
        cell
    });
    play(cells.into()).await;
}
