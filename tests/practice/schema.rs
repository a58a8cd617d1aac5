//! What the server says, held against the published description of the API.

use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

use jsonschema::Validator;
use megaton::practice::{ArenaPlan, ServerHandle};
use serde_json::{Value, json};

use crate::client::{Bot, Lines, Read, server, start_game, two_bots};

/// Where the server rightly differs from the description: schema, place in the instance, and the
/// section of the protocol document that says so.
const KNOWN_DEVIATIONS: [(&str, &str, &str); 2] = [
    (
        "/api/account/playing",
        "/nowPlaying/0/status",
        "1.1: the server writes {id,name} here",
    ),
    ("Error", "/error", "1.0: a form's complaint is an object"),
];

/// The published description.
struct Description {
    document: Value,
    validators: HashMap<String, Validator>,
    checked: HashMap<String, usize>,
    complaints: Vec<String>,
}

impl Description {
    fn read() -> Option<Self> {
        let shared = std::env::var_os("MEGATON_SHARED").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared"),
            PathBuf::from,
        );
        let Ok(text) = std::fs::read_to_string(shared.join("lichess-api.yaml")) else {
            let mut stderr = std::io::stderr();
            writeln!(stderr, "SKIPPED schemas: no {}", shared.display()).unwrap();
            return None;
        };
        Some(Self {
            document: serde_norway::from_str(&text).unwrap(),
            validators: HashMap::new(),
            checked: HashMap::new(),
            complaints: Vec::new(),
        })
    }

    /// The schema of that name, or of the answer of a GET at that path.
    fn validator(&mut self, name: &str) -> &Validator {
        let document = &self.document;
        self.validators.entry(name.to_owned()).or_insert_with(|| {
            let mut schema = if name.starts_with('/') {
                let operations = &document["paths"][name];
                let operation = operations.get("get").unwrap_or(&operations["post"]);
                operation["responses"]["200"]["content"]["application/json"]["schema"].clone()
            } else {
                json!({ "$ref": format!("#/components/schemas/{name}") })
            };
            assert!(schema.is_object(), "{name} is not described");
            schema["components"] = document["components"].clone();
            jsonschema::draft202012::new(&schema).unwrap()
        })
    }

    fn check(&mut self, name: &str, value: &Value) {
        *self.checked.entry(name.to_owned()).or_default() += 1;
        let errors: Vec<(String, String)> = self
            .validator(name)
            .iter_errors(value)
            .map(|error| (error.instance_path().to_string(), error.to_string()))
            .collect();
        for (place, error) in errors {
            let known = KNOWN_DEVIATIONS
                .iter()
                .any(|(schema, at, _)| *schema == name && place == *at);
            if !known {
                self.complaints
                    .push(format!("{name}{place}: {error}\n    {value}"));
            }
        }
    }

    fn check_event(&mut self, event: &Value) {
        let name = match event["type"].as_str().unwrap() {
            "gameStart" => "GameStartEvent",
            "gameFinish" => "GameFinishEvent",
            "challenge" => "ChallengeEvent",
            "challengeCanceled" => "ChallengeCanceledEvent",
            "challengeDeclined" => "ChallengeDeclinedEvent",
            "gameFull" => "GameFullEvent",
            "gameState" => "GameStateEvent",
            "chatLine" => "ChatLineEvent",
            "opponentGone" => "OpponentGoneEvent",
            other => panic!("{other} is not an event"),
        };
        self.check(name, event);
    }
}

/// Reads a stream up to its end or to a line of this type.
async fn drain(mut lines: Lines, last: &str) -> Vec<Value> {
    let mut read = Vec::new();
    loop {
        match lines.read().await {
            Read::Line(line) => read.push(line),
            Read::KeepAlive => {}
            Read::End | Read::Broken => return read,
        }
        if read.last().is_some_and(|line| line["type"] == last) {
            return read;
        }
    }
}

/// Challenges of all kinds with their answers, declined, cancelled and refused.
async fn challenges(known: &mut Description, one: &Bot, two: &Bot) {
    let wishes: [&[(&str, &str)]; 4] = [
        &[],
        &[("color", "random"), ("rated", "true")],
        &[("clock.limit", ""), ("clock.increment", ""), ("days", "2")],
        &[
            ("clock.limit", ""),
            ("clock.increment", ""),
            ("variant", "threeCheck"),
        ],
    ];
    for (at, request) in wishes.into_iter().enumerate() {
        let made = one.challenge(two, request).await.ok();
        known.check("ChallengeJson", &made);
        known.check("/api/challenge", &two.get("/api/challenge").await.ok());
        let id = made["id"].as_str().unwrap();
        let form = [("reason", "timeControl")];
        if at % 2 == 0 {
            two.post_form(&format!("/api/challenge/{id}/decline"), &form)
                .await
                .ok();
        } else {
            known.check(
                "Ok",
                &one.post(&format!("/api/challenge/{id}/cancel")).await.ok(),
            );
        }
    }
    for request in [[("clock.limit", "61")], [("rules", "noAbort")]] {
        known.check("Error", &one.challenge(two, &request).await.json());
    }
}

