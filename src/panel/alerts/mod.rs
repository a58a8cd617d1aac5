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

use self::limit::{LimitDecision, MessageLimit};
use self::rules::{AlertMessage, AlertRules};
use self::webhook::WebhookClient;
use super::status_poller::{LastStatus, StatusWatch};
use crate::bot::BotEvent;
use crate::config::Alerts as Settings;

/// How often it is looked how the bot is.
const LOOK: Duration = Duration::from_secs(5);
/// Messages of others that may wait.
const MOST_WAITING: usize = 16;

/// Hands in messages that something else than the bot's news gives rise to. Clones hand in at the
/// same place; without a webhook they go nowhere.
#[derive(Clone, Debug)]
pub struct Alerter {
    messages: mpsc::Sender<AlertMessage>,
    end: CancellationToken,
}

/// Tells a webhook what is wrong.
#[derive(Debug)]
pub struct Alerts {
    rules: AlertRules,
    limit: MessageLimit,
    client: Option<WebhookClient>,
    handed_in: mpsc::Receiver<AlertMessage>,
    end: CancellationToken,
    /// When news were last missed, until it was looked what they were.
    missed: Option<Instant>,
    /// How often it is looked how the bot is.
    every: Duration,
}

impl Alerter {
    /// A message of its own, such as the summary of a day. Never waits.
    pub fn say(&self, kind: &'static str, text: impl Into<String>) {
        // Too many of them, or no one to take them: then there is no message.
        let _ = self.messages.try_send(AlertMessage::new(kind, text));
    }

    /// Nothing more will be said: what was handed in is brought, and [`Alerts::run`] ends.
    pub fn end(&self) {
        self.end.cancel();
    }

    /// Tells the summary of each day, for as long as there is someone who makes them.
    pub async fn report_days(self, mut days: watch::Receiver<Option<String>>) {
        while days.changed().await.is_ok() {
            let day = days.borrow_and_update().clone();
            if let Some(day) = day {
                self.say("day", day);
            }
        }
    }
}

impl Alerts {
    /// For this address, if there is one, by these settings.
    ///
    /// # Errors
    /// When connections cannot be set up at all.
    pub fn new(settings: &Settings, address: Option<Address>) -> Result<(Alerter, Self), String> {
        let (sender, handed_in) = mpsc::channel(MOST_WAITING);
        let client = address.map(|address| WebhookClient::new(address, settings.format));
        let end = CancellationToken::new();
        let alerter = Alerter {
            messages: sender,
            end: end.clone(),
        };
        let alerts = Self {
            rules: AlertRules::new(settings.deaf),
            limit: MessageLimit::new(settings.per_hour),
            client: client.transpose()?,
            handed_in,
            end,
            missed: None,
            every: LOOK,
        };
        Ok((alerter, alerts))
    }

    /// Listens for as long as there is a bot, or until [`Alerter::end`]; ends once the last message is
    /// brought, or given up.
    pub async fn run(mut self, mut news: broadcast::Receiver<BotEvent>, watch: StatusWatch) {
        let Some(client) = self.client.take() else {
            return;
        };
        let (post, letters) = mpsc::channel(MOST_WAITING);
        let posting = tokio::spawn(client.run(letters));
        let account = || -> Arc<str> {
            let account = watch.status().and_then(|status| status.account.clone());
            account.unwrap_or_else(|| "megaton".to_owned()).into()
        };
        let mut looking = tokio::time::interval(self.every);
        loop {
            let messages = tokio::select! {
                biased;
                Some(message) = self.handed_in.recv() => vec![message],
                () = self.end.cancelled() => break,
                event = news.recv() => match event {
                    Ok(event) => self.rules.hear(&event).into_iter().collect(),
                    Err(broadcast::error::RecvError::Lagged(_)) => {
                        self.missed = Some(Instant::now());
                        Vec::new()
                    }
                    Err(broadcast::error::RecvError::Closed) => break,
                },
                _ = looking.tick() => self.look(&watch),
            };
            for message in messages {
                self.send(&post, &account(), message);
            }
        }
        // What happened last may be what matters most.
        while let Ok(event) = news.try_recv() {
            if let Some(message) = self.rules.hear(&event) {
                self.send(&post, &account(), message);
            }
        }
        drop(post);
        // How long the end of the program waits for it is not decided here.
        let _ = posting.await;
    }

    /// What is to be told of how the bot is, after what could not be told before.
    fn look(&mut self, watch: &StatusWatch) -> Vec<AlertMessage> {
        let now = Instant::now();
        let mut messages: Vec<AlertMessage> = self.limit.overdue(now).into_iter().collect();
        if let Some(LastStatus { status, at }) = watch.seen() {
            messages.extend(self.rules.look(&status, now));
            // The news that were not missed have been taken in by then.
            if self.missed.is_some_and(|missed| at >= missed + self.every) {
                self.missed = None;
                messages.extend(self.rules.compare(&status));
            }
        }
        messages
    }

    fn send(
        &mut self,
        post: &mpsc::Sender<webhook::WebhookMessage>,
        account: &Arc<str>,
        message: AlertMessage,
    ) {
        match self.limit.pass(&message, Instant::now()) {
            LimitDecision::No => {}
            LimitDecision::Yes { held_back } => {
                let message = webhook::WebhookMessage {
                    account: Arc::clone(account),
                    message,
                    held_back,
                };
                if post.try_send(message).is_err() {
                    tracing::warn!("webhook too slow: message dropped");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
