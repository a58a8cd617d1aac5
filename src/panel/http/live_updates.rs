//! Live updates, built once for all pages.
//!
//! One task follows the event log and the status of the bot while at least one page is open. It publishes
//! a view in sections, each with the version of its last change, and each stream sends the sections that
//! it has not sent yet. So neither the number of pages nor their speed affects the bot, and nothing piles
//! up. Answers of the archive are added when they come.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::app_state::AppState;
use super::dto::ChallengeDto;
use super::game_queries;
use super::view_state::{History, Section, ViewBuilder, ViewState};
use crate::archive::{GameRecord, Millis, dates};

/// Least time between two views.
const INTERVAL: Duration = Duration::from_millis(120);
/// Time until an archive that could not be read is tried again.
const RETRY: Duration = Duration::from_secs(3);
/// After each query the archive gets a rest of so many times the duration of the query, up to a limit.
const REST: u32 = 9;
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Rows of the lists.
const MOST_CHALLENGES: usize = 40;
const MOST_EVENTS: usize = 80;
const MOST_RECENT: usize = 20;

/// The latest view, and the pages that are open.
#[derive(Debug)]
pub(super) struct LiveUpdates {
    views: watch::Sender<Arc<ViewState>>,
    viewers: watch::Sender<Viewers>,
}

#[derive(Debug, Default)]
struct Viewers {
    count: usize,
    /// How many of them watch each game.
    games: BTreeMap<String, usize>,
}

impl Viewers {
    fn add(&mut self, game: Option<&String>) {
        self.count += 1;
        if let Some(game) = game {
            *self.games.entry(game.clone()).or_default() += 1;
        }
    }

    fn remove(&mut self, game: Option<&String>) {
        self.count -= 1;
        if let Some(watching) = game.and_then(|game| self.games.get_mut(game)) {
            *watching -= 1;
            self.games.retain(|_, watching| *watching > 0);
        }
    }
}

/// An open page, until this is dropped.
#[derive(Debug)]
pub(super) struct Viewer {
    updates: Arc<LiveUpdates>,
    game: Option<String>,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let viewers = &self.updates.viewers;
        viewers.send_modify(|viewers| viewers.remove(self.game.as_ref()));
    }
}

impl LiveUpdates {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            views: watch::Sender::new(Arc::default()),
            viewers: watch::Sender::new(Viewers::default()),
        })
    }

    /// Adds an open page, which may watch a game.
    pub(super) fn view(
        self: &Arc<Self>,
        game: Option<String>,
    ) -> (Viewer, watch::Receiver<Arc<ViewState>>) {
        self.viewers
            .send_modify(|viewers| viewers.add(game.as_ref()));
        let viewer = Viewer {
            updates: Arc::clone(self),
            game,
        };
        (viewer, self.views.subscribe())
    }

    /// Publishes views for ever.
    pub(super) async fn run(&self, site: &AppState) {
        let mut viewers = self.viewers.subscribe();
        loop {
            // The sender is in `self`, so this cannot fail.
            let _ = viewers.wait_for(|viewers| viewers.count > 0).await;
            let (sender, history) = watch::channel(History::default());
            tokio::select! {
                () = self.publish_while_viewed(site, &mut viewers, history) => {}
                () = query_history(site, &sender) => {}
            }
            // The next page must not be shown old data.
            let version = self.views.borrow().version;
            self.views.send_replace(Arc::new(ViewState {
                version,
                ..ViewState::default()
            }));
        }
    }

    async fn publish_while_viewed(
        &self,
        site: &AppState,
        viewers: &mut watch::Receiver<Viewers>,
        mut history: watch::Receiver<History>,
    ) {
        let sources = &site.sources;
        let event_log = &sources.event_log;
        // Searches report their progress only while `progress` exists.
        let (mut changes, mut progress) = (event_log.changes(), event_log.search_progress());
        let mut status = sources.watch.changes();
        let mut builder = ViewBuilder::new(
            self.views.borrow().version,
            &sources.server,
            site.config.spectators,
        );
        loop {
            changes.borrow_and_update();
            progress.borrow_and_update();
            status.borrow_and_update();
            let Some(watched) = watched(viewers) else {
                return;
            };
            let past = history.borrow_and_update().clone();
            if let Some(view) = build(&mut builder, site, &watched, &past) {
                self.views.send_replace(Arc::new(view));
            }
            tokio::time::sleep(INTERVAL).await;
            tokio::select! {
                Ok(()) = changes.changed() => {}
                Ok(()) = progress.changed() => {}
                Ok(()) = status.changed() => {}
                Ok(()) = history.changed() => {}
                Ok(()) = viewers.changed() => {}
                else => return,
            }
        }
    }
}

