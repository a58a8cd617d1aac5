//! Sends messages to a webhook, one after the other, each with a few attempts.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::mpsc;

use super::address::Address;
use super::rules::AlertMessage;
use crate::config::{AlertFormat, Alerts};
use crate::lichess::HttpFetcher;

/// Time for one attempt.
pub(super) const TIME: Duration = Duration::from_secs(10);
/// Attempts per message, and the pause after the first one, which doubles.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);
/// Longest text, in characters; chat services accept twice that.
const LONGEST: usize = 900;

#[derive(Clone, Debug)]
pub(super) struct WebhookMessage {
    pub(super) account: Arc<str>,
    pub(super) message: AlertMessage,
    pub(super) held_back: u64,
}

#[derive(Debug)]
pub(super) struct WebhookClient {
    address: Address,
    format: AlertFormat,
    chat_id: Option<String>,
    pages: HttpFetcher,
    pause: Duration,
    failing: bool,
}

impl WebhookClient {
    pub(super) fn new(address: Address, settings: &Alerts, pages: HttpFetcher) -> Self {
        Self {
            address,
            format: settings.format,
            chat_id: settings.chat_id.clone(),
            pages,
            pause: PAUSE,
            failing: false,
        }
    }

    /// With another pause, for tests.
    #[cfg(test)]
    pub(super) fn with_pause(self, pause: Duration) -> Self {
        Self { pause, ..self }
    }

    /// Sends messages until their queue closes.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<WebhookMessage>) {
        while let Some(message) = queue.recv().await {
            self.deliver(&message).await;
        }
    }

    async fn deliver(&mut self, message: &WebhookMessage) {
        let (kind, body) = self.body(message);
        let mut pause = self.pause;
        for number in 1..=TRIES {
            let sent = self.pages.post(self.address.expose(), kind, body.clone());
            match sent.await {
                Ok(()) => {
                    if std::mem::take(&mut self.failing) {
                        tracing::info!(host = self.address.host(), "webhook works again");
                    }
                    return;
                }
                Err(error) if number == TRIES => self.complain(&error.to_string()),
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause *= 2;
        }
    }

    /// Logs a failure once, until the webhook works again.
    fn complain(&mut self, error: &str) {
        if !std::mem::replace(&mut self.failing, true) {
            let host = self.address.host();
            tracing::warn!(host, error, "webhook failing: messages are lost");
        }
    }

    /// The content type and body of a message.
    fn body(&self, message: &WebhookMessage) -> (&'static str, String) {
        let line = line(message);
        match self.format {
            AlertFormat::Text => ("text/plain; charset=utf-8", line),
            AlertFormat::Json => {
                let WebhookMessage {
                    account, message, ..
                } = message;
                let body = json!({
                    "text": line,
                    "content": line,
                    "account": &**account,
                    "kind": message.kind,
                    "over": message.over,
                    // Discord: a name in the text calls no one.
                    "allowed_mentions": { "parse": [] },
                });
                ("application/json", body.to_string())
            }
            AlertFormat::Telegram => {
                let body = json!({ "chat_id": self.chat_id, "text": line });
                ("application/json", body.to_string())
            }
        }
    }
}

fn line(message: &WebhookMessage) -> String {
    let WebhookMessage {
        account,
        message,
        held_back,
    } = message;
    let kind = message.kind;
    let over = if message.over { ": well again" } else { "" };
    let more = match held_back {
        0 => String::new(),
        1 => " (1 earlier message suppressed)".to_owned(),
        many => format!(" ({many} earlier messages suppressed)"),
    };
    let text: String = message.text.chars().take(LONGEST).collect();
    format!("{account}: [{kind}{over}] {text}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_with_the_account() {
        let mut message = WebhookMessage {
            account: "Megaton".into(),
            message: AlertMessage::new("token", "revoked"),
            held_back: 0,
        };
        assert_eq!(line(&message), "Megaton: [token] revoked");
        message.held_back = 2;
        message.message = AlertMessage::over("token", "the alert is over");
        assert_eq!(
            line(&message),
            "Megaton: [token: well again] the alert is over (2 earlier messages suppressed)"
        );
        message.message = AlertMessage::new("token", "é".repeat(5000));
        assert!(line(&message).chars().count() < 1000);
    }
}
