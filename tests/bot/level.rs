//! Casual games against humans below full strength: which games, and with what moves.

use std::num::NonZeroU64;
use std::time::Duration;

use megaton::book::SharedBooks;
use megaton::bot::game::{GameInput, MovePlayed};
use megaton::bot::{BotEvent, Settings};
use megaton::config::CasualLevel;
use megaton::engine::{Ranked, Score, SearchResult};
use megaton::lichess::Side;

use crate::harness::{Harness, active_search, posted, result, uci};
use crate::running_bot::{Bot, all_over};
use crate::test_server::Server;

fn at(level: CasualLevel) -> Settings {
    let mut settings = Settings::default();
    settings.engine.casual_level = level;
    settings
}

fn casual(level: CasualLevel) -> Harness {
    let mut harness = Harness::with(Side::White, at(level));
    harness.casual = true;
    harness
}

#[test]
fn only_casual_games_against_humans_are_played_at_a_level() {
    for (level, is_casual, bot, nodes) in [
        (CasualLevel::Hard, true, false, Some(1500)),
        (CasualLevel::Hard, false, false, None),
        (CasualLevel::Hard, true, true, None),
        (CasualLevel::Full, true, false, None),
    ] {
        let mut harness = Harness::with(Side::White, at(level));
        harness.casual = is_casual;
        harness.bot_opponent = bot;
        let limits = active_search(&harness.open("")).expect("our turn").limits;
        assert_eq!(limits.nodes, nodes, "{level:?} {is_casual} {bot}");
        assert_eq!(limits.multipv > 1, nodes.is_some());
        assert!(limits.clock.is_some() || limits.movetime.is_some());
    }
    let mut arena = casual(CasualLevel::Hard);
    let mut full = arena.full(crate::harness::state(""));
    full.tournament = Some("Qv0dRqml".into());
    let limits = active_search(&arena.open_with(full, arena.now)).expect("our turn");
    assert_eq!(limits.limits.nodes, None);
}

#[test]
fn the_move_is_drawn_among_the_ranked_ones() {
    let mut played = Vec::new();
    for seed in 0..40 {
        let mut harness = casual(CasualLevel::Beginner);
        harness.machine.set_books(SharedBooks::default(), seed);
        let request_id = active_search(&harness.open(""))
            .expect("our turn")
            .request_id;
        let ranked = |mv, cp| Ranked {
            mv: uci(&harness.machine, mv),
            score: Score::Cp(cp),
        };
        let result = SearchResult {
            ranking: vec![
                ranked("g1f3", 40),
                ranked("b1c3", 30),
                ranked("a2a3", -5000),
            ],
            ..result("g1f3", Score::Cp(40), &harness.machine)
        };
        let actions = harness.apply(GameInput::SearchDone { request_id, result });
        played.push(posted(&actions).expect("a move").uci);
    }
    let count = |mv: &str| played.iter().filter(|played| *played == mv).count();
    assert!((10..=30).contains(&count("b1c3")), "{played:?}");
    assert!(count("a2a3") <= 4, "{played:?}");
}

/// What the bot searched for each of its moves in a game, and what it said.
async fn play(rated: bool) -> (Vec<u64>, Vec<String>) {
    let server = Server::start().await;
    let bot = Bot::with(&server, |settings| {
        settings.engine.casual_level = CasualLevel::Hard;
        settings.engine.nodes = NonZeroU64::new(20_000);
        // The game is over too soon for a second message otherwise.
        settings.chat.pause = Duration::ZERO;
    });
    let mut events = bot.event_bus.subscribe();
    server.world().begin("g1", true, 10);
    if let Some(round) = server.world().rounds.get_mut("g1") {
        round.rated = rated;
    }
    all_over(&server).await;
    let event_log = bot.event_bus.event_log().clone();
    bot.stop().await;
    let mut nodes = Vec::new();
    while let Ok(event) = events.try_recv() {
        let BotEvent::Moved { moved } = event else {
            continue;
        };
        if let MovePlayed {
            result: Some(result),
            ..
        } = &*moved
        {
            nodes.push(result.nodes);
        }
    }
    let record = event_log.game("g1").expect("the game");
    assert_eq!(
        record
            .program
            .as_deref()
            .is_some_and(|it| it.ends_with(" at level hard")),
        !rated
    );
    // A game below full strength teaches nothing.
    assert!(rated || record.played_line(None).is_none());
    let chats = server
        .world()
        .chats
        .iter()
        .map(|said| said.text.clone())
        .collect();
    (nodes, chats)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_casual_game_has_the_nodes_of_its_level_and_a_rated_one_all() {
    let says_so = |chats: &[String]| chats.iter().any(|text| text.contains("level \"hard\""));
    let (nodes, chats) = play(false).await;
    assert!(nodes.len() >= 3, "{nodes:?}");
    assert!(nodes.iter().all(|nodes| *nodes <= 3000), "{nodes:?}");
    assert!(says_so(&chats), "{chats:?}");
    let (nodes, chats) = play(true).await;
    assert!(nodes.iter().any(|nodes| *nodes > 10_000), "{nodes:?}");
    assert!(!says_so(&chats), "{chats:?}");
}
