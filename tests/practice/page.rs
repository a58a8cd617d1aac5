//! The page's API: a visitor plays the bot over it.

use std::time::Duration;

use megaton::practice::{Options, Server, ServerHandle, Timing};
use serde_json::{Value, json};

use crate::client::{Answer, Bot, HANG, Lines, Read, answer, http};

/// Someone at the page.
struct Visitor {
    url: String,
    ticket: String,
}

impl Visitor {
    async fn admit(server: &ServerHandle, wishes: Value) -> Self {
        let ask = http()
            .post(format!("{}/play/new", server.url()))
            .body(wishes.to_string());
        let ticket = answer(ask).await.ok()["ticket"]
            .as_str()
            .unwrap()
            .to_owned();
        Self {
            url: server.url().to_owned(),
            ticket,
        }
    }

    async fn post(&self, what: &str) -> Answer {
        answer(http().post(format!("{}/play/{}/{what}", self.url, self.ticket))).await
    }

    async fn snapshots(&self) -> Snapshots {
        Snapshots::open(&format!("{}/play/{}/events", self.url, self.ticket)).await
    }
}

/// The snapshots of an open page.
struct Snapshots {
    response: reqwest::Response,
    text: String,
}

impl Snapshots {
    async fn open(url: &str) -> Self {
        let response = http().get(url).send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self {
            response,
            text: String::new(),
        }
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                if let Some(data) = event.strip_prefix("event: snapshot\ndata: ") {
                    return serde_json::from_str(data).unwrap();
                }
                assert_eq!(event, ":\n\n");
                continue;
            }
            let chunk = tokio::time::timeout(HANG, self.response.chunk())
                .await
                .unwrap()
                .unwrap();
            self.text
                .push_str(std::str::from_utf8(&chunk.expect("operator's page open")).unwrap());
        }
    }

    /// The first snapshot for which this holds.
    async fn until(&mut self, holds: impl Fn(&Value) -> bool) -> Value {
        loop {
            let snapshot = self.next().await;
            if holds(&snapshot) {
                return snapshot;
            }
        }
    }
}

async fn server_with_bot() -> (ServerHandle, Bot) {
    let options = Options {
        bot: Some("MegaBot".to_owned()),
        timing: Timing::scaled(100),
        ..Options::default()
    };
    let server = Server::start(options).await.unwrap();
    let bot = Bot::new(&server, "MegaBot");
    (server, bot)
}

fn wishes(color: &str) -> Value {
    json!({ "color": color, "limit": 180, "increment": 2 })
}

async fn accept_next(bot: &Bot, events: &mut crate::client::Lines) -> String {
    let challenge = events.next_of("challenge").await["challenge"].clone();
    assert_eq!(challenge["rated"], false);
    let id = challenge["id"].as_str().unwrap().to_owned();
    bot.post(&format!("/api/challenge/{id}/accept")).await.ok();
    id
}

#[tokio::test]
async fn a_visitor_waits_plays_and_sees_every_blast() {
    let (server, bot) = server_with_bot().await;
    let mut events = bot.events().await;
    let visitor = Visitor::admit(&server, wishes("white")).await;
    let mut page = visitor.snapshots().await;
    let waiting = page.next().await;
    assert_eq!(
        (&waiting["phase"], &waiting["color"]),
        (&json!("waiting"), &json!("white"))
    );
    let id = accept_next(&bot, &mut events).await;
    let start = page.until(|it| it["phase"] == "playing").await;
    assert_eq!(start["game"], json!(id));
    assert_eq!(start["legal"]["e2"], json!(["e3", "e4"]));
    assert_eq!(start["opponent"]["name"], "MegaBot");
    assert_eq!(start["opponent"]["title"], "BOT");
    assert_eq!(start["clock"]["initial"], 180_000);
    visitor.post("move/g1f3").await.ok();
    let moved = page.until(|it| it["ply"] == 1).await;
    assert_eq!(moved["legal"], json!({}));
    bot.play(&id, "a7a6").await.ok();
    visitor.post("move/f3g5").await.ok();
    bot.play(&id, "a6a5").await.ok();
    visitor.post("move/g5f7").await.ok();
    let over = page.until(|it| it["phase"] == "over").await;
    assert_eq!(
        (&over["status"], &over["winner"]),
        (&json!("variantEnd"), &json!("white"))
    );
    let last = &over["moves"][4];
    assert_eq!(last["san"], "Nxf7#");
    assert_eq!(last["blast"], json!(["f7", "e8", "f8", "g8"]));
    let late = visitor.post("move/e2e4").await;
    assert_eq!((late.status, late.error().is_empty()), (400, false));
}

