//! The arena service: makes the calls that the arena schedule asks for and reports their outcomes.
//!
//! Makes each call once; the schedule decides about the next. It waits for nothing but its own
//! calls.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};

use super::eligibility::Eligibility;
use super::event::{ArenaEffect, ArenaEvent, JoinOutcome};
use super::schedule::ArenaSchedule;
use crate::bot::account::AccountEvent;
use crate::bot::settings::Settings;
use crate::lichess::{Account, Client, Error, Event, JoinOptions};

/// The arena schedule and its calls.
pub(in crate::bot) struct ArenaService {
    client: Client,
    calendar: ArenaSchedule,
    calls: FuturesUnordered<BoxFuture<'static, ArenaEvent>>,
}

impl ArenaService {
    pub(in crate::bot) fn new(client: Client, account: &Account, settings: &Settings) -> Self {
        let rules = Arc::new(settings.arena.clone());
        let us = Eligibility::of(account, SystemTime::now());
        let second = client.timing().minute / 60;
        let calendar = ArenaSchedule::new(rules, us, second, fastrand::u64(..), Instant::now());
        Self {
            client,
            calendar,
            calls: FuturesUnordered::new(),
        }
    }

    pub(in crate::bot) fn set_settings(&mut self, settings: &Settings) {
        let rules = Arc::new(settings.arena.clone());
        self.calendar.set_rules(rules, Instant::now());
    }

    /// Whether joins are allowed; if not, leaves the joined arenas.
    pub(in crate::bot) fn set_open(&mut self, open: bool) {
        let effects = self.calendar.set_open(open, Instant::now());
        self.run_effect(effects);
    }

    /// Joins an arena by command. Returns whether joins are allowed now.
    pub(in crate::bot) fn join(&mut self, id: &str, entrance: JoinOptions) -> bool {
        let effects = self.calendar.join(id, entrance, Instant::now());
        let open = effects.is_some();
        self.run_effect(effects.unwrap_or_default());
        open
    }

    /// Leaves an arena by command. Returns whether there was one to leave.
    pub(in crate::bot) fn leave(&mut self, id: &str) -> bool {
        let effects = self.calendar.leave(id);
        let known = effects.is_some();
        self.run_effect(effects.unwrap_or_default());
        known
    }

    /// Number of joined arenas.
    pub(in crate::bot) fn playing(&self) -> usize {
        self.calendar.playing()
    }

    /// Every planned or joined arena, in words.
    pub(in crate::bot) fn describe(&self) -> Vec<String> {
        self.calendar.describe()
    }

    /// When the next [`ArenaEvent::Tick`] is due.
    pub(in crate::bot) fn next_timeout(&self) -> Option<Instant> {
        self.calendar.next_timeout()
    }

    /// Whether no call is in progress.
    pub(in crate::bot) fn is_idle(&self) -> bool {
        self.calls.is_empty()
    }

    /// The next outcome of its calls; `None` while none is in progress. Cancellation safe.
    pub(in crate::bot) async fn next(&mut self) -> Option<ArenaEvent> {
        self.calls.next().await
    }

    /// Converts an account event for arenas.
    pub(in crate::bot) fn handle_event(news: &AccountEvent) -> ArenaEvent {
        match news {
            AccountEvent::Event(Event::GameStart(game)) => ArenaEvent::Began(game.clone()),
            AccountEvent::Event(Event::GameFinish(game)) => ArenaEvent::Ended(game.clone()),
            AccountEvent::Left { game, .. } => ArenaEvent::Over(game.clone()),
            _ => ArenaEvent::Tick,
        }
    }

    pub(in crate::bot) fn handle(&mut self, received: ArenaEvent) {
        let effects = self
            .calendar
            .handle(received, Instant::now(), SystemTime::now());
        self.run_effect(effects);
    }

    /// Updates the bot's rating.
    pub(in crate::bot) fn set_rating(&mut self, rating: i32) {
        self.calendar.set_rating(rating);
    }

    fn run_effect(&mut self, effects: Vec<ArenaEffect>) {
        for effect in effects {
            let client = self.client.clone();
            self.calls.push(match effect {
                ArenaEffect::List => Box::pin(list(client)),
                ArenaEffect::Show(id) => Box::pin(show(client, id)),
                ArenaEffect::Join(id, entrance) => Box::pin(join(client, id, entrance)),
                ArenaEffect::Leave(id) => Box::pin(leave(client, id)),
            });
        }
    }
}

async fn list(client: Client) -> ArenaEvent {
    match client.arenas().await {
        Ok(arenas) => {
            ArenaEvent::Listed(arenas.started.into_iter().chain(arenas.created).collect())
        }
        Err(error) => {
            tracing::debug!(%error, "cannot list the tournaments");
            ArenaEvent::NotListed(error.wait())
        }
    }
}

async fn show(client: Client, id: String) -> ArenaEvent {
    match client.arena(&id).await {
        Ok(arena) => ArenaEvent::Shown(Box::new(arena)),
        Err(error) => {
            tracing::debug!(arena = id, %error, "cannot fetch the arena");
            ArenaEvent::NotShown(id, matches!(error, Error::Gone { .. }))
        }
    }
}

async fn join(client: Client, id: String, entrance: JoinOptions) -> ArenaEvent {
    let outcome = client.join_arena(&id, &entrance).await;
    tracing::debug!(arena = id, pair_me = entrance.pair_me, ?outcome, "joining");
    ArenaEvent::Joined(id, joined(outcome))
}

/// Interprets the answer to a join.
fn joined(outcome: Result<(), Error>) -> JoinOutcome {
    match outcome {
        Ok(()) => JoinOutcome::Done,
        Err(Error::RateLimited { wait, .. }) => JoinOutcome::Limited(wait.unwrap_or_default()),
        Err(error) if error.is_forbidden() => JoinOutcome::Banned,
        Err(Error::Refused { body, .. }) => JoinOutcome::Refused(body.message),
        Err(Error::Gone { .. }) => JoinOutcome::Gone,
        Err(Error::Transient { .. } | Error::Protocol { .. }) => JoinOutcome::Lost,
    }
}

async fn leave(client: Client, id: String) -> ArenaEvent {
    let outcome = client.leave_arena(&id).await;
    if let Err(error) = &outcome
        && !error.is_rate_limited()
    {
        tracing::warn!(arena = id, %error, "cannot leave the arena");
    }
    // Leaving an arena that the bot is not in counts as done.
    let again = outcome.is_err_and(|error| error.is_transient() || error.wait().is_some());
    ArenaEvent::Left(id, !again)
}
