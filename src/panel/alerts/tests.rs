//! Messages on their way to a server that takes them, hangs, or refuses.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::bot::{AlertKind, EventBus, channel};
use crate::config::AlertFormat;

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
        let length = length.split("content-length: ").nth(1).unwrap();
        let length: usize = length.lines().next().unwrap().trim().parse().unwrap();
        if body.len() >= length {
            let reply =
                format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            client.write_all(reply.as_bytes()).await.unwrap();
            return text;
        }
    }
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
    let client = WebhookClient::new(address, AlertFormat::Json).unwrap();
    let client = client.hasty(Duration::from_millis(500)).unwrap();
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
    let settings = Settings {
        format: AlertFormat::Text,
        ..Settings::default()
    };
    let (alerter, alerts) = Alerts::new(&settings, Some(address)).unwrap();
    let (control, _commands) = channel();
    let (watch, _watcher) = StatusWatch::new(control);
    let event_bus = EventBus::default();
    let task = tokio::spawn(alerts.run(event_bus.subscribe(), watch));
    let alarms = crate::bot::Alerts::new(event_bus);
    alarms.raise(AlertKind::Token, "revoked");
    let all = async {
        let (mut client, _) = listener.accept().await.unwrap();
        let text = answer(&mut client, "200 OK").await;
        assert!(text.ends_with("megaton: [token] revoked"), "{text}");
        alerter.send("day", "3 games");
        let (mut client, _) = listener.accept().await.unwrap();
        let text = answer(&mut client, "200 OK").await;
        assert!(text.ends_with("megaton: [day] 3 games"), "{text}");
        drop(alarms);
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
