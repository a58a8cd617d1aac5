//! What can happen to a call: to a move, to the opening of a stream, to everything else.

use std::time::Duration;

use megaton::practice::{Blow, Channel, Fault, Mess, Mood, Phase, Place, Reply, Shape};

use crate::ground::{Cell, SPEED, play};

/// Every answer that a server gives which does not do what it was asked, or does not say so.
fn replies() -> Vec<Reply> {
    let minute = u64::from(60 / SPEED);
    let refused = [
        Shape::Error,
        Shape::Fields,
        Shape::FieldsTwice,
        Shape::Text,
        Shape::Html,
        Shape::Empty,
    ];
    let limited = [
        Shape::Error,
        Shape::Limit { seconds: minute },
        Shape::Text,
        Shape::Html,
        Shape::Empty,
        Shape::HalfJson,
    ];
    let broken = [Shape::Html, Shape::Text, Shape::Empty, Shape::Error];
    let odd = [Shape::Html, Shape::Empty, Shape::HalfJson];
    let of = |statuses: &[u16], shapes: &[Shape]| -> Vec<Reply> {
        let pairs = statuses
            .iter()
            .flat_map(|status| shapes.iter().map(|shape| Reply::new(*status, *shape)));
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

/// Every fault of a call.
pub(crate) fn faults() -> Vec<Fault> {
    let waits = [Duration::from_millis(20), Duration::from_millis(600)];
    let mut faults = vec![
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::Swallow,
        Fault::DoneInSilence,
    ];
    faults.extend(waits.map(Fault::Late));
    faults.extend(waits.map(Fault::SlowReply));
    faults.extend(replies().into_iter().map(Fault::Answer));
    faults.extend(replies().into_iter().map(Fault::DoneThen));
    faults
}

/// The answers that refuse an opening, at every phase: in all shapes on our turn, one of each kind
/// elsewhere.
fn refusals() -> Vec<(Phase, Reply)> {
    let mut refusals = Vec::new();
    for phase in Phase::ALL {
        let replies = match phase {
            Phase::OurTurn => replies(),
            _ => crate::arenas::replies(),
        };
        refusals.extend(replies.into_iter().map(|reply| (phase, reply)));
    }
    refusals
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_a_moves_call_costs_a_game() {
    let cells = faults().into_iter().map(|fault| {
        let blow = Blow::Call(Place::Move, fault);
        // Twice: the repetition meets it too.
        let cell = Cell::new(format!("{} twice", blow.name()));
        cell.with(Phase::Posting, blow, 2)
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_of_a_first_moves_call_costs_a_game() {
    let cells = faults().into_iter().map(|fault| {
        let name = format!("first {}", Blow::Call(Place::Move, fault.clone()).name());
        Cell::new(name).call(Place::Move, fault)
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_stream_that_is_refused_at_first_is_opened_in_the_end() {
    let mut cells = Vec::new();
    for (phase, reply) in refusals() {
        let fault = Fault::Answer(reply);
        let refused = Blow::Call(Place::GameStream, fault.clone());
        let lost = Blow::Stream(Channel::Game, Mess::Break);
        let cell = Cell::new(format!("{}, lost at {}", refused.name(), phase.name()));
        let cell = if phase == Phase::Ending {
            // What waits for a game is forgotten when it is over: this waits for whichever opening
            // is the second, which is the one after the loss.
            let first = Fault::SlowReply(Duration::ZERO);
            cell.call(Place::GameStream, first)
                .call(Place::GameStream, fault)
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
        let refused = Blow::Call(Place::Events, Fault::Answer(reply));
        let lost = Blow::Stream(Channel::Events, Mess::Break);
        let name = format!("{} twice, lost at {}", refused.name(), phase.name());
        // Both at the same moment: the stream is opened again before the phase comes again.
        let cell = Cell::new(name).with(phase, refused.clone(), 1);
        let cell = cell.with(phase, refused, 1).with(phase, lost, 1);
        cells.push(cell.games(2).reopens());
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_among_refusals_is_a_start_all_the_same() {
    let mut cells = Vec::new();
    for place in [
        Place::Account,
        Place::Events,
        Place::GameStream,
        Place::Accept,
    ] {
        for fault in faults() {
            let refuses = match &fault {
                Fault::Answer(reply) | Fault::DoneThen(reply) => reply.status,
                _ => 0,
            };
            // Who is told at the start that the token is not enough ends, and says why.
            if [401, 403].contains(&refuses) && [Place::Account, Place::Events].contains(&place) {
                continue;
            }
            let name = format!("{} at the start", Blow::Call(place, fault.clone()).name());
            cells.push(Cell::new(name).call(place, fault));
        }
    }
    play(cells).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chat_that_fails_or_takes_its_time_changes_nothing() {
    let cells = faults().into_iter().map(|fault| {
        let name = Blow::Call(Place::Chat, fault.clone()).name();
        let mut cell = Cell::new(name).call(Place::Chat, fault);
        cell.mood = Some(Mood::Talks);
        cell
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_refused_or_lost_is_made_again() {
    let cells = faults().into_iter().map(|fault| {
        let name = Blow::Call(Place::Game, fault.clone()).name();
        let mut cell = Cell::new(format!("{name}, the opponent gone")).call(Place::Game, fault);
        cell.mood = Some(Mood::Leaves);
        cell
    });
    play(cells.collect()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_else_is_asked_in_a_game_meets_faults_and_costs_none() {
    let mut cells = Vec::new();
    for fault in crate::arenas::faults() {
        // Calling off, a no to a draw, a yes to a takeback.
        for mood in [Mood::NeverMoves, Mood::OffersDraws, Mood::AsksTakebacks] {
            let name = Blow::Call(Place::Game, fault.clone()).name();
            let mut cell = Cell::new(format!("{name}, {}", mood.name()));
            cell = cell.call(Place::Game, fault.clone());
            cell.mood = Some(mood);
            cell.unplayed = mood == Mood::NeverMoves;
            // The server calls off a game without a first move too, if we do not.
            cell.meets = mood != Mood::NeverMoves;
            // Only people are granted takebacks, and only where no rating changes.
            cell.people = mood == Mood::AsksTakebacks;
            cell.casual = mood == Mood::AsksTakebacks;
            cells.push(cell);
        }
    }
    play(cells).await;
}
