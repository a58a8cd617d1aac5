//! Every call: its request, its result, and what it never reveals.

use std::time::{Duration, SystemTime};

use megaton::lichess::{
    ChallengeId, ChallengeOptions, ChallengeStatus, ChallengeUpdate, DeclineReason, Direction,
    Disconnect, EndpointClass, Error, GameId, OfferDraw, Reply, Room, Status, TimeControl, Timing,
    Token, UserId,
};

use crate::server::{SECRET, STREAM_HEAD, Server, Step, client, ok, reply};

const JSON: &str = "application/json";
const ACCOUNT: &str = r#"{"id":"megatonbot","username":"MegatonBot","title":"BOT",
    "perfs":{"atomic":{"games":12,"rating":1804,"rd":88,"prog":-3}},"createdAt":1790000000000,
    "count":{"all":12},"profile":{"bio":"An engine."}}"#;

fn game() -> GameId {
    GameId::new("q7ZxVt2B")
}

#[tokio::test]
async fn every_game_command_uses_its_endpoint() {
    let server = Server::start(|_| ok()).await;
    let client = server.client();
    let (game, challenge) = (game(), ChallengeId::new("Zk81mQpe"));
    client
        .make_move(&game, "e2e4", OfferDraw::No)
        .await
        .unwrap();
    client
        .make_move(&game, "e7e8q", OfferDraw::Yes)
        .await
        .unwrap();
    client.abort(&game).await.unwrap();
    client.resign(&game).await.unwrap();
    client.draw(&game, Reply::Yes).await.unwrap();
    client.draw(&game, Reply::No).await.unwrap();
    client.takeback(&game, Reply::Yes).await.unwrap();
    client.takeback(&game, Reply::No).await.unwrap();
    client.claim_victory(&game).await.unwrap();
    client.claim_draw(&game).await.unwrap();
    client
        .chat(&game, Room::Spectator, "gl & hf ☢")
        .await
        .unwrap();
    client.accept(&challenge).await.unwrap();
    client
        .decline(&challenge, DeclineReason::TooFast)
        .await
        .unwrap();
    client
        .decline(&challenge, DeclineReason::Unknown)
        .await
        .unwrap();
    client.cancel(&challenge).await.unwrap();
    client.upgrade_to_bot().await.unwrap();
    let expected = [
        ("POST /api/bot/game/q7ZxVt2B/move/e2e4", ""),
        (
            "POST /api/bot/game/q7ZxVt2B/move/e7e8q?offeringDraw=true",
            "",
        ),
        ("POST /api/bot/game/q7ZxVt2B/abort", ""),
        ("POST /api/bot/game/q7ZxVt2B/resign", ""),
        ("POST /api/bot/game/q7ZxVt2B/draw/yes", ""),
        ("POST /api/bot/game/q7ZxVt2B/draw/no", ""),
        ("POST /api/bot/game/q7ZxVt2B/takeback/yes", ""),
        ("POST /api/bot/game/q7ZxVt2B/takeback/no", ""),
        ("POST /api/bot/game/q7ZxVt2B/claim-victory", ""),
        ("POST /api/bot/game/q7ZxVt2B/claim-draw", ""),
        (
            "POST /api/bot/game/q7ZxVt2B/chat",
            "room=spectator&text=gl+%26+hf+%E2%98%A2",
        ),
        ("POST /api/challenge/Zk81mQpe/accept", ""),
        ("POST /api/challenge/Zk81mQpe/decline", "reason=tooFast"),
        ("POST /api/challenge/Zk81mQpe/decline", "reason=generic"),
        ("POST /api/challenge/Zk81mQpe/cancel", ""),
        ("POST /api/bot/account/upgrade", ""),
    ];
    let requests = server.requests();
    let asked: Vec<_> = requests
        .iter()
        .map(|request| (request.line.as_str(), request.body.as_str()))
        .collect();
    assert_eq!(asked, expected);
    for request in &requests {
        let authorization = format!("Bearer {SECRET}");
        assert_eq!(request.header("authorization"), Some(&*authorization));
        assert_eq!(request.header("accept"), Some(JSON));
        let length = request.body.len().to_string();
        assert_eq!(request.header("content-length"), Some(&*length));
        let form = (!request.body.is_empty()).then_some("application/x-www-form-urlencoded");
        assert_eq!(request.header("content-type"), form);
    }
}

