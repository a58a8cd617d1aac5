//! Background tasks of the event loop: refresh the player lists, read the opening books, read the
//! opening explorer while no game runs, and raise alerts about the bot state: a file that cannot be
//! written, and rated pauses of the rating guard, including those of an earlier run.
//!
//! They decide nothing and never make a game wait. A part that panics restarts by itself.
//!
//! Beside them, [`log_rate_limits`] logs the 429s of all API calls.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::alerts::Alerts;
use super::archiver::{wait_for_games, wait_for_quiet};
use super::bot_event::AlertKind;
use super::context::BotContext;
use super::event_log::EventLog;
use super::player_lists::{ListRefresher, ListSources, PlayerLists};
use super::rating_guard::Pause;
use super::settings::Settings;
use super::status::NameList;
use super::supervisor::{RestartBackoff, catch_panic, restart_on_panic};
use crate::archive::{ArchiveReader, FILE_NAME, Filter};
use crate::book::SharedBooks;
use crate::lichess::{Client, UserId};
use crate::lookup::{BreakerSettings, ExplorerHost, ExplorerRules, ExplorerTask};
use crate::rules::{Move, Position};
use crate::store::{GuardScope, RatedPause, StoreError};

/// The background tasks, which end when this is dropped, and the channels to the list refresher.
pub(super) struct Background {
    pub(super) lists: watch::Receiver<Arc<PlayerLists>>,
    pub(super) list_states: watch::Receiver<Arc<Vec<NameList>>>,
    /// Passes reloaded rules to the list refresher.
    pub(super) rules: watch::Sender<Arc<Settings>>,
    _tasks: JoinSet<()>,
}

impl Background {
    /// `known` are the lists until others are read.
    pub(super) fn start(
        context: &BotContext,
        sources: &ListSources,
        known: Arc<PlayerLists>,
    ) -> Self {
        let pause = context.timing.again;
        load_books(context);
        let refresher = ListRefresher::new(Arc::clone(&context.settings), sources, context.timing);
        let list_states = refresher.states();
        let (rules, reloaded) = watch::channel(Arc::clone(&context.settings));
        let (publish, lists) = watch::channel(known);
        let mut tasks = JoinSet::new();
        let backoff = RestartBackoff::new(pause);
        tasks.spawn(refresh_lists(refresher, reloaded, publish, backoff));
        // Holding the state itself would keep the file open after the bot's end.
        if let Some(errors) = context.state.store().write_errors() {
            let alerts = context.alerts.clone();
            let text = |error: &StoreError| format!("state is kept in memory only: {error}");
            let kind = AlertKind::Store;
            let watch = move || watch_errors(alerts.clone(), kind, errors.clone(), text);
            tasks.spawn(restart_on_panic("alerts of the bot state", pause, watch));
        }
        let alerts = context.alerts.clone();
        let errors = context.event_bus.event_log().write_errors();
        let kind = AlertKind::Archive;
        let watch = move || watch_errors(alerts.clone(), kind, errors.clone(), String::clone);
        tasks.spawn(restart_on_panic("alerts of the archive", pause, watch));
        if let Some(explorer) = explorer_task(context, sources) {
            let explorer = Arc::new(explorer);
            let read = move || {
                let explorer = Arc::clone(&explorer);
                async move { explorer.run().await }
            };
            tasks.spawn(restart_on_panic("reader of the explorer", pause, read));
        }
        Self {
            lists,
            list_states,
            rules,
            _tasks: tasks,
        }
    }
}

/// Pause when the explorer has nothing new.
const EXPLORER_AGAIN: Duration = Duration::from_secs(3600);
/// The longest call of the explorer: the games of a player may have to be counted first.
const EXPLORER_CALL: Duration = Duration::from_secs(30);
/// Opponents whose openings are read.
const MOST_REGULARS: usize = 20;

/// The bot, as the reader of the explorer sees it.
struct BotHost {
    event_log: EventLog,
    books: SharedBooks,
    quiet: Duration,
    /// The archive with the opponents.
    archive: Option<PathBuf>,
    /// Games that make an opponent a regular one; 0: nobody is.
    regular_games: u64,
}

