//! Every kind of disconnect, over a real socket.

use std::time::{Duration, Instant};

use megaton::lichess::{
    Disconnect, EndpointClass, Error, Event, EventBackoff, GameEvent, GameId, Timing,
};

use crate::server::{STREAM_HEAD, Server, Step, client, reply};

const GONE: &str = "{\"type\":\"opponentGone\",\"gone\":true,\"claimWinInSeconds\":9}\n";
const PATIENCE: Duration = Duration::from_secs(10);

fn game() -> GameId {
    GameId::new("q7ZxVt2B")
}

fn send(text: &str) -> Step {
    Step::Send(text.into())
}

/// Opens a game's stream on a server that continues as told after the head, and returns the loss
/// and how many records came before it.
async fn lose(steps: Vec<Step>) -> (Disconnect, usize) {
    let server = Server::streaming(steps).await;
    let mut stream = server.client().game(&game(), PATIENCE).await.unwrap();
    let mut records = 0;
    loop {
        match stream.next().await {
            Ok(_) => records += 1,
            Err(disconnect) => return (disconnect, records),
        }
    }
}

#[tokio::test]
async fn silence_is_a_disconnect() {
    let idle = Timing::default().faster(50).game_idle;
    let begun = Instant::now();
    let (disconnect, records) = lose(vec![send(GONE), Step::Hang]).await;
    assert_eq!((disconnect, records), (Disconnect::Silent(idle), 1));
    assert!(begun.elapsed() >= idle);
}

#[tokio::test]
async fn half_a_line_and_then_silence_is_a_disconnect() {
    let (disconnect, records) = lose(vec![send(GONE), send(&GONE[..20]), Step::Hang]).await;
    assert!(
        matches!(disconnect, Disconnect::Silent(_)),
        "{disconnect:?}"
    );
    assert_eq!(records, 1);
}

#[tokio::test]
async fn blank_lines_keep_a_stream_alive_and_are_no_records() {
    let idle = Timing::default().faster(50).game_idle;
    let mut steps = Vec::new();
    for _ in 0..8 {
        steps.extend([send("\r\n"), Step::Wait(idle / 3), send("\n")]);
    }
    steps.extend([send(GONE), Step::Close]);
    let begun = Instant::now();
    let (disconnect, records) = lose(steps).await;
    assert_eq!((disconnect, records), (Disconnect::Ended, 1));
    assert!(begun.elapsed() > idle * 2);
}

#[tokio::test]
async fn the_arrival_of_a_blank_line_is_stamped() {
    let pause = Duration::from_millis(30);
    let steps = vec![send(GONE), Step::Wait(pause), send("\n"), Step::Hang];
    let server = Server::streaming(steps).await;
    let mut stream = server.client().game(&game(), PATIENCE).await.unwrap();
    let first = stream.next().await.unwrap();
    assert!(first.at >= stream.opened_at() && first.at == stream.last_received());
    stream.next().await.unwrap_err();
    assert!(stream.last_received() >= first.at + pause);
}

#[tokio::test]
async fn an_orderly_end_is_a_disconnect() {
    let (disconnect, records) = lose(vec![send(GONE), Step::Close]).await;
    assert_eq!((disconnect, records), (Disconnect::Ended, 1));
}

#[tokio::test]
async fn a_broken_connection_is_a_disconnect() {
    let wait = Step::Wait(Duration::from_millis(50));
    let (disconnect, records) = lose(vec![send(GONE), wait, Step::Reset]).await;
    assert!(matches!(disconnect, Disconnect::Reset(_)), "{disconnect:?}");
    assert_eq!(records, 1);
}

