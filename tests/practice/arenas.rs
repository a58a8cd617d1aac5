//! Arenas as a bare client meets them: listed, joined, paired, begun too late, left, over.

use std::time::Duration;

use megaton::practice::{AccountKind, ArenaPlan, Event, Partner, ServerHandle};
use serde_json::{Value, json};

use crate::client::{Bot, HANG, http, server, two_bots};

const HERE: [(&str, &str); 1] = [("pairMeAsap", "true")];

fn open(server: &ServerHandle, plan: ArenaPlan) -> String {
    server.open_arena(plan).unwrap()
}

async fn join(bot: &Bot, arena: &str, form: &[(&str, &str)]) -> (u16, String) {
    let path = format!("/api/tournament/{arena}/join");
    let answer = bot.post_form(&path, form).await;
    (answer.status, answer.error())
}

async fn withdraw(bot: &Bot, arena: &str) -> u16 {
    let path = format!("/api/tournament/{arena}/withdraw");
    bot.post(&path).await.status
}

async fn until(server: &ServerHandle, wanted: impl Fn(&Event) -> bool, already: impl Fn() -> bool) {
    let mut news = server.events();
    let wait = async { while !already() && !news.recv().await.is_ok_and(|it| wanted(&it)) {} };
    tokio::time::timeout(HANG, wait).await.unwrap();
}

#[tokio::test]
async fn an_arena_is_listed_and_shown_each_in_its_own_shape() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let id = open(
        &server,
        ArenaPlan {
            starts_in: 3600,
            min_rating: Some(1600),
            password: Some("sesame".to_owned()),
            battle: vec!["bombers".to_owned(), "lichess-bots".to_owned()],
            ..ArenaPlan::default()
        },
    );
    let list = bot.get("/api/tournament").await.ok();
    let listed = &list["created"][0];
    let shown = bot.get(&format!("/api/tournament/{id}")).await.ok();
    for arena in [listed, &shown] {
        assert_eq!(arena["id"], id.as_str());
        assert_eq!(arena["clock"], json!({"limit": 180, "increment": 2}));
        assert_eq!(arena["botsAllowed"], true);
        assert_eq!(arena["private"], true);
        assert_eq!(arena["minRating"]["rating"], 1600);
        let seconds = arena["secondsToStart"].as_u64().unwrap();
        assert!((3000..=3600).contains(&seconds), "{seconds}");
    }
    let teams = json!(["bombers", "lichess-bots"]);
    assert_eq!(listed["teamBattle"]["teams"], teams);
    // The name and the flair of each team; the teams here are named as their ids.
    let teams = json!({"bombers": ["bombers", null], "lichess-bots": ["lichess-bots", null]});
    assert_eq!(shown["teamBattle"]["teams"], teams);
    assert_eq!(listed["variant"]["key"], "atomic");
    assert!(listed["startsAt"].is_u64());
    assert_eq!(shown["variant"], "atomic");
    assert!(shown["startsAt"].as_str().unwrap().ends_with('Z'));
    assert_eq!(shown["verdicts"]["accepted"], false, "rated 1500");
    let bare = http().get(format!("{}/api/tournament/{id}", server.url()));
    let bare: Value = bare.send().await.unwrap().json().await.unwrap();
    assert_eq!(bare["verdicts"]["accepted"], true, "nobody in particular");
    assert_eq!(bot.get("/api/tournament/nothere1").await.status, 404);
}

#[tokio::test]
async fn present_players_are_paired_in_a_game_of_the_arena() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let id = open(&server, ArenaPlan::default());
    let mut events = one.events().await;
    for bot in [&one, &two] {
        assert_eq!(join(bot, &id, &HERE).await.0, 200);
    }
    let start = events.next_of("gameStart").await["game"].clone();
    assert_eq!(start["tournamentId"], id.as_str());
    assert_eq!(start["source"], "arena");
    let game = start["id"].as_str().unwrap();
    let full = one.game(game).await.next().await;
    assert_eq!(full["tournamentId"], id.as_str());
    let expiration = &full["state"]["expiration"];
    assert_eq!(expiration["millisToMove"], 210, "21 s, a hundred times");
    assert!(expiration["idleMillis"].as_u64().unwrap() <= 210);
    let abort = one.at_game(game, "abort").await;
    assert_eq!(
        (abort.status, abort.error().as_str()),
        (400, "This game can no longer be aborted")
    );
    assert_eq!(one.at_game(game, "berserk").await.status, 400);
    one.at_game(game, "resign").await.ok();
    let finish = events.next_of("gameFinish").await;
    let game = &finish["game"];
    assert_eq!(game["status"]["name"], "resign", "not aborted: {game}");
    assert!(game["ratingDiff"].is_i64(), "it counts: {game}");
}

