//! People who challenge: rated and casual games against every way of behaving, and every end of an
//! acceptance's call.

use megaton::bot::BotEvent;
use megaton::practice::{Event, Fault, Mood, Place, Reply, Schedule, Shape};
use tokio_util::sync::CancellationToken;

use crate::ground::{BOT, Cell, play, schedule, server, start, until};

const MOODS: [Mood; 8] = [
    Mood::Plain,
    Mood::Leaves,
    Mood::Returns,
    Mood::OffersDraws,
    Mood::AsksTakebacks,
    Mood::GivesTime,
    Mood::Talks,
    Mood::NeverMoves,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_person_can_knock_it_over_in_games_of_either_mode() {
    let mut cells = Vec::new();
    for mood in MOODS {
        for casual in [false, true] {
            let mode = if casual { "casual" } else { "rated" };
            let mut cell = Cell::new(format!("{}, a person, {mode}", mood.name())).games(2);
            cell.mood = Some(mood);
            cell.unplayed = mood == Mood::NeverMoves;
            cell.people = true;
            cell.casual = casual;
            cells.push(cell);
        }
    }
    play(cells).await;
}

/// One challenge whose acceptance meets these faults, one after the other.
async fn accepts_through(faults: Vec<Fault>, people: bool) {
    let name = format!("{faults:?} people {people}");
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let mut bot = start(&server, &token, |_| {});
    until("it is online", async || server.is_online(BOT)).await;
    let most = faults.len() as u64 + 1;
    for fault in faults {
        server.faults().add(Place::Accept, fault);
    }
    let schedule = Schedule {
        people,
        ..schedule(1, 1)
    };
    let report = server.play(BOT, schedule, CancellationToken::new()).await;
    assert!(report.is_clean(), "{name}: {report}");
    bot.is_at_rest().await;
    let traffic = server.traffic();
    let calls = |place: Place| traffic.calls.get(place.name()).copied().unwrap_or(0);
    assert!(calls(Place::Accept) <= most, "{name}: {:?}", traffic.calls);
    assert_eq!(calls(Place::Decline), 0, "{name}: nobody is sent off");
    let (mut started, mut joined) = (0, 0);
    while let Ok(event) = news.try_recv() {
        started += usize::from(matches!(event, Event::Started { .. }));
    }
    while let Ok(event) = bot.news.try_recv() {
        joined += usize::from(matches!(event, BotEvent::Joined { .. }));
    }
    assert_eq!((started, joined), (1, 1), "{name}");
    bot.end().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acceptance_that_was_done_and_whose_answer_is_lost_is_one_game() {
    let done = [
        Fault::LoseReply,
        Fault::DoneInSilence,
        Fault::DoneBut { status: 502 },
        Fault::DoneThen(Reply::new(400, Shape::Error)),
        Fault::DoneThen(Reply::new(200, Shape::Html)),
        Fault::DoneThen(Reply::new(404, Shape::Text)),
    ];
    for fault in done {
        accepts_through(vec![fault.clone()], false).await;
        accepts_through(vec![fault], true).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acceptance_that_was_lost_before_it_was_done_is_sent_again_and_is_one_game() {
    let lost = [
        vec![Fault::LoseRequest],
        vec![Fault::LoseRequest; 3],
        vec![Fault::Answer(Reply::usual(502)); 2],
        vec![Fault::Answer(Reply::new(503, Shape::Empty))],
        vec![Fault::Answer(Reply::new(200, Shape::HalfJson))],
    ];
    for faults in lost {
        accepts_through(faults.clone(), false).await;
        accepts_through(faults, true).await;
    }
}