#[tokio::test]
async fn a_truncated_chunked_stream_is_a_disconnect() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = format!("{:x}\r\n{GONE}\r\n40\r\n{{\"type\"", GONE.len());
    let server = Server::start(move |_| vec![send(head), send(&chunk), Step::Close]).await;
    let mut stream = server.client().game(&game(), PATIENCE).await.unwrap();
    assert!(matches!(
        stream.next().await.unwrap().event,
        GameEvent::OpponentGone(_)
    ));
    let disconnect = stream.next().await.unwrap_err();
    assert!(matches!(disconnect, Disconnect::Reset(_)), "{disconnect:?}");
}

#[tokio::test]
async fn invalid_json_is_a_disconnect_with_its_position() {
    let (disconnect, records) = lose(vec![send(GONE), send("\n\n<html>\n"), Step::Hang]).await;
    let Disconnect::NotJson {
        line, offset, head, ..
    } = disconnect
    else {
        panic!("{disconnect:?}");
    };
    assert_eq!((line, offset, records), (4, GONE.len() as u64 + 2, 1));
    assert_eq!(head, "<html>");
}

#[tokio::test]
async fn an_overlong_line_is_a_disconnect() {
    let mebibyte = vec![b'x'; 1 << 20];
    let steps = vec![
        send(GONE),
        send("{\"x\":\""),
        Step::Send(mebibyte),
        Step::Hang,
    ];
    let (disconnect, records) = lose(steps).await;
    let limit = 1 << 20;
    assert_eq!(
        (disconnect, records),
        (Disconnect::LineTooLong { line: 2, limit }, 1)
    );
}

#[tokio::test]
async fn json_of_another_shape_is_no_disconnect() {
    let odd = "{\"type\":\"gameState\",\"moves\":7}\n{\"type\":\"fireworks\"}\n[1]\n";
    let (disconnect, records) = lose(vec![send(odd), send(GONE), Step::Close]).await;
    assert_eq!((disconnect, records), (Disconnect::Ended, 2));
}

#[tokio::test]
async fn a_reply_that_is_no_stream_is_a_disconnect_of_its_class() {
    let page = "<html>bad gateway</html>";
    let limit = r#"{"error":"Please don't poll","ratelimit":{"seconds":7}}"#;
    let token = r#"{"error":"No such token"}"#;
    let missing = r#"{"error":"No such game"}"#;
    let closed = r#"{"error":"This game cannot be played with the Bot API."}"#;
    let json = "application/json";
    let table = [
        ("502 Bad Gateway", "text/html", page, "transient"),
        ("200 OK", "text/html", page, "transient"),
        ("429 Too Many Requests", json, limit, "limited"),
        ("401 Unauthorized", json, token, "refused"),
        ("400 Bad Request", json, closed, "refused"),
        ("404 Not Found", json, missing, "gone"),
        ("204 No Content", json, "", "protocol"),
    ];
    for (status, kind, body, expected) in table {
        let server = Server::answering(status, kind, body).await;
        let disconnect = server.client().events().await.unwrap_err();
        let Disconnect::Unopened(error) = &disconnect else {
            panic!("{status}: {disconnect:?}");
        };
        let class = match error {
            Error::Transient { .. } => "transient",
            Error::RateLimited { wait, .. } => {
                assert_eq!(*wait, Some(Duration::from_secs(7)));
                "limited"
            }
            Error::Refused { .. } => "refused",
            Error::Gone { .. } => "gone",
            Error::Protocol { .. } => "protocol",
        };
        assert_eq!(class, expected, "{status} {body}");
        assert!(!disconnect.to_string().contains("<html>"), "{disconnect}");
    }
}

#[tokio::test]
async fn an_absent_server_may_be_probed_for_ever() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = client(&url, Timing::default());
    for ping in 0..3 * Timing::default().openings {
        let disconnect = client.events().await.unwrap_err();
        let Disconnect::Unopened(error) = disconnect else {
            panic!("{disconnect:?}");
        };
        assert!(error.is_unreached(), "ping {ping}: {error}");
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_disconnect() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let client = client(&url, Timing::default().faster(50));
    let disconnect = client.events().await.unwrap_err();
    let Disconnect::Unopened(Error::Transient {
        reached: false,
        status: None,
        reason,
    }) = disconnect
    else {
        panic!("{disconnect:?}");
    };
    assert!(reason.contains("refused"), "{reason}");
}

