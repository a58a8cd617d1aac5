//! Faults in arena games, where no game can be aborted and a late first move loses; and faults of
//! the calls that join an arena.

use std::time::Duration;

use megaton::practice::{
    Announcement, BodyShape, Channel, Endpoint, Fault, FaultReply, GamePhase, Injection,
    OpponentBehavior, ServerFault, StreamFault,
};

use crate::harness::{Cell, SPEED, play};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds) / SPEED
}

/// One of each kind of answer; in how many shapes they come is seen elsewhere.
pub(crate) fn replies() -> Vec<FaultReply> {
    let statuses = [
        (400, BodyShape::Error),
        (401, BodyShape::Error),
        (403, BodyShape::Error),
        (403, BodyShape::Html),
        (404, BodyShape::Error),
        (429, BodyShape::Error),
        (429, BodyShape::Limit { seconds: 1 }),
        (500, BodyShape::Empty),
        (502, BodyShape::Html),
        (503, BodyShape::Text),
        (200, BodyShape::HalfJson),
    ];
    statuses
        .map(|(status, shape)| FaultReply::new(status, shape))
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
        let name = format!(
            "first {}",
            Injection::Call(Endpoint::Move, fault.clone()).name()
        );
        Cell::new(name).call(Endpoint::Move, fault).in_arena()
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arena_is_joined_despite_any_fault_of_the_call() {
    let cells = faults().into_iter().filter_map(|fault| {
        // A refusal of the arena keeps the bot out of it, and one of the account out of all for an hour.
        if matches!(&fault, Fault::Answer(reply) | Fault::DoneThen(reply) if (400..=404).contains(&reply.status)) {
            return None;
        }
        let name = Injection::Call(Endpoint::Arena, fault.clone()).name();
        Some(Cell::new(name).call(Endpoint::Arena, fault).games(2).in_arena())
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_lost_or_wrong_at_the_start_costs_no_arena_game() {
    let stream_faults = [
        StreamFault::End,
        StreamFault::Break,
        StreamFault::Silence,
        StreamFault::Truncate(70),
        StreamFault::Tear(33),
        StreamFault::Chop(7),
        StreamFault::Repeat(3),
        StreamFault::Swap,
        StreamFault::Noise(4),
    ];
    let mut cells = Vec::new();
    for stream_fault in stream_faults {
        for channel in [Channel::Game, Channel::Events] {
            for phase in [GamePhase::Begin, GamePhase::TheirTurn, GamePhase::Ending] {
                let injection = Injection::Stream(channel, stream_fault.clone());
                cells.push(Cell::at(phase, injection).games(2).in_arena());
            }
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn server_wide_faults_cost_no_arena_game() {
    let havoc = [
        ServerFault::Restart {
            down: seconds(5),
            bonus: seconds(20),
        },
        ServerFault::Revoke { span: seconds(5) },
        ServerFault::Storm { challenges: 500 },
        ServerFault::ChatFlood { lines: 100 },
        ServerFault::ClockJump { by: seconds(20) },
        ServerFault::Announce(Announcement::Again),
        ServerFault::Announce(Announcement::Finished),
        ServerFault::Ghost,
        ServerFault::Burst { games: 12 },
    ];
    let mut cells = Vec::new();
    for havoc in havoc {
        for phase in [GamePhase::Begin, GamePhase::Thinking, GamePhase::Ending] {
            let injection = Injection::World(havoc.clone());
            cells.push(Cell::at(phase, injection).games(2).in_arena());
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_arena_opponent_can_break_the_bot() {
    let set_behavior = [
        OpponentBehavior::Leaves,
        OpponentBehavior::Returns,
        OpponentBehavior::OffersDraws,
        OpponentBehavior::AsksTakebacks,
        OpponentBehavior::GivesTime,
        OpponentBehavior::Talks,
        OpponentBehavior::NeverMoves,
    ];
    let cells = set_behavior.map(|behavior| {
        let mut cell = Cell::new(behavior.name()).games(2).in_arena();
        cell.behavior = Some(behavior);
        cell.unplayed = behavior == OpponentBehavior::NeverMoves;
        cell
    });
    play(cells.into()).await;
}
