//! The published schema, if present beside the project: its examples and its vocabularies.

use megaton::lichess::{
    ChallengeStatus, ColorChoice, Event, GameEvent, Side, Speed, Status, TableCategory, UserId,
    Variant,
};
use serde_json::Value;

use crate::recorded::shared;
use crate::server::Server;

fn schema() -> Option<Value> {
    let text = shared("lichess-api.yaml")?;
    Some(serde_norway::from_str(&text).unwrap())
}

fn example(schema: &Value, name: &str) -> String {
    let value = &schema["components"]["examples"][name]["value"];
    assert!(!value.is_null(), "no example {name}");
    value.to_string()
}

#[test]
fn every_example_of_the_event_stream_is_understood_whole() {
    let Some(schema) = schema() else {
        return;
    };
    let examples = schema["components"]["examples"].as_object().unwrap();
    let mut count = 0;
    for (name, example) in examples
        .iter()
        .filter(|(name, _)| name.starts_with("stream-"))
    {
        let read = Event::from_line(&example["value"].to_string()).unwrap();
        assert_eq!(read.dropped, [], "{name}");
        assert!(!matches!(read.value, Event::Unknown { .. }), "{name}");
        count += 1;
    }
    assert!(count >= 7, "{count} examples");
}

#[test]
fn every_example_of_the_game_stream_is_understood_whole() {
    let Some(schema) = schema() else {
        return;
    };
    for name in [
        "GameFullEvent",
        "GameStateEvent",
        "ChatLineEvent",
        "OpponentGoneEvent",
    ] {
        let example = &schema["components"]["schemas"][name]["example"];
        let read = GameEvent::from_line(&example.to_string()).unwrap();
        assert_eq!(read.dropped, [], "{name}");
        assert!(!matches!(read.value, GameEvent::Unknown { .. }), "{name}");
    }
}

fn words<'s>(schema: &'s Value, name: &str) -> impl Iterator<Item = &'s str> {
    let words = &schema["components"]["schemas"][name]["enum"];
    words
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
}

#[test]
fn every_word_of_the_schema_is_known() {
    let Some(schema) = schema() else {
        return;
    };
    for word in words(&schema, "GameStatusName") {
        assert_ne!(Status::from_word(word), Status::Unknown, "{word}");
    }
    for word in words(&schema, "Speed") {
        assert_ne!(Speed::from_word(word), Speed::Unknown, "{word}");
    }
    let categories = &schema["components"]["schemas"]["TablebaseJson"]["properties"]["category"];
    for word in categories["enum"].as_array().unwrap() {
        let category: TableCategory = serde_json::from_value(word.clone()).unwrap();
        assert_eq!(
            category == TableCategory::Unknown,
            word == "unknown",
            "{word}"
        );
    }
    for word in words(&schema, "VariantKey") {
        assert_ne!(Variant::from_word(word), Variant::Unknown, "{word}");
    }
    for word in words(&schema, "ChallengeStatus") {
        let status = ChallengeStatus::from_word(word);
        assert_ne!(status, ChallengeStatus::Unknown, "{word}");
    }
    for word in words(&schema, "ChallengeColor") {
        assert_ne!(ColorChoice::from_word(word), ColorChoice::Unknown, "{word}");
    }
    let numbers = &schema["components"]["schemas"]["GameStatusId"]["enum"];
    for number in numbers.as_array().unwrap() {
        let status = Status::from_number(number.as_u64().unwrap());
        assert_ne!(status, Status::Unknown, "{number}");
    }
}

#[tokio::test]
async fn the_examples_of_the_calls_are_understood() {
    let Some(schema) = schema() else {
        return;
    };
    let serve = async |name: &str| {
        let body = example(&schema, name);
        let server = Server::answering("200 OK", "application/json", &body).await;
        (server.client(), server)
    };
    let (client, _server) = serve("account-getMyProfile.json").await;
    let account = client.account().await.unwrap();
    assert!(!account.perfs.is_empty() && account.created_at.is_some());
    let (client, _server) = serve("challenges-createChallenge.json").await;
    let options = megaton::lichess::ChallengeOptions::default();
    let made = client.create_challenge(&UserId::new("x"), &options).await;
    assert!(made.unwrap().challenger.is_some());
    let (client, _server) = serve("challenges-listYourChallenges.json").await;
    let listed = client.challenges().await.unwrap();
    assert!(!listed.incoming.is_empty() && listed.outgoing.is_empty());
    let (client, _server) = serve("oauth-testMultipleOauthTokens.json").await;
    client.test_token().await.unwrap();
    let (client, _server) = serve("bot-getOnlineBots.json").await;
    let bots = client.online_bots(1).await.unwrap();
    assert!(bots[0].is_bot() && bots[0].bio.is_some());
}

#[tokio::test]
async fn the_examples_of_the_look_up_services_are_understood() {
    let Some(schema) = schema() else {
        return;
    };
    let (time, fen) = (
        std::time::Duration::from_secs(20),
        "8/8/8/8/8/8/8/8 w - - 0 1",
    );
    let serve = async |name: &str| {
        let body = example(&schema, name) + "\n";
        Server::answering("200 OK", "application/json", &body).await
    };
    let server = serve("tablebase-lookupAtomic.json").await;
    let tables = server.client().table_server(&server.url(), time).unwrap();
    let reply = tables.table(fen).await.unwrap();
    // Of a position that they do not know.
    assert_eq!((reply.category, reply.dtz), (TableCategory::Unknown, None));
    let listed = &schema["components"]["examples"]["tablebase-lookupAtomic.json"]["value"]["moves"];
    assert_eq!(Some(reply.moves.len()), listed.as_array().map(Vec::len));
    let request = &server.requests()[0];
    assert_eq!(
        request.header("authorization"),
        None,
        "the tables get no token"
    );
    assert!(
        request.line.starts_with("GET /atomic?fen=8"),
        "{}",
        request.line
    );

    let server = serve("tablebase-lookupStandard.json").await;
    let tables = server.client().table_server(&server.url(), time).unwrap();
    let reply = tables.table(fen).await.unwrap();
    assert_eq!(reply.category, TableCategory::Win);
    assert_eq!(reply.moves[0].category, TableCategory::Loss);
    assert!(reply.precise_dtz.is_some() && reply.moves[0].dtz.is_some());

    let server = serve("openingExplorer-lichess.json").await;
    let explorer = server
        .client()
        .explorer_server(&server.url(), time)
        .unwrap();
    let reply = explorer.explore(fen).await.unwrap();
    assert!(!reply.moves.is_empty() && reply.moves[0].games() > 0);
    let request = &server.requests()[0];
    assert!(request.header("authorization").is_some());
    assert!(request.line.contains("variant=atomic"), "{}", request.line);

    let server = serve("openingExplorer-player.json").await;
    let explorer = server
        .client()
        .explorer_server(&server.url(), time)
        .unwrap();
    let player = UserId::new("blastcap");
    let reply = explorer
        .explore_player(&player, Side::White, fen)
        .await
        .unwrap();
    assert!(!reply.moves.is_empty());
}
