//! Games over HTTP: moves, clocks, offers, endings.

use serde_json::json;

use crate::client::{Bot, server, start_game, two_bots};

#[tokio::test]
async fn a_whole_game_ends_with_an_explosion_in_the_last_line() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let mut events = black.events().await;
    let id = start_game(&white, &black, &[("rated", "true")]).await;
    let mut stream = white.game(&id).await;
    let full = stream.next().await;
    assert_eq!(full["type"], "gameFull");
    assert_eq!(full["clock"], json!({"initial":180_000,"increment":2000}));
    assert_eq!(full["white"]["id"], "whitebot");
    assert_eq!(full["black"]["title"], "BOT");
    assert_eq!(full["initialFen"], "startpos");
    assert_eq!(full["state"]["type"], "gameState");
    let whole = "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1 f8d6 f3d4 d6h2";
    for (ply, uci) in whole.split(' ').enumerate() {
        let mover = if ply % 2 == 0 { &white } else { &black };
        mover.play(&id, uci).await.ok();
    }
    let last = stream.until_status("variantEnd").await;
    assert_eq!(last["moves"], whole.replace("e1g1", "e1h1"));
    assert_eq!(last["winner"], "black");
    stream.end().await;
    let finish = events.next_of("gameFinish").await;
    assert_eq!(finish["game"]["winner"], "black");
    assert!(finish["game"]["ratingDiff"].as_i64().unwrap() > 0);
    assert!(finish["game"]["opponent"]["ratingDiff"].as_i64().unwrap() < 0);
    let late = white.play(&id, "a2a3").await;
    assert_eq!(
        (late.status, late.error().as_str()),
        (400, "Not your turn, or game already over")
    );
    let mut reopened = white.game(&id).await;
    assert_eq!(reopened.next().await["state"]["status"], "variantEnd");
    reopened.end().await;
}

#[tokio::test]
async fn a_fallen_flag_is_noticed_without_any_request() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(
        &white,
        &black,
        &[("clock.limit", "0"), ("clock.increment", "1")],
    )
    .await;
    let mut stream = black.game(&id).await;
    white.play(&id, "e2e4").await.ok();
    black.play(&id, "e7e5").await.ok();
    let last = stream.until_status("outoftime").await;
    assert_eq!(
        (&last["winner"], &last["wtime"]),
        (&json!("black"), &json!(0))
    );
}

#[tokio::test]
async fn the_repetition_is_seen_as_started_before_the_draw() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = white.game(&id).await;
    let whole = "g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8";
    for (ply, uci) in whole.split(' ').enumerate() {
        let mover = if ply % 2 == 0 { &white } else { &black };
        mover.play(&id, uci).await.ok();
    }
    let mut statuses = Vec::new();
    while statuses.last().is_none_or(|status| status != "draw") {
        let state = stream.next_of("gameState").await;
        if state["moves"] == whole {
            statuses.push(state["status"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(statuses, ["started", "draw"]);
}

#[tokio::test]
async fn draws_are_offered_and_agreed_by_endpoint_and_by_move() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = black.game(&id).await;
    white.play(&id, "g1f3").await.ok();
    black.play(&id, "g8f6").await.ok();
    white.at_game(&id, "move/e2e3?offeringDraw=true").await.ok();
    loop {
        let state = stream.next_of("gameState").await;
        if state["wdraw"] == true {
            break;
        }
    }
    let chat = white.get(&format!("/api/bot/game/{id}/chat")).await.ok();
    assert_eq!(chat, json!([{"text":"White offers draw","user":"lichess"}]));
    black.at_game(&id, "draw/yes").await.ok();
    stream.until_status("draw").await;
    black.at_game(&id, "draw/yes").await.ok();
    black.at_game(&id, "takeback/no").await.ok();
    assert_eq!(black.at_game(&id, "draw/maybe").await.status, 404);
}

#[tokio::test]
async fn aborting_and_resigning_follow_the_number_of_moves() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = black.game(&id).await;
    white.at_game(&id, "resign").await.ok();
    assert_eq!(stream.until_status("aborted").await.get("winner"), None);
    let id = start_game(&white, &black, &[]).await;
    white.play(&id, "e2e4").await.ok();
    black.play(&id, "e7e5").await.ok();
    let abort = white.at_game(&id, "abort").await;
    assert_eq!(
        (abort.status, abort.error().as_str()),
        (400, "This game can no longer be aborted")
    );
    let mut stream = black.game(&id).await;
    white.at_game(&id, "resign").await.ok();
    assert_eq!(
        stream.until_status_or_full("resign").await["winner"],
        "black"
    );
    let again = white.at_game(&id, "resign").await;
    assert_eq!(again.error(), "This game cannot be resigned");
}

#[tokio::test]
async fn an_absent_opponent_is_announced_and_can_be_claimed() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = white.game(&id).await;
    white.play(&id, "e2e4").await.ok();
    black.play(&id, "e7e5").await.ok();
    white.play(&id, "g1f3").await.ok();
    loop {
        let gone = stream.next_of("opponentGone").await;
        assert_eq!(gone["gone"], true);
        if gone["claimWinInSeconds"] == 0 {
            break;
        }
    }
    white.at_game(&id, "claim-victory").await.ok();
    assert_eq!(stream.until_status("timeout").await["winner"], "white");
}

#[tokio::test]
async fn a_present_opponent_cannot_be_claimed() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = black.game(&id).await;
    stream.next().await;
    white.at_game(&id, "claim-victory").await.ok();
    white.play(&id, "e2e4").await.ok();
    black.play(&id, "e7e5").await.ok();
    white.play(&id, "g1f3").await.ok();
    let win = white.at_game(&id, "claim-victory").await;
    assert_eq!(
        (win.status, win.error().as_str()),
        (400, "You cannot claim the win on this game")
    );
    assert_eq!(
        white.at_game(&id, "claim-draw").await.error(),
        "You cannot claim draw on this game"
    );
}

