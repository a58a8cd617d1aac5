//! Chat and policies of the whole bot: when it sends which message, what a failing chat costs, and
//! the call of each request.

use std::time::Duration;

use megaton::bot::{BotState, BotTiming, Settings};
use megaton::lichess::{GameId, UserId};
use serde_json::json;

use crate::running_bot::{Bot, all_over};
use crate::test_server::{Said, Server};

fn fast() -> BotTiming {
    BotTiming::default().faster(25)
}

/// Greetings in both rooms, without a pause between messages.
fn talkative(settings: &mut Settings) {
    settings.chat.greeting = "Hello {opponent}".into();
    settings.chat.spectator_greeting = "Hello everybody".into();
    settings.chat.goodbye = "Bye {opponent}".into();
    settings.chat.spectator_goodbye = "Bye everybody".into();
    settings.chat.pause = Duration::ZERO;
}

fn texts(chats: &[Said]) -> Vec<(&str, &str)> {
    chats
        .iter()
        .map(|said| (said.room.as_str(), said.text.as_str()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn greetings_follow_the_first_move_and_goodbyes_the_end() {
    for white in [true, false] {
        let server = Server::start().await;
        server.world().begin("g1", white, 14);
        let bot = Bot::with(&server, talkative);
        all_over(&server).await;
        bot.stop().await;
        let world = server.world();
        assert_eq!(
            texts(&world.chats),
            [
                ("player", "Hello blastcap"),
                ("spectator", "Hello everybody"),
                ("player", "Bye blastcap"),
                ("spectator", "Bye everybody"),
            ]
        );
        assert!(world.chats.iter().all(|said| said.posts_before >= 1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restarted_bot_greets_no_one_twice() {
    let server = Server::start().await;
    server.world().begin("g1", true, 30);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = Some(5);
    }
    let state = BotState::nowhere();
    let bot = Bot::remembering(&server, &fast(), state.clone(), talkative);
    server
        .until("the greeting, and the opponent's sleep", |world| {
            world.chats.len() == 2 && world.rounds["g1"].game.ply() == 5
        })
        .await;
    bot.kill().await;
    let bot = Bot::remembering(&server, &fast(), state.clone(), talkative);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = None;
        round.reply(60_000);
    }
    all_over(&server).await;
    bot.stop().await;
    let texts: Vec<_> = server
        .world()
        .chats
        .iter()
        .map(|said| said.text.clone())
        .collect();
    let greetings = texts.iter().filter(|text| text.starts_with("Hello"));
    assert_eq!(greetings.count(), 2, "{texts:?}");
    assert!(state.game(&GameId::new("g1")).parted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_that_fails_or_hangs_costs_no_move_and_is_not_repeated() {
    for fault in [
        (400, "text: Maximum length is 140"),
        (429, "Too many requests. Try again later."),
        (503, "<html>down</html>"),
        (0, "never answered"),
    ] {
        let server = Server::start().await;
        server.world().chat_faults.extend([fault; 4]);
        server.world().begin("g1", true, 24);
        let bot = Bot::paced(&server, &BotTiming::default(), talkative);
        all_over(&server).await;
        bot.stop().await;
        let world = server.world();
        let moves = world.rounds["g1"].game.ply().div_ceil(2);
        assert_eq!(world.posts.len(), moves, "{fault:?}");
        let mut said: Vec<_> = world.chats.iter().map(|said| &said.text).collect();
        said.sort_unstable();
        said.dedup();
        assert_eq!(said.len(), world.chats.len(), "nothing is said again");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_are_answered_in_their_room_and_a_flood_is_not() {
    let server = Server::start().await;
    server.world().begin("g1", true, 30);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = Some(7);
    }
    let bot = Bot::with(&server, |settings| {
        talkative(settings);
        settings.book.enabled = false;
        settings.chat.greeting = String::new();
        settings.chat.spectator_greeting = String::new();
    });
    server
        .until("a few moves", |world| world.rounds["g1"].game.ply() == 7)
        .await;
    {
        let mut world = server.world();
        world.speak("g1", "player", "lichess", "!help");
        world.speak("g1", "player", "Megaton", "!help");
        world.speak("g1", "player", "blastcap", "nice move");
        world.speak("g1", "player", "blastcap", "!eval");
        world.speak("g1", "spectator", "somebody", "!EVAL");
        world.speak("g1", "spectator", "somebody", "\u{1b}[31m!clock");
        for _ in 0..300 {
            world.speak("g1", "player", "blastcap", "!ping");
        }
    }
    server
        .until("answers", |world| {
            world.chats.iter().any(|said| said.text == "Pong!")
        })
        .await;
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = None;
        round.reply(60_000);
    }
    all_over(&server).await;
    bot.stop().await;
    let world = server.world();
    let in_room = |room: &str| -> Vec<&str> {
        let said = world.chats.iter().filter(|said| said.room == room);
        said.map(|said| said.text.as_str()).collect()
    };
    let spectator = in_room("spectator");
    assert!(spectator[0].contains("for White at depth"), "{spectator:?}");
    assert_eq!(spectator.len(), 2, "and goodbye: {spectator:?}");
    let player = in_room("player");
    assert!(
        player.iter().all(|text| !text.contains("depth")),
        "{player:?}"
    );
    assert!(player.len() <= 5, "{player:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_opponent_gets_more_time_and_everyone_hears_of_the_queue() {
    let server = Server::start().await;
    server.world().begin("g1", true, 20);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = Some(0);
    }
    let bot = Bot::with(&server, |settings| {
        talkative(settings);
        settings.chat.greeting = String::new();
        settings.chat.spectator_greeting = String::new();
        settings.game.abort_humans = Duration::from_secs(600);
    });
    server
        .until("our move", |world| world.rounds["g1"].game.ply() == 1)
        .await;
    for (room, name, text) in [
        ("spectator", "somebody", "!wait"),
        ("player", "blastcap", "!wait"),
        ("player", "blastcap", "!wait"),
        ("spectator", "somebody", "!queue"),
    ] {
        let answers = server.world().chats.len();
        server.world().speak("g1", room, name, text);
        server
            .until("an answer", |world| world.chats.len() > answers)
            .await;
    }
    assert_eq!(
        texts(&server.world().chats),
        [
            ("spectator", "I have a slot free: challenge me."),
            ("player", "I wait 10:00 longer for your first move."),
            ("player", "I have a slot free: challenge me."),
            (
                "spectator",
                "1 of my 8 slots are taken, no challenge waits."
            ),
        ]
    );
    bot.shutdown.now.cancel();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn offers_and_absences_become_the_right_calls() {
    let server = Server::start().await;
    server.world().begin("g1", true, 30);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.asleep_at = Some(3);
    }
    let bot = Bot::with(&server, |_| {});
    server
        .until("their turn", |world| world.rounds["g1"].game.ply() == 3)
        .await;
    let offer = |key: &str| {
        let mut line = server.world().rounds["g1"].state(60_000);
        line[key] = true.into();
        server.world().tell_game("g1", &line);
    };
    offer("bdraw");
    offer("btakeback");
    let gone = json!({ "type": "opponentGone", "gone": true, "claimWinInSeconds": 0 });
    server.world().tell_game("g1", &gone);
    let calls = ["draw/no", "takeback/yes", "claim-victory"];
    server
        .until("the calls", |world| {
            let called = |call: &&str| {
                let path = format!("/api/bot/game/g1/{call}");
                world.calls.contains(&path)
            };
            calls.iter().all(called)
        })
        .await;
    assert!(server.world().violations.is_empty());
    bot.shutdown.now.cancel();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_opponent_who_repeatedly_does_not_move_goes_on_cooldown() {
    let server = Server::start().await;
    let state = BotState::nowhere();
    let bot = Bot::remembering(&server, &fast(), state.clone(), |settings| {
        settings.game.abort_humans = Duration::from_millis(50);
        settings.game.abort_repeats = 2;
    });
    server.until_online().await;
    for id in ["g1", "g2"] {
        server.world().begin(id, true, 20);
        if let Some(round) = server.world().rounds.get_mut(id) {
            round.asleep_at = Some(0);
        }
        server
            .until("an abort", |world| world.rounds[id].status == "aborted")
            .await;
    }
    server
        .until("the rest", |_| state.resting("no-show blastcap").is_some())
        .await;
    server.world().challenge("c1", "atomic");
    server
        .until("a refusal", |world| {
            world.calls.iter().any(|call| call.ends_with("c1/decline"))
        })
        .await;
    bot.stop().await;
    let opponent = UserId::new("blastcap");
    assert_eq!(state.opponent(&opponent).no_shows_today, 2);
    let goodbye = |said: &Said| said.text.contains("Good game");
    assert!(
        !server.world().chats.iter().any(goodbye),
        "nothing to say good-bye to"
    );
}
