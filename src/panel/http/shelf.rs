//! Games that are over, for the pages: the latest from the chronicle, the rest from the archive.
//!
//! The archive is read where blocking is allowed, by one page at a time: however many ask, the bot
//! and its writer notice nothing. Without an archive there are the latest games.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::feed::now;
use super::gate::refusal;
use super::replay::Replay;
use super::site::Site;
use super::view::{Head, Whole};
use crate::archive::{
    ArchiveError, Filter, GameLine, GameRecord, Library, Mark, Millis, Opponent, Order, Outcome,
    PgnOptions, RatedGame, Wanted, follow, opponents_of, pgn,
};
use crate::lichess::{Side, Speed};

/// Games that are given at once.
const MOST_GAMES: usize = 200;
/// Games that the rating is drawn from.
const MOST_RATED: usize = 3000;
/// Opponents that are listed, those met most often. The page says so where there are as many.
const MOST_OPPONENTS: usize = 1000;

/// The archive, opened when it is first asked.
#[derive(Debug)]
pub(super) struct Shelf {
    path: Option<PathBuf>,
    open: Arc<Mutex<Option<Library>>>,
    /// One reader at a time, counted until it has read: one whose page has left meanwhile too.
    turn: Arc<Semaphore>,
}

impl Shelf {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            open: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
        }
    }

    /// What the archive answers; nothing if there is none, or none that can be read.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Library) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Option<T> {
        let path = self.path.clone()?;
        let turn = Arc::clone(&self.turn).acquire_owned().await.ok()?;
        let open = Arc::clone(&self.open);
        let asked = tokio::task::spawn_blocking(move || {
            // Nothing ends this thread before it has its answer, whoever wanted it.
            let _turn = turn;
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            let library = match open.take() {
                Some(library) => library,
                None => Library::open(&path)?,
            };
            let answer = question(&library)?;
            // Only one that answers is kept.
            *open = Some(library);
            Ok::<T, ArchiveError>(answer)
        });
        match asked.await {
            Ok(Ok(answer)) => Some(answer),
            Ok(Err(error)) => {
                tracing::debug!(%error, "the page cannot read the archive");
                None
            }
            Err(_) => None,
        }
    }
}

/// Which games are wanted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wish {
    opponent: Option<String>,
    result: Option<Outcome>,
    speed: Option<String>,
    color: Option<Side>,
    /// Begun before this moment; or at it, if the id comes after this one in the list.
    before: Option<Millis>,
    after: Option<String>,
    limit: Option<usize>,
}

impl Wish {
    fn fits(&self, record: &GameRecord) -> bool {
        let opponent = record.opponent();
        let named = |wanted: &String| {
            let wanted = wanted.to_lowercase();
            opponent.is_some_and(|it| it.name.to_lowercase() == wanted)
        };
        self.opponent.as_ref().is_none_or(named)
            && self
                .result
                .is_none_or(|it| record.our_outcome() == Some(it))
            && self
                .speed
                .as_ref()
                .is_none_or(|it| record.speed.as_str() == it)
            && self.color.is_none_or(|it| record.us == Some(it))
            && self.goes_on_to(record)
    }

    /// Whether a game stands in the list after the one where it goes on.
    fn goes_on_to(&self, record: &GameRecord) -> bool {
        match (self.before, &self.after) {
            (None, _) => true,
            (Some(before), None) => record.began() < before,
            (Some(before), Some(id)) => (record.began(), &record.id) < (before, id),
        }
    }

    fn mark(&self) -> Option<Mark> {
        Some(Mark {
            began: self.before?,
            id: self.after.clone()?,
        })
    }

    fn filter(&self) -> Filter {
        let speed = |word: &String| {
            let all = [
                Speed::UltraBullet,
                Speed::Bullet,
                Speed::Blitz,
                Speed::Rapid,
                Speed::Classical,
                Speed::Correspondence,
            ];
            all.into_iter().find(|speed| speed.as_str() == word)
        };
        Filter {
            opponent: self.opponent.clone(),
            result: self.result.map(Wanted::Result),
            speed: self.speed.as_ref().and_then(speed),
            us: self.color,
            until: self.before.filter(|_| self.after.is_none()),
            ..Filter::default()
        }
    }
}

/// The latest games that are over.
pub(super) async fn recent(site: &Site, most: usize) -> Vec<Head> {
    let wish = Wish {
        limit: Some(most),
        ..Wish::default()
    };
    find(site, &wish).await
}

async fn find(site: &Site, wish: &Wish) -> Vec<Head> {
    let limit = wish.limit.unwrap_or(MOST_GAMES).min(MOST_GAMES);
    let latest = site.sources().chronicle.recent();
    let fitting = latest.iter().filter(|record| wish.fits(record));
    let mut heads: Vec<Head> = fitting.map(|record| Head::of(record)).collect();
    let known: BTreeSet<String> = latest.iter().map(|record| record.id.clone()).collect();
    let (filter, mark) = (wish.filter(), wish.mark());
    let kept = site
        .shelf()
        .ask(move |library| further(library, &filter, mark, limit, &known))
        .await;
    let kept = kept.unwrap_or_default();
    let kept = kept.iter();
    heads.extend(kept.map(|line| Head::with_plies(&line.game, line.plies as usize)));
    heads.sort_by(|one, other| (other.began, &other.id).cmp(&(one.began, &one.id)));
    heads.truncate(limit);
    heads
}

