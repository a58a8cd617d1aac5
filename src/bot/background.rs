//! Side tasks of the event loop: refreshing the player lists, and alerts about state that cannot be
//! written or about rated games that are paused, since an earlier run too.
//!
//! It only raises and clears alerts. Each task that panics is restarted by itself.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::alerts::{AlertKind, Alerts};
use super::game::task::BotContext;
use super::player_lists::{ListRefresher, PlayerLists};
use super::rating_guard::Pause;
use super::settings::Settings;
use super::state::BotState;
use super::supervisor::{RestartBackoff, panic_message, restart_on_panic};
use crate::store::StoreError;

/// Begins all of it; it ends when what comes back is dropped.
pub(super) fn start(
    context: &BotContext,
    keeper: ListRefresher,
    rules: watch::Receiver<Arc<Settings>>,
    lists: watch::Sender<Arc<PlayerLists>>,
) -> JoinSet<()> {
    let pause = context.timing.again;
    let mut tasks = JoinSet::new();
    tasks.spawn(keep_lists(keeper, rules, lists, RestartBackoff::new(pause)));
    // The memory itself would keep the file open beyond the bot's end.
    if let Some(troubles) = context.state.store().troubles() {
        let alarms = context.alarms.clone();
        let minding = move || mind_store(alarms.clone(), troubles.clone());
        tasks.spawn(restart_on_panic("alerts of the bot state", pause, minding));
    }
    let (alarms, troubles) = (
        context.alarms.clone(),
        context.listeners.event_log().troubles(),
    );
    let minding = move || mind_archive(alarms.clone(), troubles.clone());
    tasks.spawn(restart_on_panic("alerts of the archive", pause, minding));
    tasks
}

/// The names that are known stay known through a failure.
async fn keep_lists(
    mut keeper: ListRefresher,
    mut rules: watch::Receiver<Arc<Settings>>,
    lists: watch::Sender<Arc<PlayerLists>>,
    mut revival: RestartBackoff,
) {
    loop {
        let life = AssertUnwindSafe(keeper.run(&mut rules, &lists)).catch_unwind();
        let Err(panic) = life.await else { return };
        let reason = panic_message(panic.as_ref());
        tracing::error!(reason, "list refresher panicked; restarting");
        revival.wait().await;
    }
}

/// Says loudly that the rating guard has stepped in.
pub(super) fn say_tripped(alarms: &Alerts, pause: Vec<Pause>) {
    for Pause { until, reason, .. } in pause {
        let day = until.date();
        let text = format!("no rated games until {day} {until} UTC: {reason}");
        alarms.raise(AlertKind::Guard, text);
    }
}

/// Says what an earlier run left: rests of the rating guard that still last.
pub(super) fn say_rests(alarms: &Alerts, state: &BotState) {
    let rests = state.rated_rests().into_iter();
    let pause = rests.map(|(scope, rest)| Pause {
        scope,
        until: rest.span.until,
        reason: rest.reason,
    });
    say_tripped(alarms, pause.collect());
}

/// Minds the file for as long as the bot runs.
async fn mind_store(alarms: Alerts, mut troubles: watch::Receiver<Option<StoreError>>) {
    loop {
        let trouble = troubles.borrow_and_update().clone();
        match trouble {
            Some(error) => {
                let text = format!("state is kept in memory only: {error}");
                alarms.raise(AlertKind::Store, text);
            }
            None => {
                alarms.clear(AlertKind::Store);
            }
        }
        if troubles.changed().await.is_err() {
            return;
        }
    }
}

/// Minds the archive for as long as the bot runs: what it cannot keep is an alarm, no more.
async fn mind_archive(alarms: Alerts, mut troubles: watch::Receiver<Option<String>>) {
    loop {
        let trouble = troubles.borrow_and_update().clone();
        match trouble {
            Some(text) => {
                alarms.raise(AlertKind::Archive, text);
            }
            None => {
                alarms.clear(AlertKind::Archive);
            }
        }
        if troubles.changed().await.is_err() {
            return;
        }
    }
}