#[tokio::test]
async fn a_rematch_swaps_the_colours_on_the_same_page() {
    let (server, bot) = server_with_bot().await;
    let mut events = bot.events().await;
    let visitor = Visitor::admit(&server, wishes("black")).await;
    let mut page = visitor.snapshots().await;
    let first = accept_next(&bot, &mut events).await;
    page.until(|it| it["phase"] == "playing").await;
    assert_eq!(
        visitor.post("rematch").await.status,
        400,
        "not while it is being played"
    );
    bot.play(&first, "e2e4").await.ok();
    visitor.post("move/e7e5").await.ok();
    visitor.post("resign").await.ok();
    let over = page.until(|it| it["phase"] == "over").await;
    assert_eq!(
        (&over["status"], &over["color"]),
        (&json!("resign"), &json!("black"))
    );
    for press in ["once", "a double click"] {
        assert_eq!(visitor.post("rematch").await.status, 200, "{press}");
    }
    let waiting = page.until(|it| it["phase"] == "waiting").await;
    assert_eq!(waiting["color"], "white");
    let challenge = events.next_of("challenge").await["challenge"].clone();
    assert_eq!(challenge["rematchOf"], json!(first));
    let id = challenge["id"].as_str().unwrap();
    bot.post(&format!("/api/challenge/{id}/accept")).await.ok();
    page.until(|it| it["phase"] == "playing" && it["game"] == id)
        .await;
    let reopened = bot.game(&first).await.next().await;
    assert_eq!(reopened["state"]["rematch"], id);
}

