//! The bot's own challenges under every fault of creating and cancelling them: it gets its game in
//! the end, makes few calls, and loses no slot.

use std::time::Duration;

use megaton::bot::{BotEvent, Command, Settings};
use megaton::practice::{BodyShape, Endpoint, Event, Fault, Injection, Partner, ServerHandle};
use tokio::sync::broadcast::Receiver;
use tokio_util::sync::CancellationToken;

use crate::crossing_challenges::{all, calls, most_at_once};
use crate::guest::Guest;
use crate::harness::{BOT, GUARD, Running, SPEED, run_waiting, schedule, server, start, until};

/// How long a challenge waits for its answer where no one gives one.
const UNANSWERED: Duration = Duration::from_millis(150);

/// It looks for games with anyone, as soon as it has none; its one slot shows who holds it.
fn looks_for_games(settings: &mut Settings) {
    settings.challenge.concurrency = 1;
    let rules = &mut settings.matchmaking;
    rules.enabled = true;
    rules.idle = Duration::ZERO;
    rules.spacing = Duration::from_secs(9) / SPEED;
    rules.timeout = Duration::from_secs(20) / SPEED;
    rules.color_pairs = false;
    rules.min_games = 0;
    // A server that does not let us ask is believed 24 times as long: that must end here too.
    rules.cooldown = Duration::from_secs(1) / SPEED;
    for profile in &mut rules.profile {
        profile.max_rating_difference = 4000;
    }
}

/// Whether the answer says that the account may not challenge: then it asks no one for an hour. A
/// page of HTML is a proxy's word. (A 401 is an alert, which is over once the token is good.)
fn forbids(fault: &Fault) -> bool {
    match fault {
        Fault::Answer(reply) => reply.status == 403 && reply.shape != BodyShape::Html,
        _ => false,
    }
}

/// Until a game is over; what happens is kept.
async fn until_a_game_is_over(what: &str, news: &mut Receiver<Event>, told: &mut Vec<Event>) {
    let ended = async {
        loop {
            let event = news.recv().await.unwrap();
            let over = matches!(event, Event::Ended { .. });
            told.push(event);
            if over {
                return;
            }
        }
    };
    let waited = tokio::time::timeout(GUARD, ended).await;
    assert!(waited.is_ok(), "{what}: no game came of it");
}

/// Someone comes and gets the only slot; afterwards it is free again.
async fn has_a_seat_left(what: &str, server: &ServerHandle, bot: &Running) {
    let next = server.play(BOT, schedule(1, 1), CancellationToken::new());
    let report = next.await;
    assert!(report.is_clean(), "{what}: {report}");
    bot.is_at_rest_after(what).await;
    for game in server.take_reports() {
        assert!(
            game.is_clean(),
            "{what}: {}: {:?}",
            game.attribution,
            game.trace
        );
    }
    let traffic = server.traffic();
    assert!(
        traffic.too_soon.is_empty(),
        "{what}: {:?}",
        traffic.too_soon
    );
}

/// One fault of a creation, with someone there who accepts at once.
async fn asks_through(fault: Fault) {
    let forbidden = forbids(&fault);
    let what = Injection::Call(Endpoint::Create, fault.clone()).name();
    let server = server().await;
    server.add_sparring_bot(Partner::Random, Duration::ZERO);
    server.faults().add(Endpoint::Create, fault);
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let mut told = Vec::new();
    let mut bot = start(&server, &token, looks_for_games);
    until(&what, async || {
        server.faults().waiting(Endpoint::Create) == 0
    })
    .await;
    if !forbidden {
        until_a_game_is_over(&what, &mut news, &mut told).await;
    }
    // It is at rest only once it looks for no game of its own.
    bot.told(Command::Matchmaking(false)).await;
    until(&what, async || {
        bot.status().await.matchmaking.doing == "off"
    })
    .await;
    bot.is_at_rest_after(&what).await;
    has_a_seat_left(&what, &server, &bot).await;
    told.extend(all(&mut news));
    let begun = told
        .iter()
        .filter(|event| matches!(event, Event::Started { .. }));
    let (begun, created) = (begun.count(), calls(&server, Endpoint::Create));
    assert_eq!(most_at_once(&told), 1, "{what}: {told:?}");
    if forbidden {
        assert_eq!((created, begun), (1, 1), "{what}");
    } else {
        // The one that met the fault, the one after it, and one more where no one could tell that
        // the first had come to a game.
        assert!((1..=3).contains(&created), "{what}: {created} creations");
        let own = begun as u64 - 1;
        assert!((1..=created).contains(&own), "{what}: {own} of {created}");
    }
    let mut joined = 0;
    while let Ok(event) = bot.news.try_recv() {
        joined += usize::from(matches!(event, BotEvent::Joined { .. }));
    }
    assert!(joined <= begun, "{what}: {joined} players");
    bot.end().await;
    server.shutdown().await;
}

/// One fault of the cancellation of a challenge that no one answers.
async fn takes_back_through(fault: Fault) {
    let what = format!(
        "{}, taking it back",
        Injection::Call(Endpoint::Decline, fault.clone()).name()
    );
    let server = server().await;
    let guest = Guest::new(&server, "Silent").await;
    server.faults().add(Endpoint::Decline, fault);
    let token = server.open_bot(BOT).unwrap();
    let mut news = server.events();
    let bot = start(&server, &token, |settings| {
        looks_for_games(settings);
        settings.matchmaking.timeout = UNANSWERED;
        // Who does not answer is not asked again here.
        settings.matchmaking.cooldown = Duration::from_secs(3600);
    });
    guest.is_challenged().await;
    until(&what, async || {
        server.faults().waiting(Endpoint::Decline) == 0
    })
    .await;
    has_a_seat_left(&what, &server, &bot).await;
    assert_eq!(most_at_once(&all(&mut news)), 1, "{what}");
    assert_eq!(calls(&server, Endpoint::Create), 1, "{what}");
    // Four tries at the most, one more when the slot is given up, and anyone who came meanwhile.
    let said = calls(&server, Endpoint::Decline);
    assert!(said <= 12, "{what}: {said} cancellations and refusals");
    bot.end().await;
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_challenge_becomes_one_game_despite_any_fault_of_its_creation() {
    run_waiting(crate::calls::faults(), asks_through).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_challenge_frees_its_slot_despite_any_fault_of_its_cancellation() {
    run_waiting(crate::arenas::faults(), takes_back_through).await;
}
