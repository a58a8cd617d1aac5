//! Events that cross with the bot's own challenge: it is accepted while being withdrawn, and
//! another challenge arrives while it holds the last slot.

use std::time::Duration;

use megaton::bot::{BotEvent, ChallengeSpec, Command, Settings};
use megaton::config::ColorWish;
use megaton::lichess::Status;
use megaton::practice::{BodyShape, Endpoint, Event, Fault, FaultReply, Schedule, ServerHandle};
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

use crate::guest::Guest;
use crate::harness::{BOT, Running, SPEED, run_all, schedule, server, start, until};

/// One slot, and a challenge of ours that is taken back soon, or not by itself.
fn one_seat(settings: &mut Settings, timeout: Duration) {
    settings.challenge.concurrency = 1;
    settings.matchmaking.timeout = timeout;
    settings.matchmaking.min_games = 0;
}

/// The bot challenges the guest.
async fn challenge(bot: &Running, guest: &str) {
    bot.told(Command::Challenge(ChallengeSpec {
        user: guest.to_owned(),
        // Of two visitors the server judges the one with White.
        color: Some(ColorWish::White),
        ..ChallengeSpec::default()
    }))
    .await;
}

pub(crate) fn calls(server: &ServerHandle, place: Endpoint) -> u64 {
    let traffic = server.traffic();
    traffic.calls.get(place.name()).copied().unwrap_or(0)
}

/// What happened so far, in the order of the server.
pub(crate) fn all(news: &mut Receiver<Event>) -> Vec<Event> {
    std::iter::from_fn(|| news.try_recv().ok()).collect()
}

