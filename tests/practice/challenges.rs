//! Challenges in both directions.

use serde_json::{Value, json};

use crate::client::{Bot, server, start_game, two_bots};

#[tokio::test]
async fn a_challenge_goes_to_both_and_accepting_starts_the_game() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let (mut at_one, mut at_two) = (one.events().await, two.events().await);
    let made = one.challenge(&two, &[("rated", "true")]).await.ok();
    assert_eq!(made["direction"], "out");
    assert_eq!(
        made["timeControl"],
        json!({"type":"clock","limit":180,"increment":2,"show":"3+2"})
    );
    assert_eq!(
        (&made["rated"], &made["status"]),
        (&json!(true), &json!("created"))
    );
    for stream in [&mut at_one, &mut at_two] {
        let event = stream.next_of("challenge").await;
        assert_eq!(event["challenge"]["id"], made["id"]);
        assert_eq!(event["compat"], json!({"bot":true,"board":true}));
        assert_eq!(event["challenge"].get("direction"), None);
    }
    let id = made["id"].as_str().unwrap();
    two.post(&format!("/api/challenge/{id}/accept")).await.ok();
    for (stream, color) in [(&mut at_one, "white"), (&mut at_two, "black")] {
        let event = stream.next_of("gameStart").await;
        let game = &event["game"];
        assert_eq!(
            (game["gameId"].as_str(), game["color"].as_str()),
            (Some(id), Some(color))
        );
        assert_eq!(game["isMyTurn"], color == "white");
        assert_eq!(game["status"], json!({"id":20,"name":"started"}));
    }
    let again = two.post(&format!("/api/challenge/{id}/accept")).await;
    assert_eq!(
        (again.status, again.error().as_str()),
        (400, "The challenge has already been accepted")
    );
}

#[tokio::test]
async fn a_decline_reaches_the_challenger_with_its_key_in_lower_case() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let (mut at_one, mut at_two) = (one.events().await, two.events().await);
    let id = one.challenge(&two, &[]).await.ok()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/challenge/{id}/decline");
    two.post_form(&path, &[("reason", "tooFast")]).await.ok();
    for stream in [&mut at_one, &mut at_two] {
        let event = stream.next_of("challengeDeclined").await;
        assert_eq!(event["challenge"]["declineReasonKey"], "toofast");
        assert_eq!(event["challenge"]["status"], "declined");
    }
    assert_eq!(two.post(&path).await.status, 404);
    let accept = two.post(&format!("/api/challenge/{id}/accept")).await;
    assert_eq!(accept.error(), "The challenge has been declined.");
}

#[tokio::test]
async fn cancelling_tells_both_and_a_new_challenge_replaces_the_older() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let mut at_two = two.events().await;
    let first = one.challenge(&two, &[]).await.ok()["id"].clone();
    let second = one.challenge(&two, &[]).await.ok()["id"].clone();
    assert_eq!(
        at_two.next_of("challengeCanceled").await["challenge"]["id"],
        first
    );
    assert_eq!(at_two.next_of("challenge").await["challenge"]["id"], second);
    let path = format!("/api/challenge/{}/cancel", second.as_str().unwrap());
    one.post(&path).await.ok();
    assert_eq!(
        at_two.next_of("challengeCanceled").await["challenge"]["id"],
        second
    );
    let accept = two
        .post(&format!(
            "/api/challenge/{}/accept",
            second.as_str().unwrap()
        ))
        .await;
    assert_eq!(accept.error(), "The challenge has been canceled.");
}

#[tokio::test]
async fn a_challenge_that_no_one_keeps_alive_goes_offline_and_can_still_be_accepted() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let id = one.challenge(&two, &[]).await.ok()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/challenge/{id}/show");
    while one.get(&path).await.ok()["status"] != "offline" {
        tokio::task::yield_now().await;
    }
    assert_eq!(two.get("/api/challenge").await.ok()["in"], json!([]));
    two.post(&format!("/api/challenge/{id}/accept")).await.ok();
}

#[tokio::test]
async fn a_challenge_kept_alive_streams_its_fate() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    for (action, done) in [("accept", "accepted"), ("decline", "declined")] {
        let form = [
            ("clock.limit", "60"),
            ("clock.increment", "1"),
            ("variant", "atomic"),
            ("keepAliveStream", "true"),
        ];
        let path = format!("/api/challenge/{}", two.name);
        let request = one.request(reqwest::Method::POST, &path).form(&form);
        let mut lines = crate::client::Lines::of(request.send().await.unwrap());
        let first = lines.next().await;
        let id = first["id"].as_str().unwrap();
        two.post(&format!("/api/challenge/{id}/{action}"))
            .await
            .ok();
        assert_eq!(lines.next().await, json!({ "done": done }));
        lines.end().await;
    }
}