#[tokio::test]
async fn the_account_is_named_in_the_user_agent_once_it_is_known() {
    let server = Server::answering("200 OK", JSON, ACCOUNT).await;
    let client = server.client();
    let account = client.account().await.unwrap();
    assert!(account.is_bot() && account.id == UserId::new("MegatonBot"));
    assert_eq!(account.atomic().and_then(|perf| perf.rating), Some(1804));
    assert_eq!(account.games, Some(12));
    assert_eq!(account.bio.as_deref(), Some("An engine."));
    client.abort(&game()).await.unwrap();
    let agents: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("user-agent").unwrap().to_owned())
        .collect();
    let nameless = concat!(
        "Megaton/",
        env!("CARGO_PKG_VERSION"),
        " (+operator@example.org)"
    );
    assert_eq!(
        agents,
        [nameless.to_owned(), format!("{nameless} user:MegatonBot")]
    );
}

#[tokio::test]
async fn a_401_is_retried_without_our_name_before_any_alert() {
    let refusal = reply(
        "401 Unauthorized",
        JSON,
        r#"{"error":"user-agent mismatch"}"#,
    );
    let server = Server::start(move |request| {
        if request.line.contains("account") {
            return vec![Step::Send(reply("200 OK", JSON, ACCOUNT))];
        }
        if request.header("user-agent").unwrap().contains("user:") {
            return vec![Step::Send(refusal.clone())];
        }
        ok()
    })
    .await;
    let client = server.client();
    client.account().await.unwrap();
    client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 3);
    // The name is not tried again.
    client
        .make_move(&game(), "d2d4", OfferDraw::No)
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 4);
}

#[tokio::test]
async fn a_401_not_about_our_name_is_reported_after_one_retry() {
    let refusal = reply("401 Unauthorized", JSON, r#"{"error":"No such token"}"#);
    let server = Server::start(move |request| {
        if request.line.contains("account") {
            return vec![Step::Send(reply("200 OK", JSON, ACCOUNT))];
        }
        vec![Step::Send(refusal.clone())]
    })
    .await;
    let client = server.client();
    client.account().await.unwrap();
    let error = client.resign(&game()).await.unwrap_err();
    assert!(error.is_unauthorized(), "{error}");
    assert_eq!(error.to_string(), "refused with status 401: No such token");
    let nameless = client.abort(&game()).await.unwrap_err();
    assert!(nameless.is_unauthorized());
    assert_eq!(server.requests().len(), 5);
}

#[tokio::test]
async fn running_games_are_listed_whatever_the_shape_of_their_status() {
    let body = r#"{"nowPlaying":[
        {"gameId":"a","fullId":"axxx","color":"white","isMyTurn":true,"secondsLeft":9},
        {"gameId":"b","status":"started","opponent":{"id":"x","username":"BOT X"}},
        {"gameId":"c","status":{"id":20,"name":"started"}},
        {"color":"black"}],"nbMyTurn":1}"#;
    let server = Server::answering("200 OK", JSON, body).await;
    let playing = server.client().playing().await.unwrap();
    let games: Vec<_> = playing
        .games
        .iter()
        .map(|g| (g.id.as_str(), g.status))
        .collect();
    let started = Some(Status::Started);
    assert_eq!(games, [("a", None), ("b", started), ("c", started)]);
    assert_eq!(server.requests()[0].line, "GET /api/account/playing?nb=50");
}

