//! The page's API: a visitor plays the bot over it.

use megaton::practice::{Options, Server, ServerHandle, Timing};
use serde_json::{Value, json};

use crate::client::{Answer, Bot, HANG, answer, http};

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
    visitor.post("rematch").await.ok();
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
    page.until(|it| it["drawOffer"].is_null() && it["ply"] == 2)
        .await;
    visitor.post("draw/yes").await.ok();
    page.until(|it| it["drawOffer"] == "white").await;
    bot.at_game(&id, "draw/yes").await.ok();
    page.until(|it| it["status"] == "draw").await;
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
