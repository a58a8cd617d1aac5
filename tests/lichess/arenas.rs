//! Arenas and teams: both shapes of a tournament, and the calls that join and leave.

use std::time::Duration;

use megaton::lichess::{JoinOptions, Variant};

use crate::server::{Server, Step, ok, reply};

const JSON: &str = "application/json";
const LIST: &str = r#"{"created":[{"id":"aBcD1234","fullName":"Atomic Arena","botsAllowed":true,
    "variant":{"key":"atomic","name":"Atomic"},"clock":{"limit":180,"increment":2},"rated":true,
    "startsAt":1790000000000,"secondsToStart":120,"minutes":57,"minRating":{"rating":1600}},
    {"id":7}],"started":[],"finished":[]}"#;
const ONE: &str = r#"{"id":"aBcD1234","fullName":"Atomic Arena","botsAllowed":true,
    "variant":"atomic","clock":{"limit":180,"increment":2},"rated":true,
    "startsAt":"2026-09-21T14:13:20Z","secondsToFinish":900,"minutes":57,
    "verdicts":{"accepted":false,"list":[]}}"#;

#[tokio::test]
async fn a_tournament_is_read_from_the_list_and_from_its_own_page() {
    let server = Server::start(|request| {
        let body = match request.line.as_str() {
            "GET /api/tournament" => LIST,
            _ => ONE,
        };
        vec![Step::Send(reply("200 OK", JSON, body))]
    })
    .await;
    let client = server.client();
    let listed = client.arenas().await.unwrap().created.remove(0);
    let shown = client.arena("aBcD1234").await.unwrap();
    for arena in [&listed, &shown] {
        assert_eq!(arena.id, "aBcD1234");
        assert_eq!(arena.variant, Variant::Atomic);
        assert_eq!(arena.base, Some(Duration::from_secs(180)));
        assert!(arena.bots_allowed && arena.rated && !arena.is_finished);
    }
    assert_eq!(listed.starts_at, shown.starts_at, "a number and a text");
    assert_eq!(listed.to_start, Some(Duration::from_secs(120)));
    assert_eq!(shown.to_end, Some(Duration::from_secs(900)));
    assert_eq!(listed.entry.min_rating, Some(1600));
    assert_eq!(shown.entry.accepted, Some(false));
}

#[tokio::test]
async fn joining_and_leaving_use_their_endpoints() {
    let server = Server::start(|_| ok()).await;
    let client = server.client();
    let entrance = JoinOptions {
        password: Some("open sesame".to_owned()),
        team: Some("lichess-bots".to_owned()),
        pair_me: true,
    };
    assert!(!format!("{entrance:?}").contains("sesame"));
    client.join_arena("aBcD1234", &entrance).await.unwrap();
    client
        .join_arena("aBcD1234", &JoinOptions::default())
        .await
        .unwrap();
    client.leave_arena("aBcD1234").await.unwrap();
    client
        .join_team("lichess-bots", Some("let me in"), None)
        .await
        .unwrap();
    client.leave_team("lichess-bots").await.unwrap();
    let expected = [
        (
            "POST /api/tournament/aBcD1234/join",
            "password=open+sesame&team=lichess-bots&pairMeAsap=true",
        ),
        ("POST /api/tournament/aBcD1234/join", ""),
        ("POST /api/tournament/aBcD1234/withdraw", ""),
        ("POST /team/lichess-bots/join", "message=let+me+in"),
        ("POST /team/lichess-bots/quit", ""),
    ];
    let requests = server.requests();
    let made: Vec<_> = requests
        .iter()
        .map(|request| (request.line.as_str(), request.body.as_str()))
        .collect();
    assert_eq!(made, expected);
}
