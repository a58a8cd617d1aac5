//! Faults of calls: moves, stream openings, all others.

use std::time::Duration;

use megaton::practice::{
    BodyShape, Channel, Endpoint, Fault, FaultReply, GamePhase, Injection, OpponentBehavior,
    StreamFault,
};

use crate::harness::{Cell, SPEED, play};

/// Every answer that a server gives which does not do what it was asked, or does not say so.
fn replies() -> Vec<FaultReply> {
    let minute = u64::from(60 / SPEED);
    let refused = [
        BodyShape::Error,
        BodyShape::Fields,
        BodyShape::FieldsTwice,
        BodyShape::Text,
        BodyShape::Html,
        BodyShape::Empty,
    ];
    let limited = [
        BodyShape::Error,
        BodyShape::Limit { seconds: minute },
        BodyShape::Text,
        BodyShape::Html,
        BodyShape::Empty,
        BodyShape::HalfJson,
    ];
    let broken = [
        BodyShape::Html,
        BodyShape::Text,
        BodyShape::Empty,
        BodyShape::Error,
    ];
    let odd = [BodyShape::Html, BodyShape::Empty, BodyShape::HalfJson];
    let of = |statuses: &[u16], shapes: &[BodyShape]| -> Vec<FaultReply> {
        let pairs = statuses
            .iter()
            .flat_map(|status| shapes.iter().map(|shape| FaultReply::new(*status, *shape)));
        pairs.collect()
    };
    [
        of(&[400, 401, 403, 404], &refused),
        of(&[429], &limited),
        of(&[500, 502, 503, 504], &broken),
        of(&[200], &odd),
    ]
    .concat()
}

/// One answer of each class, and of each difference within a class that a caller may see: a web page, a wait.
/// `lichess::Error::classify` makes the classes, and its tests have every answer.
fn one_of_each() -> Vec<FaultReply> {
    let pages_and_others = [
        (401, BodyShape::Html),
        (200, BodyShape::Html),
        (200, BodyShape::Empty),
    ];
    let mut replies = crate::arenas::replies();
    replies.extend(pages_and_others.map(|(status, shape)| FaultReply::new(status, shape)));
    replies
}

/// Every fault of a call.
pub(crate) fn faults() -> Vec<Fault> {
    faults_with(&replies())
}

/// One of each kind, for calls where the shape of a refusal makes no difference.
fn few_faults() -> Vec<Fault> {
    faults_with(&one_of_each())
}

fn faults_with(replies: &[FaultReply]) -> Vec<Fault> {
    let waits = [Duration::from_millis(20), Duration::from_millis(600)];
    let mut faults = vec![
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::Swallow,
        Fault::DoneInSilence,
    ];
    faults.extend(waits.map(Fault::Late));
    faults.extend(waits.map(Fault::SlowReply));
    faults.extend(replies.iter().cloned().map(Fault::Answer));
    faults.extend(replies.iter().cloned().map(Fault::DoneThen));
    faults
}

