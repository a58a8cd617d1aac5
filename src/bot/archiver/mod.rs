//! Background work for the archive. It never blocks the bot.
//!
//! Every change of the event log is on disk within half a second. On spare cores, games that were not won
//! are analysed again, and the bot learns from that. If the file fails, an alert is raised and the bot plays on.
//!
//! * `writer`: copies the event log to the file
//! * `maintenance`: deletes old data; writes the daily summary
//! * `analysis`: searches in idle time which move cost a game

mod analysis;
mod maintenance;
#[cfg(test)]
mod tests;
mod writer;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::writer::ArchiveWriter;
use super::event_log::{EventLog, epoch, millis};
use super::state::{BotState, UnfinishedGame};
use super::supervisor::restart_on_panic;
use crate::archive::{Millis, Writer};
use crate::config;
use crate::engine::Pool;
use crate::lichess::GameId;
use crate::store::Timestamp;

pub use self::analysis::{AnalysisRules, review_game};
pub(super) use self::analysis::{wait_for_games, wait_for_quiet};
pub use self::maintenance::MaintenanceRules;

/// Maximum wait at start for the file's games in progress.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum wait at exit for the file.
const FAREWELL: Duration = Duration::from_secs(3);
/// Games that began earlier are not resumed.
const STILL_RUNNING: Duration = Duration::from_secs(200 * 24 * 3600);
/// Maximum pause between two attempts at a file that cannot be written.
const RETRY: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Pause before a panicked background task restarts; doubles each time.
const REVIVE: Duration = Duration::from_secs(60);

/// Settings and timing of the archive.
#[derive(Clone, Debug)]
pub struct ArchiveRules {
    pub settings: config::Archive,
    /// When to review games.
    pub review: AnalysisRules,
    /// When to delete old data and summarize a day.
    pub upkeep: MaintenanceRules,
    /// Maximum pause between two attempts at a file that cannot be written.
    pub retry: Duration,
    /// First pause before review or maintenance restarts after a panic.
    pub revive: Duration,
    /// The clock for that.
    pub clock: fn() -> SystemTime,
}

impl From<&config::Archive> for ArchiveRules {
    fn from(settings: &config::Archive) -> Self {
        Self {
            settings: settings.clone(),
            review: AnalysisRules {
                time: settings.review_time,
                ..AnalysisRules::default()
            },
            upkeep: MaintenanceRules::default(),
            retry: RETRY,
            revive: REVIVE,
            clock: SystemTime::now,
        }
    }
}

/// Background work for the archive. Dropping it stops the work at once.
#[derive(Debug)]
pub struct Archiver {
    stop: CancellationToken,
    keeping: JoinSet<()>,
    days: watch::Receiver<Option<String>>,
    _side_tasks: JoinSet<()>,
}

impl Archiver {
    /// Starts archiving the event log to this file, and passes the file's unfinished games to the
    /// event log, and what its games teach to the state. Call before the bot starts.
    ///
    /// # Errors
    /// When no thread can be created. An unusable file raises an alert instead.
    pub async fn start(
        path: &Path,
        event_log: &EventLog,
        pool: &Pool,
        state: &BotState,
        rules: &ArchiveRules,
    ) -> std::io::Result<Self> {
        let writer = Writer::start(path)?;
        let begun = now();
        let since = begun.saturating_sub(millis(STILL_RUNNING));
        let unfinished = writer.ask(move |disk| disk.unfinished(since));
        let unfinished = match tokio::time::timeout(PATIENCE, unfinished).await {
            Ok(answer) => answer.map_err(|error| writer::trouble(&error, 0)),
            Err(_) => Err(writer::slow(writer.path())),
        };
        let unfinished = unfinished.unwrap_or_else(|trouble| {
            event_log.set_write_error(Some(trouble));
            Vec::new()
        });
        let unarchived = unfinished.iter().map(|game| UnfinishedGame {
            game: GameId::new(game.id.as_str()),
            since: Timestamp::from_millis(game.began()),
        });
        state.set_unarchived(unarchived.collect());
        event_log.archive(unfinished);
        // The server repeats an open challenge when the event stream opens. Nothing waits for this.
        drop(writer.ask(move |disk| {
            let lapsed = disk.lapse(begun, begun);
            if let Err(error) = &lapsed {
                tracing::debug!(%error, "cannot mark expired challenges");
            }
            lapsed
        }));
        let stop = CancellationToken::new();
        let mut keeping = JoinSet::new();
        let archive_writer =
            ArchiveWriter::new(event_log.clone(), writer.clone(), rules.retry, stop.clone());
        keeping.spawn(async move { archive_writer.keep().await });
        let (day_sender, days) = watch::channel(None);
        let mut side_tasks = JoinSet::new();
        let day_sender = Arc::new(day_sender);
        let again = note_restart(event_log, "archive maintenance");
        let parts = (writer.clone(), event_log.clone(), rules.clone());
        side_tasks.spawn(restart_on_panic(
            "archive maintenance",
            rules.revive,
            move || {
                again();
                let (writer, event_log, rules) = parts.clone();
                maintenance::run(writer, event_log, rules, Arc::clone(&day_sender))
            },
        ));
        let parts = (writer.clone(), state.clone());
        let pause = rules.review.again;
        side_tasks.spawn(restart_on_panic("learning", rules.revive, move || {
            let (writer, state) = parts.clone();
            analysis::learn(writer, state, pause)
        }));
        if rules.settings.review {
            let again = note_restart(event_log, "game review");
            let parts = (writer.clone(), event_log.clone(), pool.clone());
            let (state, review) = (state.clone(), rules.review.clone());
            side_tasks.spawn(restart_on_panic("game reviewer", rules.revive, move || {
                again();
                let (writer, event_log, pool) = parts.clone();
                analysis::review(writer, event_log, pool, state.clone(), review.clone())
            }));
        }
        Ok(Self {
            stop,
            keeping,
            days,
            _side_tasks: side_tasks,
        })
    }

    /// The summary of each finished day.
    pub fn days(&self) -> watch::Receiver<Option<String>> {
        self.days.clone()
    }

    /// Stores what is left and ends, in a few seconds at most.
    pub async fn finish(mut self) {
        self.stop.cancel();
        let kept = self.keeping.join_next();
        match tokio::time::timeout(FAREWELL, kept).await {
            Err(_) => {
                tracing::error!("the archive does not respond: unsaved data is lost");
            }
            Ok(Some(Err(error))) => {
                tracing::error!(%error, "data not yet saved to the archive is lost");
            }
            Ok(_) => {}
        }
    }
}

/// Logs every restart of a panicked task from the second start on; the program's log has the
/// reason.
fn note_restart(event_log: &EventLog, what: &'static str) -> impl Fn() + Send + 'static {
    let event_log = event_log.clone();
    let again = AtomicBool::new(false);
    move || {
        if again.swap(true, Ordering::Relaxed) {
            event_log.note("archive", format!("{what} panicked; restarting"), None);
        }
    }
}

fn now() -> Millis {
    epoch(SystemTime::now())
}
