//! Tokens, scopes, accounts, and requests that lead nowhere.

use megaton::practice::AccountKind;
use serde_json::json;

use crate::client::{Bot, http, server, start_game, two_bots};

#[tokio::test]
async fn a_token_identifies_the_caller_or_is_refused() {
    let server = server().await;
    let mut bot = Bot::new(&server, "SomeBot");
    let me = bot.get("/api/account").await.ok();
    assert_eq!(
        (&me["id"], &me["username"]),
        (&json!("somebot"), &json!("SomeBot"))
    );
    assert_eq!(me["title"], "BOT");
    assert_eq!(me["perfs"], json!({}));
    let bare = http()
        .get(format!("{}/api/account", server.url()))
        .send()
        .await
        .unwrap();
    assert_eq!(bare.status(), 401);
    assert_eq!(
        bare.text().await.unwrap(),
        r#"{"error":"Missing authorization header"}"#
    );
    bot.agent = "other/1 user:SomebodyElse".to_owned();
    assert_eq!(bot.get("/api/account").await.status, 401);
    bot.agent = "other/1 user:somebot".to_owned();
    assert_eq!(bot.get("/api/account").await.status, 200);
    bot.token = "lip_wrong".to_owned();
    let wrong = bot.get("/api/account").await;
    assert_eq!(
        (wrong.status, wrong.error().as_str()),
        (401, "No such token")
    );
}

#[tokio::test]
async fn a_missing_scope_is_named() {
    let server = server().await;
    let token = server
        .open("ReadBot", AccountKind::Bot, &["challenge:read"])
        .unwrap();
    let bot = Bot::with_token(&server, "ReadBot", token);
    let answer = bot.get("/api/stream/event").await;
    assert_eq!(
        (answer.status, answer.error().as_str()),
        (403, "Missing scope: bot:play")
    );
    let create = bot.post("/api/challenge/somebody").await;
    assert_eq!(create.error(), "Missing scope: bot:play || challenge:write");
    let events = http().get(format!("{}/api/stream/event", server.url()));
    let raw = events.bearer_auth(&bot.token).send().await.unwrap();
    assert_eq!(raw.headers()["x-oauth-scopes"], "challenge:read");
    assert_eq!(raw.headers()["x-accepted-oauth-scopes"], "bot:play");
    assert_eq!(bot.get("/api/challenge").await.status, 200);
}

#[tokio::test]
async fn tokens_can_be_tested_and_revoked() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    let body = format!("{},lip_unknown", bot.token);
    let known = http()
        .post(format!("{}/api/token/test", server.url()))
        .body(body)
        .send()
        .await
        .unwrap()
        .json::<serde_json::Value>()
        .await
        .unwrap();
    assert_eq!(known[&bot.token]["userId"], "somebot");
    assert_eq!(
        known[&bot.token]["scopes"],
        "bot:play,challenge:read,challenge:write"
    );
    assert_eq!(known["lip_unknown"], json!(null));
    let revoked = bot
        .request(reqwest::Method::DELETE, "/api/token")
        .send()
        .await
        .unwrap();
    assert_eq!(revoked.status(), 204);
    assert_eq!(bot.get("/api/account").await.status, 401);
}

#[tokio::test]
async fn an_account_that_never_played_can_become_a_bot() {
    let server = server().await;
    let token = server
        .open("Someone", AccountKind::Human, &["bot:play"])
        .unwrap();
    let someone = Bot::with_token(&server, "Someone", token);
    let other = Bot::new(&server, "OtherBot");
    let id = other.challenge(&someone, &[]).await.ok()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    someone
        .post(&format!("/api/challenge/{id}/accept"))
        .await
        .ok();
    let refused = someone.play(&id, "e7e5").await;
    assert_eq!(refused.status, 400);
    assert!(
        refused
            .error()
            .starts_with("This endpoint can only be used with a Bot account.")
    );
    assert_eq!(someone.post("/api/bot/account/upgrade").await.status, 400);
    let token = server
        .open("Fresh", AccountKind::Human, &["bot:play"])
        .unwrap();
    let fresh = Bot::with_token(&server, "Fresh", token);
    assert_eq!(fresh.get("/api/account").await.ok().get("title"), None);
    fresh.post("/api/bot/account/upgrade").await.ok();
    assert_eq!(fresh.get("/api/account").await.ok()["title"], "BOT");
}

#[tokio::test]
async fn the_account_must_not_be_polled() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    for _ in 0..30 {
        assert_eq!(bot.get("/api/account").await.status, 200);
    }
    assert_eq!(bot.get("/api/account").await.status, 429);
}

#[tokio::test]
async fn foreign_and_unknown_games_are_not_found() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let third = Bot::new(&server, "ThirdBot");
    let id = start_game(&white, &black, &[]).await;
    let foreign = third.play(&id, "e2e4").await;
    assert_eq!(
        (foreign.status, foreign.error().as_str()),
        (404, "Not your game")
    );
    let unknown = third.get("/api/bot/game/stream/nonsense").await;
    assert_eq!(
        (unknown.status, unknown.error().as_str()),
        (404, "No such game")
    );
}

#[tokio::test]
async fn unknown_paths_and_methods_get_plain_text() {
    let server = server().await;
    let bot = Bot::new(&server, "SomeBot");
    for answer in [
        bot.get("/api/nothing").await,
        bot.post("/api/account").await,
    ] {
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (404, "404 - Resource not found")
        );
    }
}

#[tokio::test]
async fn other_accounts_are_visible_by_name_status_and_bot_list() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let mut stream = one.events().await;
    start_game(&one, &two, &[]).await;
    stream.next_of("gameStart").await;
    let status = one
        .get("/api/users/status?ids=whitebot,BlackBot,nobody")
        .await
        .ok();
    assert_eq!(
        status,
        json!([
            {"id":"whitebot","name":"WhiteBot","title":"BOT","online":true,"playing":true},
            {"id":"blackbot","name":"BlackBot","title":"BOT","playing":true}
        ])
    );
    let online = one.get("/api/bot/online?nb=5").await.text;
    assert_eq!(online.lines().count(), 1);
    assert!(online.contains("\"id\":\"whitebot\""));
    assert_eq!(
        one.get("/api/user/BLACKBOT").await.ok()["username"],
        "BlackBot"
    );
    assert_eq!(one.get("/api/user/nobody").await.status, 404);
}
