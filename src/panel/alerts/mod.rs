//! Webhook messages when something goes wrong and when it is resolved, and the heartbeat of a bot that
//! is well.
//!
//! They never delay the bot: a short queue, the rest only counted; an address that hangs blocks only its
//! own task. The address is a secret and is never shown.
//!
//! * `rules`: what deserves a message; `limit`: how many; both pure
//! * `address`: where to send, read anew with the config; `webhook`: how; `heartbeat`

mod address;
mod heartbeat;
mod limit;
mod rules;
mod webhook;

pub use address::{Address, AddressError, Delivery, HEARTBEAT_VARIABLE, WEBHOOK_VARIABLE};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use self::heartbeat::Heartbeat;
use self::limit::MessageLimit;
use self::rules::{AlertMessage, AlertRules};
use self::webhook::{WebhookClient, WebhookMessage};
use super::health::Health;
use super::status_poller::{LastStatus, StatusWatch};
use crate::archive::{ArchiveReader, EventFilter, Filter, Millis, Order, RatedGame, follow};
use crate::bot::{BotEvent, BotState, EventLog};
use crate::lichess::HttpFetcher;
use crate::store::Timestamp;

/// Time between two comparisons with the status.
const LOOK: Duration = Duration::from_secs(5);
/// Games whose ratings are known.
const MOST_RATED: usize = 100_000;
/// Note in the bot's state: our highest rating, whose games the archive may have dropped by now.
const HIGHEST_RATING: &str = "rating.highest";
/// Messages that may wait.
const MOST_WAITING: usize = 16;
/// The events of the archive that begin and end a run.
const START: &str = "start";
const STOP: &str = "stop";
/// What a run without its end in the archive means.
const UNNOTICED: &str = "the last run ended without notice (killed, or out of memory?)";

/// Sends messages that do not come from the event bus. Clones share the webhook; without one the messages
/// are dropped.
#[derive(Clone, Debug)]
pub struct Alerter {
    messages: mpsc::Sender<AlertMessage>,
    delivery: watch::Sender<Delivery>,
    fetcher: HttpFetcher,
    end: CancellationToken,
}

/// Watches the bot and sends messages to a webhook.
#[derive(Debug)]
pub struct Alerts {
    rules: AlertRules,
    limit: MessageLimit,
    delivery: watch::Receiver<Delivery>,
    fetcher: HttpFetcher,
    /// The archive with the ratings so far, and the ends of earlier runs.
    archive: Option<PathBuf>,
    /// Events from then on are of this run.
    begun: Millis,
    /// The state with the highest rating of earlier runs.
    state: Option<BotState>,
    queued: mpsc::Receiver<AlertMessage>,
    end: CancellationToken,
    /// When events were last dropped, until the status has been compared.
    missed: Option<Instant>,
    /// Time between two comparisons with the status.
    every: Duration,
}

/// The queue to the webhook, and the task that sends what is in it.
struct Outlet {
    queue: mpsc::Sender<WebhookMessage>,
    sending: JoinHandle<()>,
}

impl Alerter {
    /// Delivers messages this way from now on. Whether it is another way.
    pub fn renew(&self, delivery: Delivery) -> bool {
        self.delivery.send_if_modified(|old| {
            let differs = *old != delivery;
            *old = delivery;
            differs
        })
    }

    /// Tells an outside monitoring service each minute that the bot is ready; runs for ever.
    pub async fn beat(self, health: Health) {
        let heartbeat = Heartbeat::new(self.delivery.subscribe(), self.fetcher);
        heartbeat.run(|| health.report().ready).await;
    }

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

    /// Says where each report of a panic is, here and among the events, until their source is gone.
    pub async fn report_crashes(
        self,
        mut reports: broadcast::Receiver<PathBuf>,
        event_log: EventLog,
    ) {
        loop {
            let path = match reports.recv().await {
                Ok(path) => path,
                Err(broadcast::error::RecvError::Lagged(_)) => continue,
                Err(broadcast::error::RecvError::Closed) => return,
            };
            let text = format!("a part panicked, see {}", path.display());
            event_log.note("crash", text.as_str(), None);
            self.send("crash", text);
        }
    }
}

impl Alerts {
    /// Messages to another machine go through `proxy`, else that of the environment.
    ///
    /// # Errors
    /// When no HTTP client can be created.
    pub fn new(delivery: Delivery, proxy: Option<&str>) -> Result<(Alerter, Self), String> {
        let (messages, queued) = mpsc::channel(MOST_WAITING);
        let fetcher = HttpFetcher::new(proxy, webhook::TIME).map_err(|error| error.to_string())?;
        let end = CancellationToken::new();
        let rules = AlertRules::new(delivery.settings.deaf);
        let limit = MessageLimit::new(delivery.settings.per_hour);
        let (sender, delivery) = watch::channel(delivery);
        let alerter = Alerter {
            messages,
            delivery: sender,
            fetcher: fetcher.clone(),
            end: end.clone(),
        };
        let alerts = Self {
            rules,
            limit,
            delivery,
            fetcher,
            archive: None,
            begun: Timestamp::now().as_millis(),
            state: None,
            queued,
            end,
            missed: None,
            every: LOOK,
        };
        Ok((alerter, alerts))
    }

    /// Knows the ratings in this archive and the highest of earlier runs, so that only a record is one, and
    /// whether the last run noted its end there.
    #[must_use]
    pub fn with_past(mut self, archive: Option<PathBuf>, state: BotState) -> Self {
        (self.archive, self.state) = (archive, Some(state));
        self
    }

