//! Background work for the archive. It never blocks the bot.
//!
//! Every change of the event log is on disk within half a second. While no game is running, games that
//! were not won are analysed again. If the file fails, an alert is raised and the bot plays on.
//!
//! * `writer`: copies the event log to the file
//! * `maintenance`: deletes old data; writes the daily summary
//! * `blunder_search`: which move cost the game; pure
//! * `reviewer`: runs its searches in idle time

mod blunder_search;
mod maintenance;
mod reviewer;
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

pub use self::maintenance::MaintenanceRules;
pub use self::reviewer::AnalysisRules;
use self::writer::ArchiveWriter;
use super::event_log::{EventLog, epoch, millis};
use super::supervisor::restart_on_panic;
use crate::archive::{Millis, Writer};
use crate::config;
use crate::engine::Pool;

/// How long the start waits for what the file knows of games under way.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end waits for the file.
const FAREWELL: Duration = Duration::from_secs(3);
/// Games that began earlier are not taken up again.
const STILL_RUNNING: Duration = Duration::from_secs(200 * 24 * 3600);
/// A challenge that waited for so long when the bot starts has lapsed.
const LAPSED: Duration = Duration::from_secs(60);
/// The longest from one try to the next at a file that cannot be written.
const RETRY: Duration = Duration::from_secs(10);
const DAY: Duration = Duration::from_secs(24 * 3600);
/// Before work that panicked restarts, if nothing waits for it; longer each time that it does.
const REVIVE: Duration = Duration::from_secs(60);

/// How the archive is kept.
#[derive(Clone, Debug)]
pub struct ArchiveRules {
    /// What the operator says.
    pub settings: config::Archive,
    /// When games are looked at again.
    pub review: AnalysisRules,
    /// When what is too old goes, and a day is summed up.
    pub upkeep: MaintenanceRules,
    /// The longest from one try to the next at a file that cannot be written.
    pub retry: Duration,
    /// The first pause before the review or the upkeep restarts after a panic.
    pub revive: Duration,
    /// Says by what time that is done.
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

/// The work for the archive. Dropping it ends that work where it stands.
#[derive(Debug)]
pub struct Archiver {
    stop: CancellationToken,
    keeping: JoinSet<()>,
    days: watch::Receiver<Option<String>>,
    _side_tasks: JoinSet<()>,
}

impl Archiver {
    /// Begins to keep what the event log says in this file, and tells the event log what the file
    /// knows of games that had not ended. To be called before the bot begins.
    ///
    /// # Errors
    /// When the system gives no thread. A file that cannot be used is an alarm, no error.
    pub async fn start(
        path: &Path,
        event_log: &EventLog,
        pool: &Pool,
        rules: &ArchiveRules,
    ) -> std::io::Result<Self> {
        let writer = Writer::start(path)?;
        let begun = now();
        let since = begun.saturating_sub(millis(STILL_RUNNING));
        let unfinished = writer.ask(move |disk| disk.unfinished(since));
        let unfinished = match tokio::time::timeout(PATIENCE, unfinished).await {
            Ok(Ok(unfinished)) => unfinished,
            Ok(Err(error)) => {
                event_log.set_trouble(Some(writer::trouble(&error, 0)));
                Vec::new()
            }
            Err(_) => {
                event_log.set_trouble(Some(writer::slow(writer.path())));
                Vec::new()
            }
        };
        event_log.archive(unfinished);
        // One that still waits is told again when the event stream opens. No one waits for this.
        drop(writer.ask(move |disk| {
            let lapsed = disk.lapse(begun.saturating_sub(millis(LAPSED)), begun);
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
        let (say_day, days) = watch::channel(None);
        let mut side_tasks = JoinSet::new();
        let say_day = Arc::new(say_day);
        let again = anew(event_log, "archive maintenance");
        let parts = (writer.clone(), event_log.clone(), rules.clone());
        side_tasks.spawn(restart_on_panic(
            "archive maintenance",
            rules.revive,
            move || {
                again();
                let (writer, event_log, rules) = parts.clone();
                maintenance::mind(writer, event_log, rules, Arc::clone(&say_day))
            },
        ));
        if rules.settings.review {
            let again = anew(event_log, "game review");
            let parts = (writer.clone(), event_log.clone(), pool.clone());
            let review = rules.review.clone();
            side_tasks.spawn(restart_on_panic("game reviewer", rules.revive, move || {
                again();
                let (writer, event_log, pool) = parts.clone();
                reviewer::review(writer, event_log, pool, review.clone())
            }));
        }
        Ok(Self {
            stop,
            keeping,
            days,
            _side_tasks: side_tasks,
        })
    }

    /// The summary of each day once it is over.
    pub fn days(&self) -> watch::Receiver<Option<String>> {
        self.days.clone()
    }

    /// Keeps what is left and ends, in a few seconds at most.
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

/// Notes, from the second time on, that work failed and restarts. The log says why.
fn anew(event_log: &EventLog, what: &'static str) -> impl Fn() + Send + 'static {
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
