//! Messages on their way to a server that takes them, hangs, or refuses.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::archive::{ArchiveEntry, EventRecord, FILE_NAME, Writer};
use crate::bot::{AlertKind, EventBus, Reply, Status, channel};
use crate::config::{AlertFormat, Alerts as Settings};

/// Longer than anything here takes; a hang ends there.
const GUARD: Duration = Duration::from_secs(60);

async fn webhook() -> (TcpListener, Address) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/verysecret", listener.local_addr().unwrap());
    (listener, Address::parse(&url, "the test").unwrap())
}

/// Reads one request whole and answers it.
async fn answer(client: &mut TcpStream, status: &str) -> String {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let read = client.read(&mut piece).await.unwrap();
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(read > 0, "{text}");
            continue;
        };
        let length = head.to_lowercase();
        let length = length.split("content-length: ").nth(1).unwrap_or("0");
        let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
        if body.len() >= length {
            let reply =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            client.write_all(reply.as_bytes()).await.unwrap();
            return text;
        }
    }
}

/// Messages as text to this address.
fn in_text(webhook: Option<Address>) -> Delivery {
    Delivery {
        settings: Settings {
            format: AlertFormat::Text,
            ..Settings::default()
        },
        webhook,
        heartbeat: None,
    }
}

/// The next request, once it is answered.
async fn next_request(listener: &TcpListener) -> String {
    let (mut client, _) = listener.accept().await.unwrap();
    answer(&mut client, "200 OK").await
}

fn message(text: &str) -> webhook::WebhookMessage {
    webhook::WebhookMessage {
        account: "Megaton".into(),
        message: AlertMessage::new("token", text),
        held_back: 0,
    }
}