#[tokio::test]
async fn a_player_without_a_first_move_loses_and_is_removed_until_rejoining() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let id = open(&server, ArenaPlan::default());
    server.enter(&id, "Partner", Partner::Random, Duration::ZERO);
    let mut events = bot.events().await;
    assert_eq!(join(&bot, &id, &HERE).await.0, 200);
    let finish = events.next_of("gameFinish").await;
    let game = &finish["game"];
    assert_eq!(game["status"], json!({"id": 37, "name": "noStart"}));
    assert_ne!(game["winner"], game["color"]);
    let arena = server.arena(&id).unwrap();
    assert!(!arena.has("SomeBot") && arena.has("Partner"), "{arena:?}");
    assert_eq!(join(&bot, &id, &HERE).await.0, 200);
    assert!(server.arena(&id).unwrap().has("SomeBot"));
    events.next_of("gameStart").await;
}

#[tokio::test]
async fn the_second_side_has_a_limit_of_its_own_and_then_there_is_none() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let id = open(&server, ArenaPlan::default());
    let mut events = one.events().await;
    for bot in [&one, &two] {
        assert_eq!(join(bot, &id, &HERE).await.0, 200);
    }
    let start = events.next_of("gameStart").await["game"].clone();
    let game = start["id"].as_str().unwrap();
    let (white, black) = if start["color"] == "white" {
        (one, two)
    } else {
        (two, one)
    };
    let mut stream = white.game(game).await;
    stream.next().await;
    white.play(game, "e2e3").await.ok();
    let state = stream.next_of("gameState").await;
    assert!(state["expiration"]["millisToMove"].is_u64(), "{state}");
    black.play(game, "e7e6").await.ok();
    let state = stream.next_of("gameState").await;
    assert_eq!(state["expiration"], Value::Null);
}

#[tokio::test]
async fn conditions_of_entry_are_enforced_and_reported() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let refused = |error: &str| (400, error.to_owned());
    let closed = open(
        &server,
        ArenaPlan {
            password: Some("sesame".to_owned()),
            ..ArenaPlan::default()
        },
    );
    assert_eq!(
        join(&bot, &closed, &HERE).await,
        refused("Wrong entry code")
    );
    let form = [("password", "sesame")];
    assert_eq!(join(&bot, &closed, &form).await.0, 200);
    assert_eq!(join(&bot, &closed, &HERE).await.0, 200, "it is in");
    let for_people = open(
        &server,
        ArenaPlan {
            bots_allowed: false,
            ..ArenaPlan::default()
        },
    );
    assert_eq!(join(&bot, &for_people, &HERE).await.0, 400);
    let battle = open(
        &server,
        ArenaPlan {
            battle: vec!["bombers".to_owned()],
            ..ArenaPlan::default()
        },
    );
    let form = [("team", "bombers")];
    assert_eq!(join(&bot, &battle, &form).await, refused("Missing team"));
    let member = server
        .open(
            "Member",
            AccountKind::Bot,
            &["tournament:write", "team:write"],
        )
        .unwrap();
    let member = Bot::with_token(&server, "Member", member);
    assert_eq!(member.post("/team/nobody/join").await.status, 404);
    member.post("/team/bombers/join").await.ok();
    assert_eq!(join(&member, &battle, &form).await.0, 200);
    member.post("/team/bombers/quit").await.ok();
    assert_eq!(join(&bot, "nothere1", &HERE).await.0, 404);
    assert_eq!(bot.post("/team/bombers/join").await.status, 403, "scope");
}

#[tokio::test]
async fn a_pausing_player_waits_and_endless_joins_are_limited() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let id = open(&server, ArenaPlan::default());
    assert_eq!(join(&bot, &id, &HERE).await.0, 200);
    assert_eq!(withdraw(&bot, &id).await, 200);
    assert!(!server.arena(&id).unwrap().has("SomeBot"));
    let early = join(&bot, &id, &HERE).await;
    assert_eq!(early, (400, "Your pause is not over yet".to_owned()));
    let mut limited = 0;
    for _ in 0..29 {
        limited += usize::from(join(&bot, &id, &HERE).await.0 == 429);
    }
    assert_eq!(limited, 1, "thirty are let through in ten minutes");
    assert_eq!(withdraw(&bot, "nothere1").await, 404);
}

#[tokio::test]
async fn an_arena_begins_ends_and_admits_no_one_afterwards() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let id = open(
        &server,
        ArenaPlan {
            starts_in: 20,
            minutes: 1,
            ..ArenaPlan::default()
        },
    );
    assert!(!server.arena(&id).unwrap().runs);
    assert_eq!(join(&bot, &id, &[]).await.0, 200);
    let over = |event: &Event| matches!(event, Event::ArenaOver { arena } if *arena == id);
    until(&server, over, || server.arena(&id).unwrap().is_over).await;
    let shown = bot.get(&format!("/api/tournament/{id}")).await.ok();
    assert_eq!(shown["isFinished"], true);
    let list = bot.get("/api/tournament").await.ok();
    assert_eq!(list["finished"][0]["status"], 30);
    assert_eq!(join(&bot, &id, &HERE).await.0, 400);
}
