//! Once a day: what is too old goes, and the log gets the day's summary.

use std::time::Duration;

use tokio::sync::watch;

use super::{DAY, millis, now};
use crate::archive::{Clerk, Millis, Prune};
use crate::bot::chronicle::Chronicle;
use crate::config;

/// How long after the start what is too old is looked for.
const SETTLE: Duration = Duration::from_secs(600);
/// How often is looked whether a day is over.
const LOOK: Duration = Duration::from_secs(60);

/// Minds the archive for as long as it is kept.
pub(super) async fn mind(
    clerk: Clerk,
    chronicle: Chronicle,
    rules: config::Archive,
    say: watch::Sender<Option<String>>,
) {
    let mut today = day_of(now());
    let mut prune_at = now() + millis(SETTLE);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = now();
        if day_of(now) > today {
            let summary = sum_up(&clerk, &chronicle, today).await;
            if summary.is_some() {
                say.send_replace(summary);
            }
            today = day_of(now);
        }
        // Rather when nothing is played; at the latest a day later.
        let quiet = chronicle.running().is_empty();
        if now >= prune_at && (quiet || now >= prune_at + millis(DAY)) {
            prune(&clerk, &rules, now).await;
            prune_at = now + millis(DAY);
        }
    }
}

/// Days since 1970.
fn day_of(moment: Millis) -> u64 {
    moment / millis(DAY)
}

async fn sum_up(clerk: &Clerk, chronicle: &Chronicle, day: u64) -> Option<String> {
    let (from, until) = (day * millis(DAY), (day + 1) * millis(DAY));
    match clerk.ask(move |disk| disk.day(from, until)).await {
        Ok(summary) => {
            let summary = summary.to_string();
            tracing::info!(summary, "the day is over");
            chronicle.note("summary", summary.as_str(), None);
            Some(summary)
        }
        Err(error) => {
            tracing::warn!(%error, "no summary of the day");
            None
        }
    }
}

async fn prune(clerk: &Clerk, rules: &config::Archive, now: Millis) {
    let before = |days: u32| now.saturating_sub(u64::from(days) * millis(DAY));
    let (games, details) = (before(rules.games), before(rules.details));
    let events = before(rules.events);
    let pruned = clerk.ask(move |disk| {
        let gone = disk.prune(games, Prune::Games)?.games;
        let thinned = disk.prune(details, Prune::Details)?.games;
        Ok((gone, thinned, disk.prune_events(events)?))
    });
    match pruned.await {
        Ok((0, 0, 0)) => {}
        Ok((games, details, events)) => {
            tracing::info!(games, details, events, "too old for the archive, and gone");
        }
        Err(error) => tracing::warn!(%error, "what is too old stays in the archive"),
    }
}
