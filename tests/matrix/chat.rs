//! Chat end to end: greetings, commands, floods and lost messages, in both rooms.

use std::time::Duration;

use megaton::bot::Settings;
use megaton::lichess::{ChatLine, GameId, Room};
use megaton::practice::{Endpoint, Fault, FaultReply, ServerHandle};

use crate::guest::Guest;
use crate::harness::{BOT, SPEED, run_all, server, start, until};

/// Questions in a flood.
const FLOOD: usize = 40;

fn talkative(settings: &mut Settings) {
    settings.chat.bots = true;
    settings.chat.greeting = "Hello {opponent}, ask !help".into();
    settings.chat.goodbye = "Bye {opponent}".into();
    settings.chat.spectator_greeting = "Hello everybody".into();
}

/// A game with a guest who does something once in the middle of it. What was said in the players'
/// room as the server has it, and what the guest heard.
async fn talks(
    server: &ServerHandle,
    fact: impl AsyncFn(&Guest, &GameId),
) -> (Vec<String>, Vec<ChatLine>) {
    let token = server.open_bot(BOT).unwrap();
    let guest = Guest::new(server, "Guest").await;
    let bot = start(server, &token, talkative);
    until("it is online", async || server.is_online(BOT)).await;
    let game = guest.challenges().await;
    let seen = guest
        .plays_and(&game, async |ply| {
            if ply == 3 {
                fact(&guest, &game).await;
            }
        })
        .await;
    bot.is_at_rest().await;
    bot.end().await;
    for report in server.take_reports() {
        assert!(!report.attribution.is_ours(), "{report:?}");
    }
    (lines(&guest, &game).await, seen.said)
}

/// What the bot said in the players' room so far.
async fn lines(guest: &Guest, game: &GameId) -> Vec<String> {
    let said = guest.client.fetch_chat(game).await.unwrap_or_default();
    let ours = said.into_iter().filter(|line| line.username.contains(BOT));
    ours.map(|line| line.text).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_is_greeted_once_through_lost_streams_and_answered_in_its_room() {
    let server = server().await;
    let (said, heard) = talks(&server, async |guest, game| {
        server.break_streams();
        // What is said while the bot has no stream it cannot hear.
        until("an answer", async || {
            let ask = async |room, text| guest.client.chat(game, room, text).await;
            let _ = ask(Room::Spectator, "!name").await;
            let _ = ask(Room::Player, "!eval").await;
            tokio::time::sleep(Duration::from_secs(10) / SPEED).await;
            let said = lines(guest, game).await;
            said.iter().any(|text| text.contains("my opinion"))
        })
        .await;
    })
    .await;
    let greetings = said.iter().filter(|text| text.starts_with("Hello Guest"));
    assert_eq!(greetings.count(), 1, "{said:?}");
    let partings = said.iter().filter(|text| text.starts_with("Bye Guest"));
    assert_eq!(partings.count(), 1, "{said:?}");
    assert!(!said.iter().any(|text| text.contains("depth")), "{said:?}");
    let strayed = |line: &ChatLine| line.room == Room::Player && line.text.contains("everybody");
    assert!(!heard.iter().any(strayed), "{heard:?}");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_questions_gets_a_few_answers_and_every_move_in_time() {
    let server = server().await;
    let (said, _) = talks(&server, async |guest, game| {
        for _ in 0..FLOOD {
            // Its own program may have had enough of it.
            let _ = guest.client.chat(game, Room::Player, "!help").await;
        }
    })
    .await;
    assert!(said.len() <= FLOOD / 4, "{said:?}");
    let answers = said.iter().filter(|text| text.starts_with("I answer"));
    assert!(answers.count() >= 1, "{said:?}");
    server.shutdown().await;
}

/// The first line of the bot is said, and the bot is not told so.
async fn is_silent_after(fault: Fault) {
    let server = server().await;
    server.faults().add(Endpoint::Chat, fault.clone());
    let (said, _) = talks(&server, async |_, _| {}).await;
    // The guest, who reads what was said, has not met the fault instead.
    let greeted = said.iter().any(|text| text.starts_with("Hello Guest"));
    assert!(greeted, "{fault:?}: {said:?}");
    assert_eq!(server.faults().waiting(Endpoint::Chat), 0, "{fault:?}");
    let mut once = said.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), said.len(), "{fault:?}: {said:?}");
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_chat_is_not_repeated() {
    let faults = [
        Fault::LoseReply,
        Fault::DoneInSilence,
        Fault::DoneThen(FaultReply::usual(502)),
        Fault::DoneThen(FaultReply::usual(429)),
    ];
    run_all(faults, is_silent_after).await;
}