#[tokio::test]
async fn a_token_is_tested_in_the_body_of_a_post() {
    let body = format!(
        r#"{{"{SECRET}":{{"userId":"MegatonBot","scopes":"bot:play,challenge:read",
            "expires":1800000000000}}}}"#
    );
    let server = Server::answering("200 OK", JSON, &body).await;
    let token = server.client().test_token().await.unwrap().unwrap();
    assert_eq!(token.user, UserId::new("megatonbot"));
    assert!(token.allows("bot:play") && !token.allows("msg:write"));
    assert!(token.expires.unwrap() > SystemTime::UNIX_EPOCH);
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /api/token/test");
    assert_eq!(request.body, SECRET);
    assert_eq!(request.header("content-type"), Some("text/plain"));
    let body = format!(r#"{{"{SECRET}":null}}"#);
    let server = Server::answering("200 OK", JSON, &body).await;
    assert_eq!(server.client().test_token().await.unwrap(), None);
}

#[tokio::test]
async fn challenges_are_made_and_listed() {
    let challenge = r#"{"id":"D3cl1ned","status":"created","rated":false,"direction":"out",
        "timeControl":{"type":"clock","limit":60,"increment":1}}"#;
    let server = Server::start(move |request| {
        let body = match request.line.as_str() {
            "GET /api/challenge" => format!(r#"{{"in":[{challenge}],"out":[{challenge},7]}}"#),
            _ => format!(r#"{{"challenge":{challenge}}}"#),
        };
        vec![Step::Send(reply("200 OK", JSON, &body))]
    })
    .await;
    let client = server.client();
    let options = ChallengeOptions {
        rated: true,
        time_control: TimeControl::Clock {
            limit: Duration::from_secs(60),
            increment: Duration::from_secs(1),
        },
        ..ChallengeOptions::default()
    };
    let user = UserId::new("NukeEngine");
    let made = client.create_challenge(&user, &options).await.unwrap();
    assert!(!made.rated, "the answer counts, not the question");
    assert_eq!(made.direction, Some(Direction::Out));
    let listed = client.challenges().await.unwrap();
    assert_eq!((listed.incoming.len(), listed.outgoing.len()), (1, 1));
    let request = &server.requests()[0];
    assert_eq!(request.line, "POST /api/challenge/nukeengine");
    assert_eq!(
        request.body,
        "rated=true&color=random&variant=atomic&clock.limit=60&clock.increment=1"
    );
}

#[tokio::test]
async fn a_challenge_can_be_kept_alive_to_its_end() {
    let lines = "{\"id\":\"kept\",\"status\":\"created\"}\n\n\n{\"done\":\"declined\"}\n";
    let steps = vec![
        Step::Send(STREAM_HEAD.into()),
        Step::Send(lines.into()),
        Step::Close,
    ];
    let server = Server::start(move |_| steps.clone()).await;
    let user = UserId::new("x");
    let options = ChallengeOptions::default();
    let mut stream = server
        .client()
        .keep_challenge(&user, &options)
        .await
        .unwrap();
    let ChallengeUpdate::Created(created) = stream.next().await.unwrap().event else {
        panic!("not created");
    };
    assert_eq!(created.id, ChallengeId::new("kept"));
    let done = ChallengeUpdate::Done(ChallengeStatus::Declined);
    assert_eq!(stream.next().await.unwrap().event, done);
    assert!(server.requests()[0].body.ends_with("&keepAliveStream=true"));
}

#[tokio::test]
async fn a_kept_challenge_that_is_refused_says_so() {
    let body = r#"{"global":["Invalid clock"],"error":{"global":["Invalid clock"]}}"#;
    let server = Server::answering("400 Bad Request", JSON, body).await;
    let (user, options) = (UserId::new("x"), ChallengeOptions::default());
    let disconnect = server
        .client()
        .keep_challenge(&user, &options)
        .await
        .unwrap_err();
    assert!(
        disconnect.to_string().contains("Invalid clock"),
        "{disconnect}"
    );
}

#[tokio::test]
async fn a_challenge_whose_call_gets_no_answer_is_given_up_after_the_time_of_a_call() {
    let server = Server::start(|_| vec![Step::Hang]).await;
    let timing = Timing {
        call: Duration::from_millis(60),
        ..Timing::default()
    };
    let client = client(&server.url(), timing);
    let (user, options) = (UserId::new("x"), ChallengeOptions::default());
    let kept = client.keep_challenge(&user, &options);
    let ended = tokio::time::timeout(Duration::from_secs(20), kept).await;
    assert!(matches!(ended, Ok(Err(Disconnect::Silent(_)))), "{ended:?}");
}

#[tokio::test]
async fn a_long_list_of_challenges_is_read() {
    let challenge = format!(
        r#"{{"id":"abcdefgh","challenger":{{"id":"x","name":"X"}},"variant":{{"key":"atomic"}},"pad":"{}"}}"#,
        "-".repeat(400)
    );
    let incoming = vec![challenge; 300].join(",");
    let body = format!(r#"{{"in":[{incoming}],"out":[]}}"#);
    let server = Server::answering("200 OK", JSON, &body).await;
    let listed = server.client().challenges().await.unwrap();
    assert_eq!(listed.incoming.len(), 300);
}

#[tokio::test]
async fn asking_for_the_account_during_an_outage_uses_up_no_limit() {
    let server = Server::answering("503 Service Unavailable", "text/html", "<html>").await;
    let client = server.client();
    for number in 0..60 {
        let error = client.account().await.unwrap_err();
        assert!(error.is_transient(), "{number}: {error}");
    }
}

#[tokio::test]
async fn chat_is_read_as_an_array_and_as_lines() {
    let array = r#"[{"text":"hi","user":"A"},{"user":"B"},{"text":"gl","user":"B"}]"#;
    let lines = "{\"text\":\"hi\",\"user\":\"A\"}\n\n{\"text\":\"gl\",\"user\":\"B\"}\n";
    for body in [array, lines] {
        let server = Server::answering("200 OK", JSON, body).await;
        let chat = server.client().fetch_chat(&game()).await.unwrap();
        let said: Vec<_> = chat
            .iter()
            .map(|l| (l.username.as_str(), l.text.as_str()))
            .collect();
        assert_eq!(said, [("A", "hi"), ("B", "gl")]);
    }
}

#[tokio::test]
async fn bots_online_are_read_line_by_line() {
    let one = r#"{"id":"b0","username":"B0","title":"BOT","perfs":{"atomic":{"games":1}}}"#;
    let many = format!("{one}\nnot json\n").repeat(300);
    let server = Server::answering("200 OK", "application/x-ndjson", &many).await;
    let bots = server.client().online_bots(300).await.unwrap();
    assert_eq!(bots.len(), 300);
    assert_eq!(server.requests()[0].line, "GET /api/bot/online?nb=300");
}

#[tokio::test]
async fn an_unintelligible_answer_is_a_protocol_error() {
    for body in ["[]", "7", "", r#"{"username":"x"}"#, "{\"id\":"] {
        let server = Server::answering("200 OK", JSON, body).await;
        let error = server.client().account().await.unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{body}: {error:?}");
    }
}

#[tokio::test]
async fn an_endless_answer_is_cut() {
    let endless = vec![b' '; 1 << 20];
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    let steps = vec![Step::Send(head.into()), Step::Send(endless), Step::Hang];
    let server = Server::start(move |_| steps.clone()).await;
    let error = server.client().account().await.unwrap_err();
    assert!(error.to_string().contains("too long"), "{error}");
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_token() {
    let elsewhere = Server::start(|_| ok()).await;
    let head = format!(
        "HTTP/1.1 301 Moved Permanently\r\nlocation: {}/api/account\r\ncontent-length: 0\r\n\r\n",
        elsewhere.url()
    );
    let server = Server::start(move |_| vec![Step::Send(head.clone().into())]).await;
    let error = server.client().account().await.unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_lost_answer_is_transient_and_the_call_is_not_repeated() {
    for step in [Step::Close, Step::Reset] {
        let server = Server::start(move |_| vec![step.clone()]).await;
        let lost = server
            .client()
            .make_move(&game(), "e2e4", OfferDraw::No)
            .await;
        let Err(Error::Transient { status: None, .. }) = lost else {
            panic!("{lost:?}");
        };
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_is_transient() {
    let server = Server::start(|_| vec![Step::Hang]).await;
    let timing = Timing {
        move_call: Duration::from_millis(60),
        ..Timing::default()
    };
    let client = client(&server.url(), timing);
    let late = client
        .make_move(&game(), "e2e4", OfferDraw::No)
        .await
        .unwrap_err();
    assert_eq!(late.to_string(), "no answer in time");
}

#[tokio::test]
async fn an_ok_to_a_move_counts_even_if_its_body_breaks_off() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{";
    for end in [Step::Close, Step::Reset] {
        let steps = vec![Step::Send(head.into()), end];
        let server = Server::start(move |_| steps.clone()).await;
        let client = server.client();
        client
            .make_move(&game(), "e2e4", OfferDraw::No)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn no_error_shows_the_token() {
    let echo = format!(r#"{{"error":"bad"}}{SECRET}"#);
    let server = Server::answering("500 Oops", "text/html", &echo).await;
    let client = server.client();
    let answered = client.test_token().await.unwrap_err();
    let unopened = client.events().await.unwrap_err();
    drop(server);
    let unanswered = client.test_token().await.unwrap_err();
    let shown = format!("{client:?} {answered:?} {unopened:?} {unanswered:?}");
    assert!(!shown.contains(SECRET), "{shown}");
}

#[tokio::test]
async fn who_may_not_make_challenges_is_not_taken_for_one_who_may_not_play() {
    let forbidden = r#"{"error":"no"}"#;
    let server = Server::answering("403 Forbidden", JSON, forbidden).await;
    let client = server.client();
    let (user, options) = (UserId::new("someone"), ChallengeOptions::default());
    for _ in 0..3 {
        assert!(client.keep_challenge(&user, &options).await.is_err());
        client.doubted().await;
    }
    assert_eq!(client.forbidden(), None);
    assert!(client.accept(&ChallengeId::new("Zk81mQpe")).await.is_err());
    assert_eq!(client.forbidden(), Some((EndpointClass::Answer, 1)));
}

#[tokio::test]
async fn no_error_repeats_a_token_that_the_server_repeats() {
    let other = Token::parse("lip_another", "the test").unwrap();
    let said = format!("what is {SECRET} or lip_another?");
    let json = format!(r#"{{"error":"{said}","ratelimit":{{"key":"{SECRET}","seconds":1}}}}"#);
    let object = format!(r#"{{"{SECRET}":"{said}"}}"#);
    for (status, kind, body) in [
        ("401 Unauthorized", JSON, &json),
        ("400 Bad Request", JSON, &object),
        ("404 Not Found", "text/plain", &said),
        ("429 Too Many Requests", JSON, &json),
        ("502 Bad Gateway", "text/plain", &said),
        ("200 OK", JSON, &object),
    ] {
        let server = Server::answering(status, kind, body).await;
        let client = server.client();
        let explorer = client.explorer_server(&server.url(), Duration::from_secs(20));
        let explorer = explorer.unwrap();
        let of_ours = format!(
            "{:?} {:?} {:?}",
            client.test_token().await.unwrap_err(),
            client.events().await.err(),
            explorer
                .explore("8/8/8/8/8/8/8/K1k5 w - -")
                .await
                .unwrap_err(),
        );
        let of_both = format!(
            "{:?} {:?}",
            client.test_other_token(&other).await.unwrap_err(),
            client.account_of(&other).await.unwrap_err(),
        );
        assert!(!of_ours.contains(SECRET), "{status}: {of_ours}");
        let is_hidden = !of_both.contains(SECRET) && !of_both.contains("lip_another");
        assert!(is_hidden, "{status}: {of_both}");
    }
}