/// A rated game with an offer, chat, an absence, and an explosion at its end.
async fn game(known: &mut Description, one: &Bot, two: &Bot) {
    let id = start_game(one, two, &[("rated", "true")]).await;
    let mut stream = one.game(&id).await;
    known.check_event(&stream.next().await);
    for (ply, uci) in "g1f3 f7f6 e2e3 e7e6 f1e2 d7d5 e1g1".split(' ').enumerate() {
        let mover = if ply % 2 == 0 { one } else { two };
        known.check("Ok", &mover.play(&id, uci).await.ok());
    }
    known.check("Error", &one.play(&id, "e2e4").await.json());
    loop {
        let line = stream.next().await;
        known.check_event(&line);
        if line["type"] == "opponentGone" {
            break;
        }
    }
    let path = format!("/api/bot/game/{id}/chat");
    one.post_form(&path, &[("room", "player"), ("text", "hello")])
        .await
        .ok();
    known.check("PlayerGameChat", &one.get(&path).await.ok());
    known.check(
        "/api/account/playing",
        &one.get("/api/account/playing").await.ok(),
    );
    two.at_game(&id, "move/f8d6?offeringDraw=true").await.ok();
    one.play(&id, "f3d4").await.ok();
    let export = format!("/game/export/{id}");
    known.check("GameJson", &one.get_json(&export).await.ok());
    two.play(&id, "d6h2").await.ok();
    known.check("GameJson", &one.get_json(&export).await.ok());
    for line in drain(stream, "").await {
        known.check_event(&line);
    }
}

/// An arena ahead and one that runs, in both shapes, and a game of it.
async fn arenas(known: &mut Description, server: &ServerHandle, one: &Bot, two: &Bot) {
    let ahead = server.open_arena(ArenaPlan {
        starts_in: 3600,
        min_rating: Some(1600),
        team: Some("bombers".to_owned()),
        battle: vec!["bombers".to_owned()],
        ..ArenaPlan::default()
    });
    let running = server.open_arena(ArenaPlan::default());
    let mut events = one.events().await;
    for bot in [one, two] {
        let path = format!("/api/tournament/{}/join", running.as_ref().unwrap());
        let joined = bot.post_form(&path, &[("pairMeAsap", "true")]).await;
        known.check("Ok", &joined.ok());
    }
    let start = events.next_of("gameStart").await;
    known.check_event(&start);
    let id = start["game"]["id"].as_str().unwrap();
    known.check_event(&one.game(id).await.next().await);
    known.check("/api/tournament", &one.get("/api/tournament").await.ok());
    for arena in [ahead, running].into_iter().flatten() {
        let path = format!("/api/tournament/{arena}");
        known.check("ArenaTournamentFull", &one.get(&path).await.ok());
    }
}

/// Tables of a known, a lost, a finished and an unknown position; the explorer for all and for a player.
async fn lookups(known: &mut Description, one: &Bot) {
    for fen in [
        "8/8/4k3/8/8/3K3P/7P/8_w_-_-_0_1",
        "8/8/4k3/8/8/3K3P/7P/8_b_-_-_0_1",
        "8/8/8/8/8/3K4/8/8_w_-_-_0_1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR_w_KQkq_-_0_1",
    ] {
        let answer = one.get(&format!("/atomic?fen={fen}")).await;
        if answer.status == 200 {
            known.check("TablebaseJson", &answer.json());
        } else {
            assert_eq!(
                (answer.status, answer.text.as_str()),
                (400, "invalid fen"),
                "{fen}"
            );
        }
    }
    let start = one.get("/lichess?variant=atomic").await.ok();
    assert!(
        start["moves"]
            .as_array()
            .is_some_and(|moves| moves.len() > 2)
    );
    known.check("OpeningExplorerLichess", &start);
    let lost = one.get("/lichess?variant=atomic&play=a2a3,a7a6").await.ok();
    assert_eq!((&lost["white"], &lost["moves"]), (&json!(0), &json!([])));
    known.check("OpeningExplorerLichess", &lost);
    let path = "/player?variant=atomic&player=whitebot&color=white";
    let lines = one.get(path).await.text;
    assert_eq!(lines.lines().count(), 2);
    for line in lines.lines() {
        known.check(
            "OpeningExplorerPlayer",
            &serde_json::from_str(line).unwrap(),
        );
    }
    assert_eq!(one.get("/lichess?variant=standard").await.status, 400);
    assert_eq!(one.get("/player?variant=atomic").await.status, 400);
}

#[tokio::test]
async fn every_shape_is_as_described() {
    let Some(mut known) = Description::read() else {
        return;
    };
    let server = server().await;
    let (one, two) = two_bots(&server);
    let events = two.events().await;
    challenges(&mut known, &one, &two).await;
    game(&mut known, &one, &two).await;
    for line in drain(events, "gameFinish").await {
        known.check_event(&line);
    }
    arenas(&mut known, &server, &one, &two).await;
    lookups(&mut known, &one).await;
    known.check("UserExtended", &one.get("/api/account").await.ok());
    known.check("UserExtended", &one.get("/api/user/BlackBot").await.ok());
    let statuses = one
        .get("/api/users/status?ids=whitebot,blackbot")
        .await
        .ok();
    known.check("/api/users/status", &statuses);
    let online = two.get("/api/bot/online").await.text;
    for bot in online.lines() {
        known.check("User", &serde_json::from_str(bot).unwrap());
    }
    let tokens = one
        .request(reqwest::Method::POST, "/api/token/test")
        .body(one.token.clone());
    known.check("/api/token/test", &crate::client::answer(tokens).await.ok());
    known.check("NotFound", &one.get("/api/user/nobody").await.json());
    assert!(
        known.complaints.is_empty(),
        "{}",
        known.complaints.join("\n")
    );
    for name in [
        "ChallengeDeclinedEvent",
        "GameFinishEvent",
        "OpponentGoneEvent",
        "ChatLineEvent",
    ] {
        assert!(known.checked.contains_key(name), "no {name} was seen");
    }
}