    /// Runs until [`Alerter::end`]; returns once the last message is sent or given up. The end of the bot
    /// is no end here: the caller may still have to say why.
    pub async fn run(mut self, mut events: broadcast::Receiver<BotEvent>, watch: StatusWatch) {
        let mut outlet = self.open();
        let (archive, begun) = (self.archive.take(), self.begun);
        let mut history = tokio::task::spawn_blocking(move || {
            let reader = ArchiveReader::open(&archive?).ok()?;
            Some((highest_rating(&reader), ended_unnoticed(&reader, begun)))
        });
        let mut is_reading = true;
        let account = || -> Arc<str> {
            let account = watch.status().and_then(|status| status.account.clone());
            account.unwrap_or_else(|| "megaton".to_owned()).into()
        };
        let mut ticks = tokio::time::interval(self.every);
        let mut bot_runs = true;
        loop {
            let messages = tokio::select! {
                biased;
                Ok(()) = self.delivery.changed() => {
                    outlet = self.open();
                    Vec::new()
                }
                Some(message) = self.queued.recv() => vec![message],
                past = &mut history, if is_reading => {
                    is_reading = false;
                    let (highest, unnoticed) = past.ok().flatten().unwrap_or_default();
                    self.know_ratings(highest);
                    let unnoticed = unnoticed.then(|| AlertMessage::new("crash", UNNOTICED));
                    unnoticed.into_iter().inspect(|it| tracing::warn!("{}", it.text)).collect()
                }
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
                self.send(outlet.as_ref(), &account(), message);
            }
        }
        // The last events may matter most.
        while let Ok(event) = events.try_recv() {
            if let Some(message) = self.rules.handle_event(&event) {
                self.send(outlet.as_ref(), &account(), message);
            }
        }
        if let Some(Outlet { queue, sending }) = outlet {
            drop(queue);
            // The caller limits the time.
            let _ = sending.await;
        }
    }

    /// The way to the present webhook. One that was replaced sends what is in its queue.
    fn open(&mut self) -> Option<Outlet> {
        let delivery = self.delivery.borrow_and_update().clone();
        self.rules.deaf_after = delivery.settings.deaf;
        self.limit.most = delivery.settings.per_hour;
        let (webhook, fetcher) = (delivery.webhook?, self.fetcher.clone());
        let client = WebhookClient::new(webhook, &delivery.settings, fetcher);
        let (queue, messages) = mpsc::channel(MOST_WAITING);
        let sending = tokio::spawn(client.run(messages));
        Some(Outlet { queue, sending })
    }

    /// The highest rating in the archive, if it has any; an earlier run may have noted a higher one.
    fn know_ratings(&mut self, archived: Option<i32>) {
        let state = self.state.as_ref();
        let noted = state.and_then(|state| state.note(HIGHEST_RATING)?.parse().ok());
        self.rules.know_ratings(archived.max(noted));
    }

    /// The messages that were held back, and those that the status gives rise to.
    fn check_status(&mut self, watch: &StatusWatch) -> Vec<AlertMessage> {
        let now = Instant::now();
        let mut messages: Vec<AlertMessage> = self.limit.overdue(now).into_iter().collect();
        if let Some(LastStatus { status, at }) = watch.seen() {
            messages.extend(self.rules.check(&status, now));
            if let (Some(state), Some(highest)) = (&self.state, self.rules.highest_rating()) {
                state.set_note(HIGHEST_RATING, Some(highest.to_string()));
            }
            // By then all events that were not dropped have been handled.
            if self.missed.is_some_and(|missed| at >= missed + self.every) {
                self.missed = None;
                messages.extend(self.rules.compare(&status));
            }
        }
        messages
    }

    fn send(&mut self, outlet: Option<&Outlet>, account: &Arc<str>, message: AlertMessage) {
        let is_it = |kind: &String| kind == message.kind;
        let is_muted = self.delivery.borrow().settings.mute.iter().any(is_it);
        let Some(outlet) = outlet.filter(|_| !is_muted) else {
            return;
        };
        let Some(held_back) = self.limit.pass(&message, Instant::now()) else {
            return;
        };
        let message = WebhookMessage {
            account: Arc::clone(account),
            message,
            held_back,
        };
        if outlet.queue.try_send(message).is_err() {
            tracing::warn!("webhook too slow: message dropped");
        }
    }
}

/// The highest of our ratings after the latest games in an archive.
fn highest_rating(reader: &ArchiveReader) -> Option<i32> {
    let filter = Filter {
        rated: Some(true),
        played: true,
        ..Filter::default()
    };
    let games = reader.games(&filter, Order::Newest, MOST_RATED, None);
    let games = games.ok()?;
    let rated = games.iter().filter_map(|line| RatedGame::of(&line.game));
    let ratings = follow(rated.collect()).into_iter();
    ratings.map(|(_, rating)| rating).max()
}

/// Whether the last run before this moment noted its start in an archive, but not its end.
fn ended_unnoticed(reader: &ArchiveReader, begun: Millis) -> bool {
    let filter = EventFilter {
        kinds: vec![START.to_owned(), STOP.to_owned()],
        until: Some(begun),
        ..EventFilter::default()
    };
    let last = reader.events_by(&filter, Order::Newest, 1, None);
    last.is_ok_and(|last| last.first().is_some_and(|it| it.what.kind == START))
}

#[cfg(test)]
mod tests;