/// The most games under way at once.
pub(crate) fn most_at_once(events: &[Event]) -> usize {
    let (mut now, mut most) = (0_usize, 0);
    for event in events {
        match event {
            Event::Started { .. } => now += 1,
            Event::Ended { .. } => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

/// How a challenge becomes a game while we take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossing {
    /// The guest accepts once our cancellation has come in, whatever became of it.
    Accepted,
    /// The server begins the game after it has cancelled the challenge.
    Begun,
}

/// Whether the game must be played: calling it off is all right only while the cancellation itself,
/// sent again, meets a game that has hardly begun.
async fn crosses(fault: Option<Fault>, crossing: Crossing, must_be_played: bool) {
    let name = format!("{fault:?} {crossing:?}");
    let server = server().await;
    let guest = Guest::new(&server, "Guest").await;
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let mut bot = start(&server, &token, |settings| {
        one_seat(settings, Duration::from_millis(150));
    });
    until("it is online", async || server.is_online(BOT)).await;
    if let Some(fault) = fault {
        server.faults().add(Endpoint::Decline, fault);
    }
    challenge(&bot, "Guest").await;
    let id = guest.is_challenged().await;
    until("it is taken back", async || {
        calls(&server, Endpoint::Decline) > 0
    })
    .await;
    let game = id.as_game();
    match crossing {
        Crossing::Accepted => {
            let accepted = guest.client.accept(&id).await;
            assert!(accepted.is_ok() || !must_be_played, "{name}: {accepted:?}");
        }
        Crossing::Begun => {
            let gone = || server.faults().waiting(Endpoint::Decline) == 0;
            until("the fault has struck", async || gone()).await;
            server.begin_cancelled(id.as_str());
        }
    }
    let seen = guest.plays(&game).await;
    assert!(
        !must_be_played || seen.status != Some(Status::Aborted),
        "{name}: called off"
    );
    bot.is_at_rest().await;
    let reports = server.take_reports();
    for report in &reports {
        let called_off = !must_be_played && seen.status == Some(Status::Aborted);
        assert!(
            !report.attribution.is_ours() || called_off,
            "{name}: {report:?}"
        );
    }
    assert_eq!(calls(&server, Endpoint::Create), 1, "{name}: asked once");
    assert!(calls(&server, Endpoint::Decline) <= 5, "{name}");
    let mut joined = 0;
    while let Ok(event) = bot.news.try_recv() {
        joined += usize::from(matches!(event, BotEvent::Joined { .. }));
    }
    assert!(joined <= 1, "{name}: {joined} players");
    // The one slot is free: the next to come gets it.
    let next = server.play(BOT, schedule(1, 1), CancellationToken::new());
    let report = next.await;
    assert!(report.is_clean(), "{name}: {report}");
    assert_eq!(most_at_once(&all(&mut news)), 1, "{name}");
    bot.end().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_challenge_accepted_after_its_withdrawal_is_played() {
    let answer = |status| Fault::Answer(FaultReply::usual(status));
    let cases = [
        // The cancellation says no, or that there is nothing: we go by it, and play what begins.
        (Some(answer(404)), Crossing::Accepted),
        (Some(answer(400)), Crossing::Accepted),
        // It was done, and the game begins all the same.
        (None, Crossing::Begun),
    ];
    run_all(cases, async |(fault, crossing)| {
        crosses(fault, crossing, true).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_challenge_whose_cancellation_was_lost_is_played_or_aborted() {
    let late = Fault::Late(Duration::from_millis(60));
    let cases = [
        (Fault::LoseRequest, Crossing::Accepted),
        (Fault::Swallow, Crossing::Accepted),
        (late, Crossing::Accepted),
        (Fault::LoseReply, Crossing::Begun),
        (Fault::DoneBut { status: 502 }, Crossing::Begun),
        (
            Fault::DoneThen(FaultReply::new(200, BodyShape::HalfJson)),
            Crossing::Begun,
        ),
    ];
    run_all(cases, async |(fault, crossing)| {
        crosses(Some(fault), crossing, false).await;
    })
    .await;
}

/// A person comes while our challenge holds the only slot; `accepts` says that the challenged
/// accepts at the very moment at which we take it back.
async fn displaced(fault: Option<Fault>, accepts: bool) {
    let name = format!("{fault:?} {accepts}");
    let server = server().await;
    let guest = Guest::new(&server, "Guest").await;
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let bot = start(&server, &token, |settings| {
        one_seat(settings, Duration::from_secs(60));
    });
    until("it is online", async || server.is_online(BOT)).await;
    challenge(&bot, "Guest").await;
    let id = guest.is_challenged().await;
    if let Some(fault) = fault {
        server.faults().add(Endpoint::Decline, fault);
    }
    let people = Schedule {
        people: true,
        ..schedule(1, 1)
    };
    let person = server.play(BOT, people, CancellationToken::new());
    let other = async {
        until("ours is taken back", async || {
            calls(&server, Endpoint::Decline) > 0
        })
        .await;
        if accepts && guest.client.accept(&id).await.is_ok() {
            guest.plays(&id.as_game()).await;
        }
    };
    let (report, ()) = tokio::join!(person, other);
    assert!(report.is_clean(), "{name}: {report}");
    bot.is_at_rest().await;
    let events = all(&mut news);
    let place = |wanted: &dyn Fn(&Event) -> bool| events.iter().position(wanted);
    let ours_gone = place(&|event| match event {
        Event::Canceled { game } | Event::Ended { game, .. } => game == id.as_str(),
        _ => false,
    });
    let begun = place(&|event| matches!(event, Event::Started { game, .. } if game != id.as_str()));
    assert!(ours_gone.unwrap() < begun.unwrap(), "{name}: {events:?}");
    assert_eq!(most_at_once(&events), 1, "{name}: {events:?}");
    let started = events
        .iter()
        .filter(|event| matches!(event, Event::Started { game, .. } if game != id.as_str()));
    assert_eq!(started.count(), 1, "{name}");
    assert_eq!(
        calls(&server, Endpoint::Accept),
        1 + u64::from(accepts),
        "{name}"
    );
    bot.end().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_incoming_challenge_gets_the_slot_of_our_challenge_once_the_server_has_cancelled_it() {
    let faults = [
        None,
        Some(Fault::Late(Duration::from_secs(3) / SPEED)),
        Some(Fault::LoseRequest),
        Some(Fault::LoseReply),
        Some(Fault::Answer(FaultReply::usual(502))),
    ];
    run_all(faults, async |fault| displaced(fault, false).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_challenge_that_comes_while_ours_is_accepted_waits_for_the_slot() {
    let late = Fault::Late(Duration::from_secs(3) / SPEED);
    let faults = [late, Fault::Answer(FaultReply::usual(400))];
    run_all(faults, async |fault| displaced(Some(fault), true).await).await;
}
