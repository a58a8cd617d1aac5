//! Human challengers: rated and casual games, every opponent behaviour, every fault of accepting
//! and declining, and a crowd at once.

use std::collections::HashSet;

use megaton::bot::BotEvent;
use megaton::lichess::Variant;
use megaton::practice::{
    BodyShape, Endpoint, Event, Fault, FaultReply, GamePhase, Injection, OpponentBehavior,
    Schedule, ServerFault, Trigger,
};
use tokio_util::sync::CancellationToken;

use crate::crossing_challenges::{all, calls, most_at_once};
use crate::guest::Guest;
use crate::harness::{BOT, Cell, GUARD, client, play, run_all, schedule, server, start, until};

const MOODS: [OpponentBehavior; 8] = [
    OpponentBehavior::Plain,
    OpponentBehavior::Leaves,
    OpponentBehavior::Returns,
    OpponentBehavior::OffersDraws,
    OpponentBehavior::AsksTakebacks,
    OpponentBehavior::GivesTime,
    OpponentBehavior::Talks,
    OpponentBehavior::NeverMoves,
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_human_can_break_the_bot_in_rated_or_casual_games() {
    let mut cells = Vec::new();
    for behavior in MOODS {
        for casual in [false, true] {
            let mode = if casual { "casual" } else { "rated" };
            let mut cell = Cell::new(format!("{}, a person, {mode}", behavior.name())).games(2);
            cell.behavior = Some(behavior);
            cell.unplayed = behavior == OpponentBehavior::NeverMoves;
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
        server.faults().add(Endpoint::Accept, fault);
    }
    let schedule = Schedule {
        people,
        ..schedule(1, 1)
    };
    let report = server.play(BOT, schedule, CancellationToken::new()).await;
    assert!(report.is_clean(), "{name}: {report}");
    bot.is_at_rest().await;
    let traffic = server.traffic();
    let calls = |place: Endpoint| traffic.calls.get(place.name()).copied().unwrap_or(0);
    assert!(
        calls(Endpoint::Accept) <= most,
        "{name}: {:?}",
        traffic.calls
    );
    assert_eq!(calls(Endpoint::Decline), 0, "{name}: nobody is sent off");
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

/// Each row of faults, once with a bot and once with a person.
async fn accept_through_all(rows: &[Vec<Fault>]) {
    let cases = [false, true].map(|people| rows.iter().map(move |faults| (faults, people)));
    run_all(cases.into_iter().flatten(), async |(faults, people)| {
        accepts_through(faults.clone(), people).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acceptance_that_was_done_and_whose_answer_is_lost_is_one_game() {
    let done = [
        Fault::LoseReply,
        Fault::DoneInSilence,
        Fault::DoneBut { status: 502 },
        Fault::DoneThen(FaultReply::new(400, BodyShape::Error)),
        Fault::DoneThen(FaultReply::new(200, BodyShape::Html)),
        Fault::DoneThen(FaultReply::new(404, BodyShape::Text)),
    ];
    accept_through_all(&done.map(|fault| vec![fault])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acceptance_that_was_lost_before_it_was_done_is_sent_again_and_is_one_game() {
    let lost = [
        vec![Fault::LoseRequest],
        vec![Fault::LoseRequest; 3],
        vec![Fault::Answer(FaultReply::usual(502)); 2],
        vec![Fault::Answer(FaultReply::new(503, BodyShape::Empty))],
        vec![Fault::Answer(FaultReply::new(200, BodyShape::HalfJson))],
    ];
    accept_through_all(&lost).await;
}

/// A challenge that does not fit is declined, and the refusal meets a fault; anyone who comes next is
/// taken as ever.
async fn declines_through(fault: Fault) {
    let what = Injection::Call(Endpoint::Decline, fault.clone()).name();
    // Where the server itself has said no, the challenge may be left to lapse.
    let heard = match &fault {
        Fault::Answer(reply) => reply.status >= 500,
        _ => true,
    };
    let server = server().await;
    let guest = Guest::new(&server, "Guest").await;
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let bot = start(&server, &token, |_| {});
    until(&what, async || server.is_online(BOT)).await;
    server.faults().add(Endpoint::Decline, fault);
    let unfit = guest.challenges_to(Variant::Standard).await;
    until(&what, async || {
        server.faults().waiting(Endpoint::Decline) == 0
    })
    .await;
    if heard {
        let declined =
            async { while !matches!(news.recv().await.unwrap(), Event::Declined { .. }) {} };
        let waited = tokio::time::timeout(GUARD, declined).await;
        assert!(waited.is_ok(), "{what}: never declined");
    }
    let next = server.play(BOT, schedule(1, 1), CancellationToken::new());
    let report = next.await;
    assert!(report.is_clean(), "{what}: {report}");
    bot.is_at_rest_after(&what).await;
    // Who asks while an alert lasts is declined too, once each time.
    let told = all(&mut news);
    let others = told
        .iter()
        .filter(|event| matches!(event, Event::Declined { game, .. } if game != unfit.as_str()));
    let said = calls(&server, Endpoint::Decline) - others.count() as u64;
    assert!((1..=6).contains(&said), "{what}: {said} refusals");
    let too_soon = server.traffic().too_soon;
    assert!(too_soon.is_empty(), "{what}: {too_soon:?}");
    bot.end().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decline_that_meets_a_fault_is_sent_and_costs_no_one_a_game() {
    run_all(crate::arenas::faults(), declines_through).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_of_five_hundred_challenges_gets_one_answer_or_lapses() {
    let server = server().await;
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let bot = start(&server, &token, |settings| {
        settings.challenge.concurrency = 4;
    });
    let storm = Injection::World(ServerFault::NoShows { challenges: 500 });
    let trigger = Trigger::at(GamePhase::OurTurn, storm).from_ply(4);
    server.faults().trigger(trigger);
    let games = server.play(BOT, schedule(2, 1), CancellationToken::new());
    let report = games.await;
    assert!(report.is_clean(), "{report}");
    bot.is_at_rest().await;
    let asking = client(&server, &token);
    until("nobody waits any more", async || {
        let waiting = asking.challenges().await;
        waiting.is_ok_and(|waiting| waiting.incoming.is_empty())
    })
    .await;
    let told = all(&mut news);
    let asked = told.iter().filter_map(|event| match event {
        Event::Challenged { game, by, .. } if by.starts_with("NoShow") => Some(game),
        _ => None,
    });
    let asked: HashSet<&String> = asked.collect();
    assert_eq!(asked.len(), 500);
    let mut answered = HashSet::new();
    for event in &told {
        if let Event::Started { game, .. } | Event::Declined { game, .. } = event {
            assert!(answered.insert(game), "{game}: answered twice");
        }
    }
    assert!(!asked.is_disjoint(&answered), "nobody was answered");
    assert!(most_at_once(&told) <= 4, "more games than slots");
    for report in server.take_reports() {
        assert!(!report.attribution.is_ours(), "{report:?}");
    }
    let too_soon = server.traffic().too_soon;
    assert!(too_soon.is_empty(), "{too_soon:?}");
    bot.end().await;
    server.shutdown().await;
}