impl ExplorerHost for BotHost {
    fn quiet(&self) -> BoxFuture<'_, ()> {
        Box::pin(wait_for_quiet(&self.event_log, self.quiet))
    }

    fn game(&self) -> BoxFuture<'_, ()> {
        Box::pin(wait_for_games(&self.event_log))
    }

    fn book_moves(&self, position: &Position) -> Vec<Move> {
        let books = self.books.get();
        let moves = books.moves(position).flatten();
        moves.filter(|it| it.weight > 0).map(|it| it.mv).collect()
    }

    fn regulars(&self) -> BoxFuture<'_, Vec<UserId>> {
        let (archive, least) = (self.archive.clone(), self.regular_games);
        Box::pin(async move {
            let Some(archive) = archive.filter(|_| least > 0) else {
                return Vec::new();
            };
            let read = tokio::task::spawn_blocking(move || {
                ArchiveReader::open(&archive)?.opponents(&Filter::default(), MOST_REGULARS)
            });
            let read = read.await.ok().and_then(|read| {
                let unknown = |error: &_| tracing::debug!(%error, "regular opponents are unknown");
                read.inspect_err(unknown).ok()
            });
            let opponents = read.unwrap_or_default();
            let regular = opponents.iter().filter(|them| them.tally.games >= least);
            regular.map(|them| UserId::new(&them.id)).collect()
        })
    }
}

/// The reader of the explorer, if the config wants it.
fn explorer_task(context: &BotContext, sources: &ListSources) -> Option<ExplorerTask<BotHost>> {
    let (explorer, settings) = (context.explorer.clone()?, &context.settings.explorer);
    let server = context.client.explorer_server(&settings.url, EXPLORER_CALL);
    let server = server
        .inspect_err(|error| tracing::error!(%error, "the explorer stays off"))
        .ok()?;
    Some(ExplorerTask {
        explorer,
        server,
        pool: context.pool.clone(),
        rules: ExplorerRules {
            plies: settings.plies,
            min_games: settings.min_games,
            loss: settings.loss,
            nodes: settings.nodes,
            age: u64::from(settings.days) * 24 * 3600,
        },
        pace: BreakerSettings::default(),
        again: EXPLORER_AGAIN,
        host: BotHost {
            event_log: context.event_bus.event_log().clone(),
            books: context.books.clone(),
            quiet: context.timing.explorer_quiet,
            archive: sources.data.as_ref().map(|home| home.join(FILE_NAME)),
            regular_games: u64::from(settings.regulars),
        },
    })
}

/// A failed refresh keeps the known names.
async fn refresh_lists(
    mut refresher: ListRefresher,
    mut rules: watch::Receiver<Arc<Settings>>,
    lists: watch::Sender<Arc<PlayerLists>>,
    mut backoff: RestartBackoff,
) {
    loop {
        let Err(reason) = catch_panic(refresher.run(&mut rules, &lists)).await else {
            return;
        };
        tracing::error!(reason, "list refresher panicked; restarting");
        backoff.wait().await;
    }
}

/// Raises an alert for each new pause of the rating guard; the text of the last one stays.
pub(super) fn raise_guard_alerts(alerts: &Alerts, mut pauses: Vec<Pause>) {
    pauses.sort_by_key(|(scope, _)| *scope == GuardScope::All);
    for (scope, RatedPause { span, reason }) in pauses {
        let until = span.until;
        let whom = match scope {
            GuardScope::All => String::new(),
            GuardScope::Opponent(id) => format!(" against {id}"),
        };
        let day = until.date();
        let text = format!("no rated games{whom} until {day} {until} UTC: {reason}");
        alerts.raise(AlertKind::Guard, text);
    }
}

/// Raises the alert `kind` while there is a write error.
async fn watch_errors<E>(
    alerts: Alerts,
    kind: AlertKind,
    mut errors: watch::Receiver<Option<E>>,
    text: fn(&E) -> String,
) {
    loop {
        let problem = errors.borrow_and_update().as_ref().map(text);
        alerts.set(kind, problem);
        if errors.changed().await.is_err() {
            alerts.raise(kind, "nothing is written any more: its thread has ended");
            return;
        }
    }
}

