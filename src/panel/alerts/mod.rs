//! Webhook messages when something goes wrong and when it is resolved.
//!
//! They never delay the bot: a short queue, the rest only counted; an address that hangs blocks only its
//! own task. The address is a secret and is never shown.
//!
//! * `rules`: what deserves a message; `limit`: how many; both pure
//! * `address`: where to send; `webhook`: how

mod address;
mod limit;
mod rules;
mod webhook;

pub use address::{Address, AddressError, WEBHOOK_VARIABLE};

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;

use self::limit::MessageLimit;
use self::rules::{AlertMessage, AlertRules};
use self::webhook::WebhookClient;
use super::status_poller::{LastStatus, StatusWatch};
use crate::bot::BotEvent;
use crate::config::Alerts as Settings;

/// Time between two comparisons with the status.
const LOOK: Duration = Duration::from_secs(5);
/// Messages that may wait.
const MOST_WAITING: usize = 16;

/// Sends messages that do not come from the event bus. Clones share the webhook; without one the messages
/// are dropped.
#[derive(Clone, Debug)]
pub struct Alerter {
    messages: mpsc::Sender<AlertMessage>,
    end: CancellationToken,
}

/// Watches the bot and sends messages to a webhook.
#[derive(Debug)]
pub struct Alerts {
    rules: AlertRules,
    limit: MessageLimit,
    client: Option<WebhookClient>,
    queued: mpsc::Receiver<AlertMessage>,
    end: CancellationToken,
    /// When events were last dropped, until the status has been compared.
    missed: Option<Instant>,
    /// Time between two comparisons with the status.
    every: Duration,
}

impl Alerter {
    /// Sends a message, such as the summary of a day. Never waits.
    pub fn send(&self, kind: &'static str, text: impl Into<String>) {
        // A full queue, or no webhook, drops the message.
        let _ = self.messages.try_send(AlertMessage::new(kind, text));
    }

    /// Lets [`Alerts::run`] send what is queued and end.
    pub fn end(&self) {
        self.end.cancel();
    }

    /// Sends the summary of each day until their source is gone.
    pub async fn report_days(self, mut days: watch::Receiver<Option<String>>) {
        while days.changed().await.is_ok() {
            let day = days.borrow_and_update().clone();
            if let Some(day) = day {
                self.send("day", day);
            }
        }
    }
}

impl Alerts {
    /// # Errors
    /// When no HTTP client can be created.
    pub fn new(settings: &Settings, address: Option<Address>) -> Result<(Alerter, Self), String> {
        let (messages, queued) = mpsc::channel(MOST_WAITING);
        let client = address.map(|address| WebhookClient::new(address, settings.format));
        let end = CancellationToken::new();
        let alerter = Alerter {
            messages,
            end: end.clone(),
        };
        let alerts = Self {
            rules: AlertRules::new(settings.deaf),
            limit: MessageLimit::new(settings.per_hour),
            client: client.transpose()?,
            queued,
            end,
            missed: None,
            every: LOOK,
        };
        Ok((alerter, alerts))
    }

    /// Runs until [`Alerter::end`]; returns once the last message is sent or given up. The end of the bot
    /// is no end here: the caller may still have to say why.
    pub async fn run(mut self, mut events: broadcast::Receiver<BotEvent>, watch: StatusWatch) {
        let Some(client) = self.client.take() else {
            return;
        };
        let (sender, queue) = mpsc::channel(MOST_WAITING);
        let sending = tokio::spawn(client.run(queue));
        let account = || -> Arc<str> {
            let account = watch.status().and_then(|status| status.account.clone());
            account.unwrap_or_else(|| "megaton".to_owned()).into()
        };
        let mut ticks = tokio::time::interval(self.every);
        let mut bot_runs = true;
        loop {
            let messages = tokio::select! {
                biased;
                Some(message) = self.queued.recv() => vec![message],
                () = self.end.cancelled() => break,
                event = events.recv(), if bot_runs => match event {
                    Ok(event) => self.rules.handle_event(&event).into_iter().collect(),
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        self.missed = Some(Instant::now());
                        Vec::new()
                    }
                    Err(broadcast::error::RecvError::Closed) => {
                        bot_runs = false;
                        Vec::new()
                    }
                },
                _ = ticks.tick() => self.check_status(&watch),
            };
            for message in messages {
                self.send(&sender, &account(), message);
            }
        }
        // The last events may matter most.
        while let Ok(event) = events.try_recv() {
            if let Some(message) = self.rules.handle_event(&event) {
                self.send(&sender, &account(), message);
            }
        }
        drop(sender);
        // The caller limits the time.
        let _ = sending.await;
    }

    /// The messages that were held back, and those that the status gives rise to.
    fn check_status(&mut self, watch: &StatusWatch) -> Vec<AlertMessage> {
        let now = Instant::now();
        let mut messages: Vec<AlertMessage> = self.limit.overdue(now).into_iter().collect();
        if let Some(LastStatus { status, at }) = watch.seen() {
            messages.extend(self.rules.check(&status, now));
            // By then all events that were not dropped have been handled.
            if self.missed.is_some_and(|missed| at >= missed + self.every) {
                self.missed = None;
                messages.extend(self.rules.compare(&status));
            }
        }
        messages
    }

    fn send(
        &mut self,
        sender: &mpsc::Sender<webhook::WebhookMessage>,
        account: &Arc<str>,
        message: AlertMessage,
    ) {
        let Some(held_back) = self.limit.pass(&message, Instant::now()) else {
            return;
        };
        let message = webhook::WebhookMessage {
            account: Arc::clone(account),
            message,
            held_back,
        };
        if sender.try_send(message).is_err() {
            tracing::warn!("webhook too slow: message dropped");
        }
    }
}

#[cfg(test)]
mod tests;