/// The games that pages watch; `None` if no page is open.
fn watched(viewers: &mut watch::Receiver<Viewers>) -> Option<BTreeSet<String>> {
    let viewers = viewers.borrow_and_update();
    (viewers.count > 0).then(|| viewers.games.keys().cloned().collect())
}

/// The next view, if it differs from the one before. Never waits.
fn build(
    builder: &mut ViewBuilder,
    site: &AppState,
    watched: &BTreeSet<String>,
    history: &History,
) -> Option<ViewState> {
    let sources = &site.sources;
    let event_log = &sources.event_log;
    builder.begin();
    if let Some(status) = sources.watch.status() {
        builder.put(Section::Status, &*status);
    }
    builder.put_games(
        event_log.running(),
        event_log.recent(),
        watched,
        dates::now(),
    );
    let challenges = event_log.challenges(MOST_CHALLENGES);
    let challenges: Vec<ChallengeDto<'_>> = challenges.iter().map(|it| (&**it).into()).collect();
    builder.put(Section::Challenges, &challenges);
    let events = event_log.events(MOST_EVENTS);
    let events: Vec<_> = events.iter().map(|event| &**event).collect();
    builder.put(Section::Events, &events);
    for (game, at) in event_log.reviews() {
        if watched.contains(&game) {
            builder.put(Section::Reviewed(game), &at);
        }
    }
    builder.put_history(history);
    builder.finish()
}

/// The games that ended last: id, end, and change of our rating, which may become known later.
#[derive(Debug, PartialEq)]
struct Latest(Vec<(String, Millis, Option<i32>)>);

impl Latest {
    fn of(recent: &[Arc<GameRecord>]) -> Self {
        let latest = recent.iter().take(MOST_RECENT).map(|record| {
            let diff = record.us.and_then(|us| record.player(us).rating_diff);
            let at = record.ending.as_ref().map_or(0, |ending| ending.at);
            (record.id.clone(), at, diff)
        });
        Self(latest.collect())
    }
}

/// Queries the finished games whenever there are more of them. No board waits for a slow archive, and a large
/// one is not read all the time. One that cannot be read is tried again later.
async fn query_history(site: &AppState, history: &watch::Sender<History>) {
    let event_log = &site.sources.event_log;
    let mut changes = event_log.changes();
    let mut known = None;
    let mut retry_at: Option<Instant> = None;
    loop {
        changes.borrow_and_update();
        let latest = Latest::of(&event_log.recent());
        let is_due = retry_at.is_some_and(|at| at <= Instant::now());
        if is_due || known.as_ref() != Some(&latest) {
            known = Some(latest);
            let begun = Instant::now();
            let is_complete = update_history(site, history).await;
            retry_at = (!is_complete).then(|| Instant::now() + RETRY);
            tokio::time::sleep((begun.elapsed() * REST).min(LONGEST_REST)).await;
        }
        tokio::time::sleep(INTERVAL).await;
        let change = changes.changed();
        // The sender is in the event log, so this cannot fail.
        let _ = match retry_at {
            Some(at) => timeout_at(at, change).await,
            None => Ok(change.await),
        };
    }
}

/// Updates the lists; whether the archive contributed to them.
async fn update_history(site: &AppState, history: &watch::Sender<History>) -> bool {
    let recent = game_queries::recent(site, MOST_RECENT).await;
    history.send_modify(|past| past.set_recent(&recent.list));
    let ratings = game_queries::ratings(site).await;
    history.send_modify(|past| past.set_ratings(&ratings.list));
    recent.trouble.is_none() && ratings.trouble.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::PlayerRecord;
    use crate::lichess::Side;

    #[test]
    fn a_late_rating_updates_the_listed_game() {
        let over = |id: &str, rating_diff| {
            Arc::new(GameRecord {
                id: id.to_owned(),
                us: Some(Side::White),
                white: PlayerRecord {
                    rating_diff,
                    ..PlayerRecord::default()
                },
                ..GameRecord::default()
            })
        };
        let before = Latest::of(&[over("second00", Some(5)), over("first000", None)]);
        let after = Latest::of(&[over("second00", Some(5)), over("first000", Some(-7))]);
        assert_ne!(before, after);
    }
}