async fn refused(more: &[(&str, &str)]) -> Value {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let answer = one.challenge(&two, more).await;
    assert_eq!(answer.status, 400, "{}", answer.text);
    answer.json()
}

#[tokio::test]
async fn impossible_requests_are_refused_in_the_servers_shapes() {
    let invalid = json!({"global":["Invalid clock"],"error":{"global":["Invalid clock"]}});
    assert_eq!(
        refused(&[("clock.limit", "0"), ("clock.increment", "0")]).await,
        invalid
    );
    assert_eq!(
        refused(&[("clock.limit", "61")]).await["error"],
        json!({"clock.limit":["Invalid value"]})
    );
    assert_eq!(
        refused(&[("clock.limit", "15"), ("clock.increment", "0")]).await["error"],
        json!({"global":["Invalid speed"]})
    );
    assert_eq!(
        refused(&[("rules", "noAbort")]).await["error"],
        "Rules not applicable for bots"
    );
    assert!(refused(&[("clock.increment", "61")]).await["error"].is_object());
    let unlimited = [
        ("clock.limit", ""),
        ("clock.increment", ""),
        ("rated", "true"),
    ];
    assert!(refused(&unlimited).await["error"].is_object());
}

#[tokio::test]
async fn an_account_cannot_challenge_itself_or_an_unknown_account() {
    let server = server().await;
    let one = Bot::new(&server, "OneBot");
    let form = [("clock.limit", "180"), ("clock.increment", "2")];
    let nobody = one.post_form("/api/challenge/nobody", &form).await;
    assert_eq!(
        (nobody.status, nobody.error().as_str()),
        (400, "No such user: nobody")
    );
    let own = one.post_form("/api/challenge/OneBot", &form).await;
    assert_eq!(own.error(), "You cannot challenge yourself");
}

#[tokio::test]
async fn zero_plus_one_turns_casual_silently() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let form = [
        ("clock.limit", "0"),
        ("clock.increment", "1"),
        ("rated", "true"),
    ];
    assert_eq!(one.challenge(&two, &form).await.ok()["rated"], false);
}

#[tokio::test]
async fn only_the_challenged_can_accept() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let third = Bot::new(&server, "ThirdBot");
    let id = one.challenge(&two, &[]).await.ok()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/challenge/{id}/accept");
    assert_eq!(
        one.post(&path).await.error(),
        "The challenge is not for you to accept."
    );
    assert_eq!(third.post(&path).await.status, 404);
}

#[tokio::test]
async fn a_json_body_works_and_standard_chess_can_be_requested() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let request = json!({"rated": false, "variant": "standard", "clock.limit": 300,
        "clock": {"increment": 3}, "color": "random"});
    let path = format!("/api/challenge/{}", two.name);
    let made = crate::client::answer(one.request(reqwest::Method::POST, &path).json(&request))
        .await
        .ok();
    assert_eq!(made["variant"]["key"], "standard");
    assert_eq!(made["timeControl"]["increment"], 3);
}

#[tokio::test]
async fn cancelling_a_game_aborts_it_while_that_is_possible() {
    let server = server().await;
    let (one, two) = two_bots(&server);
    let id = start_game(&one, &two, &[]).await;
    let mut events = one.events().await;
    one.post(&format!("/api/challenge/{id}/cancel")).await.ok();
    assert_eq!(
        events.next_of("gameFinish").await["game"]["status"]["name"],
        "aborted"
    );
    let id = start_game(&one, &two, &[]).await;
    one.play(&id, "e2e4").await.ok();
    two.play(&id, "e7e5").await.ok();
    let late = one.post(&format!("/api/challenge/{id}/cancel")).await;
    assert_eq!(
        (late.status, late.error().as_str()),
        (400, "Missing opponentToken")
    );
}

#[tokio::test]
async fn the_daily_limit_of_bot_games_is_ours_with_429_and_theirs_with_400() {
    let rules = megaton::practice::ServerRules {
        bot_games_a_day: Some(1),
        ..Default::default()
    };
    let options = megaton::practice::Options {
        rules,
        ..Default::default()
    };
    let server = megaton::practice::Server::start(options).await.unwrap();
    let (one, two) = two_bots(&server);
    let third = Bot::new(&server, "ThirdBot");
    start_game(&one, &two, &[]).await;
    let ours = one.challenge(&third, &[]).await;
    assert_eq!(
        (ours.status, &ours.json()["ratelimit"]["key"]),
        (429, &json!("bot.vsBot.day"))
    );
    assert!(ours.json()["ratelimit"]["seconds"].as_u64().unwrap() > 86_000);
    let theirs = third.challenge(&one, &[]).await;
    assert_eq!(theirs.status, 400);
    assert_eq!(theirs.json()["ratelimit"]["key"], "bot.vsBot.day");
}