/// Reads the books of the config. Nothing waits for it; a file that cannot be used is logged.
pub(super) fn load_books(context: &BotContext) {
    let rules = &context.settings.book;
    let files = rules.files.iter().filter(|_| rules.enabled).cloned();
    let event_log = context.event_bus.event_log().clone();
    let built_in = rules.enabled && rules.built_in;
    context
        .books
        .load(files.collect(), built_in, move |faults| {
            for fault in faults {
                tracing::warn!("opening book skipped: {fault}");
                event_log.note("book", format!("skipped: {fault}"), None);
            }
        });
}

/// The kind of a rate limit in the event log.
const RATE_LIMIT_KIND: &str = "limited";
/// In a long storm, log once per this many of the first pauses.
const SELDOM: u32 = 4;

/// Logs the 429s of all API calls, whichever part of the bot made them, as long as the bot runs:
/// the first at once, the next not before `pause` has passed. While they continue it sums them and
/// logs ever more rarely, so that a storm of 429s cannot push other events out of the log. No call
/// waits for it.
pub(super) async fn log_rate_limits(client: &Client, event_log: &EventLog, pause: Duration) {
    loop {
        client.limited().await;
        let mut rest = pause;
        while log_rate_limits_now(client, event_log) {
            tokio::time::sleep(rest).await;
            rest = (rest * 2).min(pause * SELDOM);
        }
    }
}

/// Logs all unlogged 429s; false if there are none.
pub(super) fn log_rate_limits_now(client: &Client, event_log: &EventLog) -> bool {
    let limited = client.take_limited();
    for it in &limited {
        let game = it.game.as_ref().map(tracing::field::display);
        tracing::warn!(game, "{it}");
        event_log.note(RATE_LIMIT_KIND, it.to_string(), it.game.as_ref());
    }
    !limited.is_empty()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::bot::event_bus::EventBus;
    use crate::store::{TimeSpan, Timestamp};

    #[test]
    fn the_alert_of_the_rating_guard_names_the_opponent_and_a_pause_of_all_is_said_last() {
        let pause = |scope| {
            let span = TimeSpan::new(Timestamp::default(), Duration::ZERO);
            let reason = "lost".to_owned();
            (scope, RatedPause { span, reason })
        };
        let one = GuardScope::Opponent(UserId::new("Foe"));
        for (pauses, expected) in [
            (
                vec![pause(one.clone())],
                "no rated games against foe until ",
            ),
            (
                vec![pause(GuardScope::All), pause(one)],
                "no rated games until ",
            ),
        ] {
            let alerts = Alerts::new(EventBus::default());
            raise_guard_alerts(&alerts, pauses);
            let shown = alerts.lines().remove(0).text;
            assert!(shown.starts_with(expected), "{shown}");
        }
    }

    #[tokio::test]
    async fn a_thread_that_has_ended_raises_the_alert_of_what_it_wrote() {
        let alerts = Alerts::new(EventBus::default());
        let (announce, errors) = watch::channel(None);
        drop(announce);
        watch_errors(alerts.clone(), AlertKind::Store, errors, String::clone).await;
        assert!(alerts.is_on(AlertKind::Store));
    }

    #[test]
    fn the_explorer_is_asked_only_where_the_books_of_the_bot_end() {
        let (sender, loaded) = mpsc::channel();
        let books = SharedBooks::default();
        let host = BotHost {
            event_log: EventLog::default(),
            books: books.clone(),
            quiet: Duration::ZERO,
            archive: None,
            regular_games: 0,
        };
        let start = Position::default();
        assert!(host.book_moves(&start).is_empty());
        books.load(Vec::new(), true, move |faults| drop(sender.send(faults)));
        assert_eq!(loaded.recv(), Ok(Vec::new()));
        assert!(!host.book_moves(&start).is_empty());
        let unknown = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
        let unknown = Position::from_fen(unknown).unwrap();
        assert!(host.book_moves(&unknown).is_empty());
    }
}