/// So many games that are over, after the marked one, without those that are known already.
fn further(
    library: &Library,
    filter: &Filter,
    mut after: Option<Mark>,
    limit: usize,
    known: &BTreeSet<String>,
) -> Result<Vec<GameLine>, ArchiveError> {
    let mut found = Vec::new();
    loop {
        let lines = library.games(filter, Order::Newest, limit, after.as_ref())?;
        let may_be_more = lines.len() == limit;
        after = lines.last().map(GameLine::mark);
        let wanted = |line: &GameLine| line.game.ending.is_some() && !known.contains(&line.game.id);
        found.extend(lines.into_iter().filter(wanted));
        if found.len() >= limit || !may_be_more {
            return Ok(found);
        }
    }
}

/// Our rating after each rated game, the earliest first.
pub(super) async fn ratings(site: &Site) -> Vec<(Millis, i32)> {
    let rated = Filter {
        rated: Some(true),
        played: true,
        ..Filter::default()
    };
    let kept = site
        .shelf()
        .ask(move |library| library.games(&rated, Order::Newest, MOST_RATED, None))
        .await;
    let rated = |record: &GameRecord| Some((record.id.clone(), RatedGame::of(record)?));
    let kept = kept.unwrap_or_default().into_iter();
    let mut games: BTreeMap<String, RatedGame> =
        kept.filter_map(|line| rated(&line.game)).collect();
    let latest = site.sources().chronicle.recent();
    games.extend(latest.iter().filter_map(|record| rated(record)));
    follow(games.into_values().collect())
}

/// A game with all its moves, running or over.
pub(super) async fn whole(site: &Site, id: &str) -> Option<Whole> {
    let sources = site.sources();
    let running = sources.chronicle.running();
    if let Some(live) = running.iter().find(|live| live.record.id == id) {
        let replay = Replay::of(&live.record);
        let whole = Whole::of(
            &live.record,
            &replay,
            Some(live),
            None,
            &sources.server,
            now(),
        );
        return Some(whole);
    }
    let record = record(site, id).await?;
    let wanted = id.to_owned();
    let review = site.shelf().ask(move |library| library.review(&wanted));
    let review = review.await.flatten();
    let review = review.as_ref().map(Into::into);
    let replay = Replay::of(&record);
    let whole = Whole::of(&record, &replay, None, review, &sources.server, now());
    Some(whole)
}

/// A game that is over, or runs.
async fn record(site: &Site, id: &str) -> Option<Arc<GameRecord>> {
    if let Some(record) = site.sources().chronicle.game(id) {
        return Some(record);
    }
    let id = id.to_owned();
    let found = site.shelf().ask(move |library| library.game(&id)).await;
    found.flatten().map(Arc::new)
}

/// Whom we have played, counted as the statistics count: in the archive, or where there is none in
/// the latest games.
async fn everybody(site: &Site) -> Vec<Opponent> {
    let kept = site
        .shelf()
        .ask(|library| library.opponents(&Filter::default(), MOST_OPPONENTS))
        .await;
    kept.unwrap_or_else(|| {
        let latest = site.sources().chronicle.recent();
        opponents_of(latest.iter().map(|record| &**record))
    })
}

pub(super) async fn games(State(site): State<Site>, Query(wish): Query<Wish>) -> Response {
    Json(find(&site, &wish).await).into_response()
}

/// A game as JSON, or with `.pgn` behind its id as PGN.
pub(super) async fn game(State(site): State<Site>, Path(id): Path<String>) -> Response {
    let unknown = || refusal(StatusCode::NOT_FOUND, "no such game is known here");
    let Some(id) = id.strip_suffix(".pgn") else {
        let found = whole(&site, &id).await;
        return found.map_or_else(unknown, |whole| Json(whole).into_response());
    };
    let Some(record) = record(&site, id).await else {
        return unknown();
    };
    let options = PgnOptions {
        site: site.sources().server.clone(),
        ..PgnOptions::default()
    };
    let kind = [(header::CONTENT_TYPE, "application/x-chess-pgn")];
    (kind, pgn(&record, &options)).into_response()
}

pub(super) async fn opponents(State(site): State<Site>) -> Response {
    Json(everybody(&site).await).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Disk;

    #[tokio::test]
    async fn who_leaves_while_the_archive_is_read_takes_no_second_thread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        drop(Disk::open(&path, 1).unwrap());
        let shelf = Arc::new(Shelf::new(Some(path)));
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let asking = tokio::spawn({
            let shelf = Arc::clone(&shelf);
            async move {
                let slow = move |_: &Library| {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    Ok(())
                };
                shelf.ask(slow).await
            }
        });
        begins.await.unwrap();
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        assert_eq!(shelf.turn.available_permits(), 0, "it still reads");
        go_on.send(()).unwrap();
        let next = shelf.ask(|library| library.ids_like("a")).await;
        assert_eq!(next, Some(Vec::new()));
    }
}