#[tokio::test]
async fn a_decline_shows_its_reason_and_a_waiting_visitor_can_give_up() {
    let (server, bot) = server_with_bot().await;
    let mut events = bot.events().await;
    let visitor = Visitor::admit(&server, wishes("random")).await;
    let mut page = visitor.snapshots().await;
    let id = events.next_of("challenge").await["challenge"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("/api/challenge/{id}/decline");
    bot.post_form(&path, &[("reason", "later")]).await.ok();
    let declined = page.until(|it| it["phase"] == "declined").await;
    assert!(declined["reason"].as_str().unwrap().contains("later"));
    let visitor = Visitor::admit(&server, wishes("random")).await;
    visitor.post("abort").await.ok();
    events.next_of("challengeCanceled").await;
}

#[tokio::test]
async fn a_forgotten_challenge_is_not_found_instead_of_an_empty_stream() {
    let (server, _bot) = server_with_bot().await;
    let first = Visitor::admit(&server, wishes("random")).await;
    first.post("abort").await.ok();
    let url = format!("{}/play/{}/events", server.url(), first.ticket);
    let status = || async { http().get(&url).send().await.unwrap().status() };
    assert_eq!(status().await, 200, "it tells what became of it");
    for _ in 0..200 {
        let visitor = Visitor::admit(&server, wishes("random")).await;
        visitor.post("abort").await.ok();
    }
    assert_eq!(status().await, 404);
}

#[tokio::test]
async fn an_open_page_keeps_its_challenge_alive_and_its_visitor_present() {
    let (server, bot) = server_with_bot().await;
    let mut events = bot.events().await;
    let visitor = Visitor::admit(&server, wishes("white")).await;
    let page = visitor.snapshots().await;
    let id = accept_next(&bot, &mut events).await;
    let mut stream = bot.game(&id).await;
    for (who, uci) in [
        ("visitor", "e2e4"),
        ("bot", "e7e5"),
        ("visitor", "d2d4"),
        ("bot", "d7d5"),
    ] {
        match who {
            "bot" => bot.play(&id, uci).await.ok(),
            _ => visitor.post(&format!("move/{uci}")).await.ok(),
        };
    }
    drop(page);
    loop {
        let gone = stream.next_of("opponentGone").await;
        if gone["claimWinInSeconds"] == 0 {
            break;
        }
    }
    bot.at_game(&id, "claim-victory").await.ok();
    assert_eq!(stream.until_status("timeout").await["winner"], "black");
}

#[tokio::test]
async fn draws_are_offered_across_the_page() {
    let (server, bot) = server_with_bot().await;
    let mut events = bot.events().await;
    let visitor = Visitor::admit(&server, wishes("white")).await;
    let mut page = visitor.snapshots().await;
    let id = accept_next(&bot, &mut events).await;
    visitor.post("move/g1f3").await.ok();
    bot.play(&id, "g8f6").await.ok();
    bot.at_game(&id, "draw/yes").await.ok();
    page.until(|it| it["drawOffer"] == "black").await;
    visitor.post("draw/no").await.ok();
    let declined = page.until(|it| it["drawOffer"].is_null() && it["ply"] == 2);
    assert_eq!(declined.await["mayOfferDraw"], true);
    visitor.post("draw/yes").await.ok();
    let offered = page.until(|it| it["drawOffer"] == "white").await;
    assert_eq!(offered["mayOfferDraw"], false, "so soon after the last");
    bot.at_game(&id, "draw/yes").await.ok();
    let drawn = page.until(|it| it["status"] == "draw").await;
    assert_eq!(drawn["insufficient"], false);
}

#[tokio::test]
async fn running_games_are_listed_and_can_be_watched() {
    let (server, bot) = server_with_bot().await;
    let other = Bot::new(&server, "OtherBot");
    let id = crate::client::start_game(&bot, &other, &[]).await;
    let mut watching = Snapshots::open(&format!("{}/play/watch/{id}/events", server.url())).await;
    assert_eq!(watching.next().await["legal"], json!({}));
    bot.play(&id, "e2e4").await.ok();
    assert_eq!(
        watching.until(|it| it["ply"] == 1).await["moves"][0]["san"],
        "e4"
    );
    let games = answer(http().get(format!("{}/play/games", server.url())))
        .await
        .ok();
    assert_eq!(
        (&games[0]["id"], &games[0]["white"]),
        (&json!(id), &json!("MegaBot"))
    );
    assert_eq!(
        (&games[0]["lastMove"], &games[0]["ply"]),
        (&json!("e2e4"), &json!(1))
    );
    let unknown = answer(http().get(format!("{}/play/watch/none/events", server.url()))).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn the_page_and_its_files_are_served_to_its_own_address_only() {
    let (server, _) = server_with_bot().await;
    let index = http().get(server.url()).send().await.unwrap();
    assert_eq!(index.headers()["content-type"], "text/html; charset=utf-8");
    assert_eq!(index.headers()["cache-control"], "no-cache");
    let script = http()
        .get(format!("{}/assets/app.js", server.url()))
        .send()
        .await
        .unwrap();
    assert_eq!(
        script.headers()["content-type"],
        "text/javascript; charset=utf-8"
    );
    let missing = answer(http().get(format!("{}/assets/../Cargo.toml", server.url()))).await;
    assert_eq!(missing.status, 404);
    let foreign = http()
        .post(format!("{}/play/new", server.url()))
        .header("origin", "http://evil.example")
        .body(wishes("white").to_string());
    assert_eq!(answer(foreign).await.status, 403);
    let renamed = http().get(server.url()).header("host", "evil.example");
    assert_eq!(answer(renamed).await.status, 403);
}

#[tokio::test]
async fn nonsensical_requests_are_refused_with_an_explanation() {
    let (server, _) = server_with_bot().await;
    for request in [
        json!({"color":"green","limit":180,"increment":2}),
        json!({"color":"white","limit":61,"increment":2}),
        json!({"limit":15,"increment":0}),
        json!("hello"),
    ] {
        let ask = http()
            .post(format!("{}/play/new", server.url()))
            .body(request.to_string());
        let refused = answer(ask).await;
        assert_eq!(refused.status, 400, "{request}");
        assert!(!refused.error().is_empty(), "{request}: {}", refused.text);
    }
    let unknown = answer(http().post(format!("{}/play/nobody/resign", server.url()))).await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_visitor_plays_a_level_and_takes_a_move_back() {
    let (server, _bot) = server_with_bot().await;
    let offered = answer(http().get(format!("{}/play/levels", server.url()))).await;
    let offered = offered.ok();
    let names: Vec<&str> = offered
        .as_array()
        .unwrap()
        .iter()
        .map(|level| level["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["beginner", "easy", "medium", "hard", "expert", "full"]
    );
    let mut wishes = wishes("white");
    wishes["level"] = json!("beginner");
    // Long enough, however fast the clocks run here.
    wishes["limit"] = json!(10_800);
    let visitor = Visitor::admit(&server, wishes).await;
    let mut page = visitor.snapshots().await;
    let start = page.until(|it| it["phase"] == "playing").await;
    assert_eq!(start["opponent"]["name"], "Beginner");
    assert_eq!(start["opponent"]["rating"], offered[0]["rating"]);
    assert_eq!(start["mayTakeBack"], false, "nothing to take back");
    visitor.post("move/g1f3").await.ok();
    let answered = page.until(|it| it["ply"] == 2).await;
    assert_eq!(answered["mayTakeBack"], true);
    visitor.post("takeback").await.ok();
    let back = page.until(|it| it["ply"] == 0).await;
    assert_eq!(back["phase"], "playing");
    assert_eq!(back["legal"]["g1"], json!(["f3", "h3"]));
    visitor.post("move/e2e4").await.ok();
    page.until(|it| it["ply"] == 2).await;
}

#[tokio::test]
async fn a_level_waits_for_the_first_move_of_a_visitor_who_is_there_and_not_for_a_bots() {
    let options = Options {
        bot: Some("MegaBot".to_owned()),
        timing: Timing {
            first_move: Duration::from_millis(300),
            ..Timing::scaled(100)
        },
        ..Options::default()
    };
    let server = Server::start(options).await.unwrap();
    let mut wishes = wishes("white");
    (wishes["level"], wishes["limit"]) = (json!("beginner"), json!(10_800));
    let visitor = Visitor::admit(&server, wishes).await;
    let mut page = visitor.snapshots().await;
    page.until(|it| it["phase"] == "playing").await;
    // A game that begins later and is aborted: by then the level has looked at the visitor's too.
    let bot = Bot::new(&server, "MegaBot");
    let mut events = bot.events().await;
    let form = [
        ("clock.limit", "180"),
        ("clock.increment", "2"),
        ("variant", "atomic"),
        ("color", "white"),
    ];
    bot.post_form("/api/challenge/beginner", &form).await.ok();
    let finished = events.next_of("gameFinish").await;
    assert_eq!(finished["game"]["status"]["name"], "aborted");
    visitor.post("move/g1f3").await.ok();
    page.until(|it| it["ply"] == 2).await;
}

#[tokio::test]
async fn an_unknown_level_is_refused() {
    let (server, _bot) = server_with_bot().await;
    let mut wishes = wishes("white");
    wishes["level"] = json!("godlike");
    let ask = http()
        .post(format!("{}/play/new", server.url()))
        .body(wishes.to_string());
    let refused = answer(ask).await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.json()["error"], "there is no such level");
}

/// A finished game of two bots, by these moves and a resignation where they do not end it.
async fn finished_game(server: &ServerHandle, moves: &str) -> String {
    let (white, black) = crate::client::two_bots(server);
    let id = crate::client::start_game(&white, &black, &[]).await;
    for (ply, uci) in moves.split_ascii_whitespace().enumerate() {
        let bot = if ply % 2 == 0 { &white } else { &black };
        bot.play(&id, uci).await.ok();
    }
    // Refused once the game is over.
    black.at_game(&id, "resign").await;
    id
}

async fn ask_for_analysis(server: &ServerHandle, game: &str, body: &str) -> reqwest::Response {
    let url = format!("{}/play/watch/{game}/analysis", server.url());
    let asked = http().post(url).body(body.to_owned()).send();
    asked.await.unwrap()
}

/// The positions of an analysis, which begins now.
async fn positions_of(mut analysis: Lines) -> Vec<Value> {
    let count = analysis.next().await["positions"].as_u64().unwrap();
    let mut positions = Vec::new();
    for _ in 0..count {
        positions.push(analysis.next().await);
    }
    assert_eq!(analysis.read().await, Read::End);
    positions
}

#[tokio::test]
async fn a_finished_game_is_analysed_from_its_end_and_its_blunder_is_marked() {
    let server = crate::client::server().await;
    let id = finished_game(&server, "g1f3 f7f6 f3d4 a7a6 d4e6 a6a5 e6d8").await;
    let analysis = ask_for_analysis(&server, &id, r#"{"nodes":3000}"#).await;
    assert_eq!(analysis.headers()["content-type"], "application/x-ndjson");
    let positions = positions_of(Lines::of(analysis)).await;
    let plies: Vec<_> = positions.iter().map(|it| it["ply"].clone()).collect();
    assert_eq!(plies, [7, 6, 5, 4, 3, 2, 1, 0]);
    assert_eq!(positions[0]["score"], json!(null), "the king is gone");
    let mate = &positions[1];
    assert_eq!(mate["score"], json!({"mate": 1}));
    assert_eq!(mate["line"], json!(["Nxd8#"]));
    assert_eq!(mate["mark"], json!(null), "the best move");
    let blunder = &positions[2];
    assert_eq!(blunder["mark"], "blunder");
    assert_ne!(blunder["line"][0], "a5");
    assert!(blunder["score"]["cp"].is_i64(), "White's view: {blunder}");
}

#[tokio::test]
async fn a_score_is_of_whites_view_and_a_draw_on_the_board_is_worth_nothing() {
    let server = crate::client::server().await;
    let there_and_back = "g1f3 f7f6 f3g1 f6f5 b1c3 b8c6 c3b1 c6b8 b1c3 b8c6 c3b1 c6b8";
    let id = finished_game(&server, there_and_back).await;
    let analysis = ask_for_analysis(&server, &id, r#"{"nodes":1000}"#).await;
    let positions = positions_of(Lines::of(analysis)).await;
    let end = &positions[0];
    assert_eq!(
        (&end["ply"], &end["score"]),
        (&json!(12), &json!({"cp": 0}))
    );
}

#[tokio::test]
async fn analyses_wait_for_each_other_and_end_with_their_connection() {
    let server = crate::client::server().await;
    let id = finished_game(&server, "g1f3 f7f6 e2e3 e7e6 f1e2").await;
    let mut endless = Lines::of(ask_for_analysis(&server, &id, r#"{"nodes":10000000}"#).await);
    assert_eq!(endless.next().await["positions"], 6);
    let mut waiting = Vec::new();
    for _ in 0..7 {
        let analysis = ask_for_analysis(&server, &id, r#"{"nodes":1000}"#).await;
        waiting.push(Lines::of(analysis));
    }
    let refused = ask_for_analysis(&server, &id, "").await;
    assert_eq!(refused.status(), 429);
    // Six searches of ten million positions would take longer than a test waits.
    drop(endless);
    for analysis in waiting {
        assert_eq!(positions_of(analysis).await.len(), 6);
    }
}

#[tokio::test]
async fn only_a_finished_game_is_analysed_and_only_as_a_request_may_ask() {
    let server = crate::client::server().await;
    let (white, black) = crate::client::two_bots(&server);
    let running = crate::client::start_game(&white, &black, &[]).await;
    let refused = |response: reqwest::Response| async {
        let status = response.status().as_u16();
        let body: Value = response.json().await.unwrap();
        (status, body["error"].as_str().unwrap().to_owned())
    };
    let status_of = async |game: &str, body: &str| {
        let (status, error) = refused(ask_for_analysis(&server, game, body).await).await;
        assert!(!error.is_empty());
        status
    };
    assert_eq!(status_of("none", "").await, 404);
    white.play(&running, "e2e4").await.ok();
    let (status, error) = refused(ask_for_analysis(&server, &running, "").await).await;
    assert_eq!(
        (status, error.as_str()),
        (400, "the game is still being played")
    );
    black.play(&running, "e7e5").await.ok();
    black.at_game(&running, "resign").await.ok();
    for body in [
        r#"{"nodes":999}"#,
        r#"{"nodes":10000001}"#,
        r#"{"nodes":"many"}"#,
        r#"{"depth":20}"#,
        "hello",
    ] {
        assert_eq!(status_of(&running, body).await, 400, "{body}");
    }
    let empty = crate::client::start_game(&white, &black, &[]).await;
    white.at_game(&empty, "abort").await.ok();
    assert_eq!(status_of(&empty, "").await, 400, "without a move");
    let url = format!("{}/play/watch/{running}/analysis", server.url());
    let foreign = http().post(url).header("origin", "http://evil.example");
    assert_eq!(answer(foreign).await.status, 403);
}

#[tokio::test]
async fn a_server_that_ends_does_not_wait_for_an_analysis() {
    let server = crate::client::server().await;
    let id = finished_game(&server, "g1f3 f7f6 e2e3 e7e6 f1e2").await;
    let mut analysis = Lines::of(ask_for_analysis(&server, &id, r#"{"nodes":10000000}"#).await);
    analysis.next().await;
    server.shutdown().await;
    assert!(matches!(analysis.read().await, Read::End));
}
