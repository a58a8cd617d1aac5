//! What is new, put together once for everyone who looks.
//!
//! One task listens to the event log and to the state of the bot, and only while someone looks. It
//! publishes a picture in pieces, each with the number of its change; a stream sends what it has not
//! sent yet. However many look and however slowly they read, the bot notices none of it, and nothing
//! piles up: who missed a piece gets the latest. What the archive has to say comes when it comes.

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

/// Least time between two pictures.
const BEAT: Duration = Duration::from_millis(120);
/// How long an archive that cannot be read is left alone.
const AGAIN: Duration = Duration::from_secs(3);
/// After each time the archive is left alone for so many times as long as it took, and no longer than
/// this.
const REST: u32 = 9;
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Lines of the lists.
const MOST_CHALLENGES: usize = 40;
const MOST_EVENTS: usize = 80;
const MOST_RECENT: usize = 20;

/// Where pictures appear, and who looks at them.
#[derive(Debug)]
pub(super) struct LiveUpdates {
    pictures: watch::Sender<Arc<ViewState>>,
    viewers: watch::Sender<Viewers>,
}

#[derive(Debug, Default)]
struct Viewers {
    count: usize,
    /// How many of them watch which game.
    games: BTreeMap<String, usize>,
}

impl Viewers {
    fn come(&mut self, game: Option<&String>) {
        self.count += 1;
        if let Some(game) = game {
            *self.games.entry(game.clone()).or_default() += 1;
        }
    }

    fn go(&mut self, game: Option<&String>) {
        self.count -= 1;
        if let Some(watching) = game.and_then(|game| self.games.get_mut(game)) {
            *watching -= 1;
            self.games.retain(|_, watching| *watching > 0);
        }
    }
}

/// Someone looks, until this is dropped.
#[derive(Debug)]
pub(super) struct Viewer {
    feed: Arc<LiveUpdates>,
    game: Option<String>,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let viewers = &self.feed.viewers;
        viewers.send_modify(|viewers| viewers.go(self.game.as_ref()));
    }
}

impl LiveUpdates {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            pictures: watch::Sender::new(Arc::default()),
            viewers: watch::Sender::new(Viewers::default()),
        })
    }

    /// Looks from now on, at the moves of this game if there is one.
    pub(super) fn view(
        self: &Arc<Self>,
        game: Option<String>,
    ) -> (Viewer, watch::Receiver<Arc<ViewState>>) {
        self.viewers
            .send_modify(|viewers| viewers.come(game.as_ref()));
        let viewer = Viewer {
            feed: Arc::clone(self),
            game,
        };
        (viewer, self.pictures.subscribe())
    }

    /// Puts pictures together for as long as there is a page.
    pub(super) async fn run(&self, site: AppState) {
        let mut viewers = self.viewers.subscribe();
        loop {
            // The sender lives in this feed.
            let _ = viewers.wait_for(|viewers| viewers.count > 0).await;
            let (told, past) = watch::channel(History::default());
            tokio::select! {
                () = self.publish_while_seen(&site, &mut viewers, past) => {}
                () = look_up(&site, &told) => {}
            }
            // No one shall be shown what is old by then.
            let number = self.pictures.borrow().number;
            self.pictures.send_replace(Arc::new(ViewState {
                number,
                ..ViewState::default()
            }));
        }
    }

    async fn publish_while_seen(
        &self,
        site: &AppState,
        viewers: &mut watch::Receiver<Viewers>,
        mut past: watch::Receiver<History>,
    ) {
        let sources = site.sources();
        let event_log = &sources.event_log;
        // Searches report on their way only while this is held.
        let (mut changes, mut thoughts) = (event_log.changes(), event_log.thoughts());
        let mut status = sources.watch.changes();
        let mut builder = ViewBuilder::new(self.pictures.borrow().number, &sources.server);
        loop {
            changes.borrow_and_update();
            thoughts.borrow_and_update();
            status.borrow_and_update();
            let Some(watched) = watched(viewers) else {
                return;
            };
            let over = past.borrow_and_update().clone();
            if let Some(view) = paint(&mut builder, site, &watched, &over) {
                self.pictures.send_replace(Arc::new(view));
            }
            tokio::time::sleep(BEAT).await;
            tokio::select! {
                Ok(()) = changes.changed() => {}
                Ok(()) = thoughts.changed() => {}
                Ok(()) = status.changed() => {}
                Ok(()) = past.changed() => {}
                Ok(()) = viewers.changed() => {}
                else => return,
            }
        }
    }
}

/// The games that someone watches; none if no one looks at anything.
fn watched(viewers: &mut watch::Receiver<Viewers>) -> Option<BTreeSet<String>> {
    let viewers = viewers.borrow_and_update();
    (viewers.count > 0).then(|| viewers.games.keys().cloned().collect())
}

/// The next picture, if it is not the same as before. Waits for nothing.
fn paint(
    builder: &mut ViewBuilder,
    site: &AppState,
    watched: &BTreeSet<String>,
    past: &History,
) -> Option<ViewState> {
    let sources = site.sources();
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
    let challenges: Vec<ChallengeDto> = challenges.iter().map(|it| (&**it).into()).collect();
    builder.put(Section::Challenges, &challenges);
    let events = event_log.events(MOST_EVENTS);
    let events: Vec<_> = events.iter().map(|event| &**event).collect();
    builder.put(Section::Events, &events);
    for (game, at) in event_log.reviews() {
        if watched.contains(&game) {
            builder.put(Section::Reviewed(game), &at);
        }
    }
    builder.put_past(past);
    builder.finish()
}

/// The games that ended last: which, when, and what each did to our rating, which may be told later.
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

/// Looks up what is over, again whenever there is more of it: however long the archive takes over it,
/// no board waits, and a large one is not read all the time. One that cannot be read is asked again
/// after a while.
async fn look_up(site: &AppState, told: &watch::Sender<History>) {
    let event_log = &site.sources().event_log;
    let mut changes = event_log.changes();
    let mut known = None;
    let mut again: Option<Instant> = None;
    loop {
        changes.borrow_and_update();
        let latest = Latest::of(&event_log.recent());
        let is_due = again.is_some_and(|at| at <= Instant::now());
        if is_due || known.as_ref() != Some(&latest) {
            known = Some(latest);
            let begun = Instant::now();
            let is_all = tell_past(site, told).await;
            again = (!is_all).then(|| Instant::now() + AGAIN);
            tokio::time::sleep((begun.elapsed() * REST).min(LONGEST_REST)).await;
        }
        tokio::time::sleep(BEAT).await;
        let change = changes.changed();
        // The sender lives in the event log.
        let _ = match again {
            Some(at) => timeout_at(at, change).await,
            None => Ok(change.await),
        };
    }
}

/// Tells what is over; whether the archive had its say in it.
async fn tell_past(site: &AppState, told: &watch::Sender<History>) -> bool {
    let recent = game_queries::recent(site, MOST_RECENT).await;
    told.send_modify(|past| past.set_recent(&recent.list));
    let ratings = game_queries::ratings(site).await;
    told.send_modify(|past| past.set_ratings(&ratings.list));
    recent.trouble.is_none() && ratings.trouble.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::PlayerRecord;
    use crate::lichess::Side;

    #[test]
    fn a_rating_that_comes_late_is_news_of_whichever_game_is_listed() {
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