/// The answers that refuse an opening, at every phase: a few more of them on our turn.
fn refusals() -> Vec<(GamePhase, FaultReply)> {
    let mut refusals = Vec::new();
    for phase in GamePhase::ALL {
        let replies = match phase {
            GamePhase::OurTurn => one_of_each(),
            _ => crate::arenas::replies(),
        };
        refusals.extend(replies.into_iter().map(|reply| (phase, reply)));
    }
    refusals
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_a_moves_call_costs_a_game() {
    let cells = faults().into_iter().map(|fault| {
        let injection = Injection::Call(Endpoint::Move, fault);
        // Twice: the repetition meets it too.
        let cell = Cell::new(format!("{} twice", injection.name()));
        cell.with(GamePhase::Posting, injection, 2)
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_a_first_moves_call_costs_a_game() {
    let cells = few_faults().into_iter().map(|fault| {
        let name = format!(
            "first {}",
            Injection::Call(Endpoint::Move, fault.clone()).name()
        );
        Cell::new(name).call(Endpoint::Move, fault)
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_stream_that_is_refused_at_first_is_opened_in_the_end() {
    let mut cells = Vec::new();
    for (phase, reply) in refusals() {
        let fault = Fault::Answer(reply);
        let refused = Injection::Call(Endpoint::GameStream, fault.clone());
        let lost = Injection::Stream(Channel::Game, StreamFault::Break);
        let cell = Cell::new(format!("{}, lost at {}", refused.name(), phase.name()));
        let cell = if phase == GamePhase::Ending {
            // What waits for a game is forgotten when it is over: this waits for whichever opening
            // is the second, which is the one after the loss.
            let first = Fault::SlowReply(Duration::ZERO);
            cell.call(Endpoint::GameStream, first)
                .call(Endpoint::GameStream, fault)
        } else {
            cell.with(phase, refused, 2)
        };
        cells.push(cell.with(phase, lost, 1));
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_event_stream_that_is_refused_at_first_is_opened_in_the_end() {
    let mut cells = Vec::new();
    for (phase, reply) in refusals() {
        let refused = Injection::Call(Endpoint::Events, Fault::Answer(reply));
        let lost = Injection::Stream(Channel::Events, StreamFault::Break);
        let name = format!("{} twice, lost at {}", refused.name(), phase.name());
        // Both at the same moment: the stream is opened again before the phase comes again.
        let cell = Cell::new(name).with(phase, refused.clone(), 1);
        let cell = cell.with(phase, refused, 1).with(phase, lost, 1);
        cells.push(cell.games(2).reopens());
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_among_refusals_is_still_a_start() {
    let mut cells = Vec::new();
    for place in [
        Endpoint::Account,
        Endpoint::Events,
        Endpoint::GameStream,
        Endpoint::Accept,
    ] {
        // A challenge may be gone, or not for us: an acceptance reads more than the class.
        let faults = match place {
            Endpoint::Accept => faults(),
            _ => few_faults(),
        };
        for fault in faults {
            let refuses = match &fault {
                Fault::Answer(reply) | Fault::DoneThen(reply) => reply.status,
                _ => 0,
            };
            // Who is told at the start that the token is not enough ends, and says why.
            if [401, 403].contains(&refuses)
                && [Endpoint::Account, Endpoint::Events].contains(&place)
            {
                continue;
            }
            let name = format!(
                "{} at the start",
                Injection::Call(place, fault.clone()).name()
            );
            cells.push(Cell::new(name).call(place, fault));
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failing_or_slow_chat_changes_nothing() {
    let cells = few_faults().into_iter().map(|fault| {
        let name = Injection::Call(Endpoint::Chat, fault.clone()).name();
        let mut cell = Cell::new(name).call(Endpoint::Chat, fault);
        cell.behavior = Some(OpponentBehavior::Talks);
        cell.meets = true;
        cell
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_refused_or_lost_is_made_again() {
    let cells = few_faults().into_iter().map(|fault| {
        let name = Injection::Call(Endpoint::Game, fault.clone()).name();
        let mut cell = Cell::new(format!("{name}, the opponent gone")).call(Endpoint::Game, fault);
        cell.behavior = Some(OpponentBehavior::Leaves);
        cell.meets = true;
        // Without a claim the opponent's flag falls.
        cell.ends = Some("timeout");
        cell
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_of_other_game_calls_cost_no_game() {
    let mut cells = Vec::new();
    for fault in crate::arenas::faults() {
        // Calling off, a no to a draw, a yes to a takeback.
        for behavior in [
            OpponentBehavior::NeverMoves,
            OpponentBehavior::OffersDraws,
            OpponentBehavior::AsksTakebacks,
        ] {
            let name = Injection::Call(Endpoint::Game, fault.clone()).name();
            let mut cell = Cell::new(format!("{name}, {}", behavior.name()));
            cell = cell.call(Endpoint::Game, fault.clone());
            cell.behavior = Some(behavior);
            cell.unplayed = behavior == OpponentBehavior::NeverMoves;
            // The server calls off a game without a first move too, if we do not.
            cell.meets = behavior != OpponentBehavior::NeverMoves;
            // Only people are granted takebacks, and only where no rating changes.
            cell.people = behavior == OpponentBehavior::AsksTakebacks;
            cell.casual = behavior == OpponentBehavior::AsksTakebacks;
            cells.push(cell);
        }
    }
    play(cells).await;
}