#[tokio::test]
async fn chat_is_echoed_to_both_and_limited_in_characters() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = white.game(&id).await;
    let path = format!("/api/bot/game/{id}/chat");
    black
        .post_form(&path, &[("room", "player"), ("text", "good luck")])
        .await
        .ok();
    assert_eq!(
        stream.next_of("chatLine").await,
        json!({"type":"chatLine","room":"player","username":"BlackBot","text":"good luck"})
    );
    let umlauts = "ü".repeat(140);
    black
        .post_form(&path, &[("room", "spectator"), ("text", &umlauts)])
        .await
        .ok();
    assert_eq!(stream.next_of("chatLine").await["room"], "spectator");
    let long = black
        .post_form(&path, &[("room", "player"), ("text", &"x".repeat(141))])
        .await;
    assert_eq!(long.status, 400);
    assert!(long.json()["error"]["text"].is_array());
    black
        .post_form(&path, &[("room", "player"), ("text", "see https://x.org")])
        .await
        .ok();
    assert_eq!(
        white.get(&path).await.ok(),
        json!([{"text":"good luck","user":"BlackBot"}])
    );
}

#[tokio::test]
async fn takebacks_shorten_the_moves_where_both_allow_them() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    for bot in [&white, &black] {
        server.allow_takebacks(&bot.name, true);
    }
    let id = start_game(&white, &black, &[]).await;
    let mut stream = black.game(&id).await;
    white.play(&id, "e2e4").await.ok();
    black.play(&id, "e7e5").await.ok();
    white.play(&id, "g1f3").await.ok();
    white.at_game(&id, "takeback/yes").await.ok();
    black.at_game(&id, "takeback/yes").await.ok();
    let mut seen_proposal = false;
    loop {
        let state = stream.next_of("gameState").await;
        seen_proposal |= state["wtakeback"] == true;
        if seen_proposal && state["moves"] == "e2e4 e7e5" {
            break;
        }
    }
    white.play(&id, "f2f4").await.ok();
}

#[tokio::test]
async fn given_time_is_a_state_without_a_move() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[]).await;
    let mut stream = black.game(&id).await;
    stream.next().await;
    server.give_time("WhiteBot", &id, 15);
    let state = stream.next_of("gameState").await;
    assert_eq!(
        (&state["btime"], &state["moves"]),
        (&json!(195_000), &json!(""))
    );
}

#[tokio::test]
async fn the_list_of_games_being_played_is_urgent_first() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let third = Bot::new(&server, "ThirdBot");
    let waiting = start_game(&black, &white, &[]).await;
    let no_clock = [("clock.limit", ""), ("clock.increment", "")];
    let unlimited = start_game(&white, &third, &no_clock).await;
    let urgent = start_game(&white, &third, &[]).await;
    let list = white.get("/api/account/playing").await.ok();
    assert_eq!(list["nbMyTurn"], 2);
    let ids: Vec<_> = list["nowPlaying"]
        .as_array()
        .unwrap()
        .iter()
        .map(|game| game["gameId"].clone())
        .collect();
    assert_eq!(ids, [json!(urgent), json!(unlimited), json!(waiting)]);
    assert_eq!(
        list["nowPlaying"][0]["opponent"]["username"],
        "BOT ThirdBot"
    );
    assert_eq!(
        white.get("/api/account/playing?nb=1").await.ok()["nowPlaying"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_game_is_exported_in_san_and_its_last_moves_only_once_it_is_over() {
    let server = server().await;
    let (white, black) = two_bots(&server);
    let id = start_game(&white, &black, &[("rated", "true")]).await;
    for (ply, uci) in "g1f3 f7f6 e2e3 e7e6 f1e2".split(' ').enumerate() {
        let mover = if ply % 2 == 0 { &white } else { &black };
        mover.play(&id, uci).await.ok();
    }
    let path = format!("/game/export/{id}");
    let running = white.get_json(&path).await.ok();
    assert_eq!(
        (&running["status"], &running["moves"]),
        (&json!("started"), &json!("Nf3 f6"))
    );
    assert!(running.get("winner").is_none() && running["lastMoveAt"].is_u64());
    white.at_game(&id, "resign").await.ok();
    let over = black.get_json(&path).await.ok();
    assert_eq!(over["id"], id);
    assert_eq!(over["moves"], "Nf3 f6 e3 e6 Be2");
    assert_eq!(
        (&over["variant"], &over["perf"]),
        (&json!("atomic"), &json!("atomic"))
    );
    assert_eq!(
        (&over["status"], &over["winner"]),
        (&json!("resign"), &json!("black"))
    );
    assert_eq!(
        over["clock"],
        json!({"initial":180,"increment":2,"totalTime":260})
    );
    let player = &over["players"]["black"];
    assert_eq!(
        player["user"],
        json!({"name":"BlackBot","title":"BOT","id":"blackbot"})
    );
    assert!(player["ratingDiff"].as_i64().unwrap() > 0 && player["rating"].is_i64());
    let bare = white.get_json(&format!("{path}?moves=false")).await.ok();
    assert!(bare.get("moves").is_none());
    // The usual answer is no JSON.
    let pgn = white.get(&path).await.text;
    assert!(
        pgn.contains("[Variant \"Atomic\"]") && pgn.ends_with("3. Be2 0-1\n\n"),
        "{pgn}"
    );
    assert_eq!(white.get_json("/game/export/nothing0").await.status, 404);
}