#[tokio::test]
async fn a_server_that_never_answers_is_a_disconnect() {
    let mut timing = Timing::default().faster(50);
    timing.connect = Duration::from_secs(60);
    timing.call = Duration::from_millis(50);
    let idle = timing.event_idle;
    let server = Server::start(|_| vec![Step::Hang]).await;
    let disconnect = client(&server.url(), timing).events().await.unwrap_err();
    // It is borne no longer than the silence of an open stream.
    assert!(
        matches!(disconnect, Disconnect::Silent(time) if time == idle),
        "{disconnect:?}"
    );
}

#[tokio::test]
async fn the_head_of_the_event_stream_may_come_with_the_first_keep_alive() {
    let late = Timing::default().faster(50).keep_alive;
    let steps = vec![Step::Wait(late), send(STREAM_HEAD), send("\n"), Step::Hang];
    let server = Server::start(move |_| steps.clone()).await;
    server.client().events().await.unwrap();
}

#[tokio::test]
async fn a_429_on_the_event_stream_is_waited_out_and_delays_no_game() {
    let server = Server::start(|request| {
        if request.line.contains("/stream/event") {
            return vec![Step::Send(reply("429 Too Many Requests", "text/plain", ""))];
        }
        vec![send(STREAM_HEAD), send(GONE), Step::Hang]
    })
    .await;
    let client = server.client();
    let disconnect = client.events().await.unwrap_err();
    let mut reopening = EventBackoff::new(client.timing());
    let wait = reopening.after_loss(&disconnect, Duration::ZERO, Instant::now(), 0.0);
    assert_eq!(wait, client.timing().rate_limit);
    // Asked again too early, the client does not even send.
    assert!(matches!(
        client.events().await.unwrap_err(),
        Disconnect::Unopened(Error::RateLimited { wait: Some(_), .. })
    ));
    assert_eq!(client.calls(EndpointClass::EventStream), 1);
    client
        .game(&game(), PATIENCE)
        .await
        .unwrap()
        .next()
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn giving_up_a_wait_for_a_record_loses_nothing() {
    let mut steps = Vec::new();
    for _ in 0..20 {
        let (head, tail) = GONE.split_at(25);
        let pause = Step::Wait(Duration::from_millis(3));
        steps.extend([send(head), pause.clone(), send(tail), pause]);
    }
    steps.push(Step::Close);
    let server = Server::streaming(steps).await;
    let mut stream = server.client().game(&game(), PATIENCE).await.unwrap();
    let mut records = 0;
    loop {
        match tokio::time::timeout(Duration::from_millis(1), stream.next()).await {
            Ok(Ok(_)) => records += 1,
            Ok(Err(disconnect)) => {
                assert_eq!(disconnect, Disconnect::Ended);
                break;
            }
            Err(_) => {}
        }
    }
    assert_eq!(records, 20);
}

#[tokio::test]
async fn streams_are_requested_with_the_right_headers() {
    let server = Server::streaming(vec![send(
        "{\"type\":\"challenge\",\"challenge\":{\"id\":\"a\"}}\n",
    )])
    .await;
    let client = server.client();
    let record = client.events().await.unwrap().next().await.unwrap();
    assert!(matches!(record.event, Event::Challenge { .. }));
    drop(client.game(&game(), PATIENCE).await);
    let requests = server.requests();
    assert_eq!(requests[0].line, "GET /api/stream/event");
    assert_eq!(requests[1].line, "GET /api/bot/game/stream/q7ZxVt2B");
    assert_eq!(requests[0].header("accept"), Some("application/x-ndjson"));
    assert_eq!(requests[0].header("accept-encoding"), Some("identity"));
}