#[tokio::test]
async fn a_message_is_retried_and_a_hanging_one_blocks_others_briefly() {
    let (listener, address) = webhook().await;
    let time = Duration::from_millis(500);
    let fetcher = HttpFetcher::new(None, time).unwrap();
    let client = WebhookClient::new(address, &Settings::default(), fetcher).with_pause(time / 10);
    let (post, letters) = mpsc::channel(4);
    let task = tokio::spawn(client.run(letters));
    post.send(message("one")).await.unwrap();
    let all = async {
        // The first try hangs, the second is refused, the third is taken.
        let (hangs, _) = listener.accept().await.unwrap();
        let (mut refused, _) = listener.accept().await.unwrap();
        answer(&mut refused, "500 Internal Server Error").await;
        let (mut taken, _) = listener.accept().await.unwrap();
        let text = answer(&mut taken, "204 No Content").await;
        assert!(text.contains(r#""text":"Megaton: [token] one""#), "{text}");
        assert!(text.starts_with("POST /verysecret HTTP/1.1\r\n"), "{text}");
        drop((hangs, post));
        task.await.unwrap();
    };
    tokio::time::timeout(GUARD, all).await.unwrap();
}

#[tokio::test]
async fn alerts_of_the_bot_and_the_message_after_its_end_reach_the_webhook() {
    let (listener, address) = webhook().await;
    let (alerter, alerts) = Alerts::new(in_text(Some(address)), None).unwrap();
    let (control, _commands) = channel();
    let (watch, _watcher) = StatusWatch::new(control);
    let event_bus = EventBus::default();
    let task = tokio::spawn(alerts.run(event_bus.subscribe(), watch));
    let alerts = crate::bot::Alerts::new(event_bus);
    alerts.raise(AlertKind::Token, "revoked");
    let all = async {
        let (mut client, _) = listener.accept().await.unwrap();
        let text = answer(&mut client, "200 OK").await;
        assert!(text.ends_with("megaton: [token] revoked"), "{text}");
        alerter.send("day", "3 games");
        let (mut client, _) = listener.accept().await.unwrap();
        let text = answer(&mut client, "200 OK").await;
        assert!(text.ends_with("megaton: [day] 3 games"), "{text}");
        drop(alerts);
        // Let it notice that the bot is gone: what the caller still has to say must go out.
        tokio::task::yield_now().await;
        alerter.send("ended", "the bot has exited");
        let (mut client, _) = listener.accept().await.unwrap();
        let text = answer(&mut client, "200 OK").await;
        assert!(
            text.ends_with("megaton: [ended] the bot has exited"),
            "{text}"
        );
        alerter.end();
        task.await.unwrap();
    };
    tokio::time::timeout(GUARD, all).await.unwrap();
}

#[tokio::test]
async fn discord_is_told_to_call_no_one_and_telegram_gets_a_chat() {
    let sent = async |settings: Settings| {
        let (listener, address) = webhook().await;
        let fetcher = HttpFetcher::new(None, GUARD).unwrap();
        let client = WebhookClient::new(address, &settings, fetcher);
        let (post, letters) = mpsc::channel(1);
        let task = tokio::spawn(client.run(letters));
        post.send(message("@everyone look")).await.unwrap();
        let text = next_request(&listener).await;
        drop(post);
        task.await.unwrap();
        let body = text.split_once("\r\n\r\n").unwrap().1;
        serde_json::from_str::<serde_json::Value>(body).unwrap()
    };
    let all = async {
        let discord = sent(Settings::default()).await;
        assert_eq!(discord["allowed_mentions"]["parse"], serde_json::json!([]));
        let telegram = Settings {
            format: AlertFormat::Telegram,
            chat_id: Some("-100123".to_owned()),
            ..Settings::default()
        };
        let text = "Megaton: [token] @everyone look";
        let expected = serde_json::json!({ "chat_id": "-100123", "text": text });
        assert_eq!(sent(telegram).await, expected);
    };
    tokio::time::timeout(GUARD, all).await.unwrap();
}

#[tokio::test]
async fn muted_kinds_are_not_sent_and_another_webhook_takes_over_at_once() {
    let (alerter, alerts) = Alerts::new(in_text(None), None).unwrap();
    let (watch, _watcher) = StatusWatch::new(channel().0);
    let event_bus = EventBus::default();
    let task = tokio::spawn(alerts.run(event_bus.subscribe(), watch));
    let all = async {
        let (listener, address) = webhook().await;
        let mut delivery = in_text(Some(address));
        assert!(alerter.renew(delivery.clone()));
        assert!(!alerter.renew(delivery.clone()), "it is the same");
        alerter.send("day", "3 games");
        let text = next_request(&listener).await;
        assert!(text.ends_with("megaton: [day] 3 games"), "{text}");
        let (other, address) = webhook().await;
        delivery.webhook = Some(address);
        delivery.settings.mute = vec!["day".to_owned()];
        alerter.renew(delivery);
        alerter.send("day", "4 games");
        alerter.send("ended", "the bot has exited");
        let text = next_request(&other).await;
        assert!(
            text.ends_with("megaton: [ended] the bot has exited"),
            "{text}"
        );
        alerter.end();
        task.await.unwrap();
    };
    tokio::time::timeout(GUARD, all).await.unwrap();
}

/// A watch that has seen the bot with this rating.
async fn rated(rating: i32) -> StatusWatch {
    let (control, mut commands) = channel();
    let (watch, poller) = StatusWatch::new(control);
    let task = tokio::spawn(poller.run());
    let status = Status {
        rating: Some(rating),
        ..Status::default()
    };
    let answer = Reply::Status(Box::new(status));
    commands.next().await.answer(answer);
    watch.changes().changed().await.unwrap();
    task.abort();
    watch
}

#[tokio::test]
async fn the_highest_rating_outlives_the_games_that_led_to_it() {
    let state = BotState::nowhere();
    // No archive knows it.
    let start = || {
        let (_, alerts) = Alerts::new(in_text(None), None).unwrap();
        let mut alerts = alerts.with_past(None, state.clone());
        alerts.know_ratings(None);
        alerts
    };
    let all = async {
        let high = rated(2400).await;
        assert_eq!(start().check_status(&high), [], "the first rating is none");
        let mut restarted = start();
        for rating in [2350, 2390] {
            let told = restarted.check_status(&rated(rating).await);
            assert_eq!(told, [], "2400 was higher");
        }
        let told = restarted.check_status(&rated(2401).await);
        let record = AlertMessage::new("rating", "new highest rating: 2401");
        assert_eq!(told, [record]);
    };
    tokio::time::timeout(GUARD, all).await.unwrap();
}

#[tokio::test]
async fn a_start_after_a_run_without_an_end_is_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(FILE_NAME);
    let writer = Writer::start(&path).unwrap();
    let note = |at: Millis, kind: &str| {
        let event = EventRecord {
            at,
            kind: kind.to_owned(),
            text: "megaton".to_owned(),
            game: None,
        };
        let entry = ArchiveEntry::Event(Arc::new(event));
        writer.ask(move |disk| disk.commit(&[entry]))
    };
    let unnoticed = |begun| ended_unnoticed(&ArchiveReader::open(&path).unwrap(), begun);
    for (at, kind) in [
        (1, START),
        (2, "online"),
        (3, STOP),
        (5, START),
        (6, "online"),
    ] {
        note(at, kind).await.unwrap();
    }
    assert!(!unnoticed(1), "the first run");
    assert!(!unnoticed(5), "what this run notes is none of the last");
    assert!(unnoticed(7));
    let (listener, address) = webhook().await;
    let (alerter, alerts) = Alerts::new(in_text(Some(address)), None).unwrap();
    let alerts = alerts.with_past(Some(path.clone()), BotState::nowhere());
    let (event_bus, (control, _commands)) = (EventBus::new(), channel());
    let (watch, _poller) = StatusWatch::new(control);
    let task = tokio::spawn(alerts.run(event_bus.subscribe(), watch));
    let told = tokio::time::timeout(GUARD, next_request(&listener)).await;
    assert!(
        told.as_ref().is_ok_and(|told| told.contains(UNNOTICED)),
        "{told:?}"
    );
    alerter.end();
    task.await.unwrap();
    note(8, STOP).await.unwrap();
    assert!(!unnoticed(9));
}

#[tokio::test]
async fn the_heartbeat_is_sent_only_while_the_bot_is_ready() {
    use std::sync::atomic::{AtomicU32, Ordering};

    let (listener, address) = webhook().await;
    let delivery = Delivery {
        heartbeat: Some(address),
        ..in_text(None)
    };
    let (_sender, delivery) = watch::channel(delivery);
    let heartbeat = Heartbeat::new(delivery, HttpFetcher::new(None, GUARD).unwrap());
    let asked = Arc::new(AtomicU32::new(0));
    let looks = Arc::clone(&asked);
    let is_ready = move || looks.fetch_add(1, Ordering::Relaxed) >= 3;
    let task = tokio::spawn(heartbeat.each(Duration::from_millis(1)).run(is_ready));
    let all = async {
        let (mut client, _) = listener.accept().await.unwrap();
        assert_eq!(
            asked.load(Ordering::Relaxed),
            4,
            "three times it was not ready"
        );
        let text = answer(&mut client, "200 OK").await;
        assert!(text.starts_with("GET /verysecret HTTP/1.1\r\n"), "{text}");
        next_request(&listener).await;
    };
    tokio::time::timeout(GUARD, all).await.unwrap();
    task.abort();
}
