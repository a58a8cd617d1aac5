//! From the chronicle to the file: everything that changed, a moment later.
//!
//! One batch at a time. What could not be kept stays in the chronicle and is in the next batch: games
//! whole, so that none is ever kept in part.

use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::archive::{ArchiveError, Clerk, Entry};
use crate::bot::chronicle::{Changes, Chronicle};

/// Changes that come within so short a time are kept together.
const TOGETHER: Duration = Duration::from_millis(150);
/// After the first try that failed; doubles with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// A disk that says nothing for so long is said to be slow.
const SLOW: Duration = Duration::from_secs(10);

/// Keeps what changes until told to stop, and then what is left. A file that cannot be written is
/// tried again soon, and less and less often; from one try to the next it is `retry` at most.
pub(super) async fn keep(
    chronicle: Chronicle,
    clerk: Clerk,
    retry: Duration,
    stop: CancellationToken,
) {
    let mut told = chronicle.changes();
    let mut kept = 0;
    let mut lost = 0;
    let mut pause = FIRST_PAUSE.min(retry);
    // What happened before this began is news too.
    told.mark_changed();
    loop {
        let stopping = tokio::select! {
            biased;
            () = stop.cancelled() => true,
            _ = told.changed() => {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(TOGETHER) => {}
                }
                false
            }
        };
        told.mark_unchanged();
        let changes = chronicle.since(kept);
        if changes.lost > lost {
            tracing::error!(
                lost = changes.lost - lost,
                "not kept in the archive, for good"
            );
            lost = changes.lost;
        }
        let waiting = changes.games.len();
        let version = changes.version;
        match commit(&chronicle, &clerk, changes).await {
            Ok(()) => {
                kept = version;
                pause = FIRST_PAUSE.min(retry);
                chronicle.settle(version);
                chronicle.set_trouble(None);
            }
            Err(error) => {
                tracing::debug!(%error, waiting, "the archive is not written");
                chronicle.set_trouble(Some(trouble(&error, waiting)));
                if stopping {
                    tracing::error!(%error, games = waiting, "the last of them are not archived");
                    return;
                }
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(retry);
                told.mark_changed();
            }
        }
        if stopping {
            return;
        }
    }
}

/// Keeps a batch. A disk that does not answer is said to be slow, and waited for.
async fn commit(
    chronicle: &Chronicle,
    clerk: &Clerk,
    changes: Changes,
) -> Result<(), ArchiveError> {
    let entries = entries(changes);
    // In trouble an empty batch shows whether the file can be used again.
    if entries.is_empty() && chronicle.troubles().borrow().is_none() {
        return Ok(());
    }
    let mut commit = Box::pin(clerk.ask(move |disk| disk.commit(&entries)));
    if let Ok(outcome) = tokio::time::timeout(SLOW, &mut commit).await {
        return outcome;
    }
    chronicle.set_trouble(Some(slow(clerk.path())));
    commit.await
}

fn entries(changes: Changes) -> Vec<Entry> {
    let games = changes.games.into_iter().map(Entry::Game);
    let challenges = changes.challenges.into_iter().map(Entry::Challenge);
    let events = changes.events.into_iter();
    games
        .chain(challenges)
        .chain(events.map(Entry::Event))
        .collect()
}

/// What an operator is told about a file that cannot be used.
pub(super) fn trouble(error: &ArchiveError, waiting: usize) -> String {
    let kept = match waiting {
        0 => String::new(),
        1 => " One game waits in memory.".to_owned(),
        games => format!(" {games} games wait in memory."),
    };
    format!("games are not archived: {error}.{kept} The bot plays on.")
}

/// The same about one that does not answer.
pub(super) fn slow(path: &Path) -> String {
    let path = path.display();
    format!("games are not archived: the disk of {path} does not answer. The bot plays on.")
}
