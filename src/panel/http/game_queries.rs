//! Finished games for the pages: the latest from the event log, the others from the archive.
//!
//! One request at a time reads the archive, on a thread with less priority than the searches of games, so
//! the bot and its writer notice no readers. Without an archive only the latest games are known; an
//! archive that exists but cannot be read is an error.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use tokio::sync::{Semaphore, oneshot};

use super::app_state::{AppState, Site};
use super::auth::refusal;
use super::dto::{FullGame, GameSummary, ReviewDto};
use super::replay::Replay;
use crate::archive::{
    ArchiveError, ArchiveReader, Filter, GameCursor, GameLine, GameRecord, Millis, Order, Outcome,
    PgnOptions, RatedGame, ResultFilter, ReviewRecord, dates, follow, opponents_of, pgn_reviewed,
};
use crate::lichess::{Side, Speed};

/// Games in a response.
const MOST_GAMES: usize = 200;
/// Games in the graph of the rating.
const MOST_RATED: usize = 3000;
/// Opponents in a response, the most frequent first. The page says if there are that many.
const MOST_OPPONENTS: usize = 1000;

/// Added to the niceness of the reading thread: more than the searches of games have.
const NICENESS: i32 = 10;

/// The archive, opened by the first query.
#[derive(Debug)]
pub(super) struct GameQueries {
    path: Option<PathBuf>,
    open: Arc<Mutex<Option<ArchiveReader>>>,
    /// Held by the reading thread until it is done, even if its request has been cancelled.
    turn: Arc<Semaphore>,
    /// The error of the last query, if any.
    trouble: Mutex<Option<ArchiveError>>,
}

impl GameQueries {
    pub(super) fn new(path: Option<PathBuf>) -> Self {
        Self {
            path,
            open: Arc::default(),
            turn: Arc::new(Semaphore::new(1)),
            trouble: Mutex::default(),
        }
    }

    /// The answer of the archive; `None` if none is configured.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&ArchiveReader) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<Option<T>, ArchiveError> {
        let Some(path) = self.path.clone() else {
            return Ok(None);
        };
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        let turn = turn.expect("the semaphore is never closed");
        let open = Arc::clone(&self.open);
        let at = path.clone();
        let read = move || {
            let _turn = turn;
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            let reader = match open.take() {
                Some(reader) => reader,
                None => ArchiveReader::open(&at)?,
            };
            let answer = question(&reader)?;
            // A reader that failed is not used again.
            *open = Some(reader);
            Ok(answer)
        };
        let failed = |reason: String| Err(ArchiveError::Failed { path, reason });
        let (sender, receiver) = oneshot::channel();
        // Niceness cannot be lowered again, so no thread of a pool may do this.
        let thread = thread::Builder::new().name("archive reader".into());
        let spawned = thread.spawn(move || {
            // On Linux this changes the thread, not the process. Failing is harmless.
            let _ = rustix::process::nice(NICENESS);
            let _ = sender.send(read());
        });
        let answer = match spawned {
            Ok(_) => receiver
                .await
                .unwrap_or_else(|_| failed("a fault of this program".to_owned())),
            Err(error) => failed(error.to_string()),
        };
        self.log(answer.as_ref().err().filter(|error| is_there(error)));
        answer.map(Some)
    }

    /// Logs trouble once, however many queries fail.
    fn log(&self, trouble: Option<&ArchiveError>) {
        let mut known = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() == trouble {
            return;
        }
        if let Some(error) = trouble {
            tracing::warn!(%error, "the page cannot read the archive");
        }
        *known = trouble.cloned();
    }
}

/// Whether the archive exists and cannot be read. A missing archive is no error: if nothing is archived,
/// the latest games are all there is.
fn is_there(error: &ArchiveError) -> bool {
    !matches!(error, ArchiveError::Missing(_))
}

/// The answer of an archive that need not exist.
pub(super) fn if_there<T>(
    answer: Result<Option<T>, ArchiveError>,
) -> Result<Option<T>, ArchiveError> {
    match answer {
        Err(ArchiveError::Missing(_)) => Ok(None),
        answer => answer,
    }
}

/// A list from the archive and the latest games.
#[derive(Debug)]
pub(super) struct GamePage<T> {
    pub(super) list: Vec<T>,
    /// Why the list has the latest games only.
    pub(super) trouble: Option<ArchiveError>,
}

fn split<T: Default>(answer: Result<Option<T>, ArchiveError>) -> (T, Option<ArchiveError>) {
    match answer {
        Ok(answer) => (answer.unwrap_or_default(), None),
        Err(error) => (T::default(), Some(error)),
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GameQuery {
    opponent: Option<String>,
    result: Option<Outcome>,
    #[serde(deserialize_with = "known_speed")]
    speed: Option<Speed>,
    color: Option<Side>,
    /// Only games that began before this moment, or at it and come after this id in the list.
    before: Option<Millis>,
    after: Option<String>,
    limit: Option<usize>,
}

impl GameQuery {
    fn fits(&self, record: &GameRecord) -> bool {
        let is_opponent = |wanted: &String| {
            let opponent = record.opponent();
            opponent.is_some_and(|it| it.name.to_lowercase() == wanted.to_lowercase())
        };
        let outcome = record.our_outcome();
        self.opponent.as_ref().is_none_or(is_opponent)
            && self.result.is_none_or(|it| outcome == Some(it))
            && self.speed.is_none_or(|it| record.speed == it)
            && self.color.is_none_or(|it| record.us == Some(it))
            && match (self.before, &self.after) {
                (None, _) => true,
                (Some(before), None) => record.began() < before,
                (Some(before), Some(id)) => (record.began(), &record.id) < (before, id),
            }
    }

    fn cursor(&self) -> Option<GameCursor> {
        Some(GameCursor {
            began: self.before?,
            id: self.after.clone()?,
        })
    }

    fn filter(&self) -> Filter {
        Filter {
            opponent: self.opponent.clone(),
            result: self.result.map(ResultFilter::Result),
            speed: self.speed,
            us: self.color,
            until: self.before.filter(|_| self.after.is_none()),
            ..Filter::default()
        }
    }
}

/// A speed; an unknown word is refused, as in other fields.
fn known_speed<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Speed>, D::Error> {
    match Speed::from_word(&String::deserialize(reader)?) {
        Speed::Unknown => {
            let all: Vec<&str> = Speed::ALL.iter().map(|speed| speed.as_str()).collect();
            let all = all.join(", ");
            Err(D::Error::custom(format!("no such speed: use one of {all}")))
        }
        speed => Ok(Some(speed)),
    }
}

/// The games that ended last. The archive sorts by the beginning, so a long game that just ended may be
/// further down there.
pub(super) async fn recent(site: &AppState, most: usize) -> GamePage<GameSummary> {
    let mut found = find(site, &GameQuery::default()).await;
    for record in site.sources.event_log.recent() {
        if found.list.iter().all(|game| game.id != record.id) {
            found.list.push((&*record).into());
        }
    }
    let ended = |game: &GameSummary| game.ending.as_ref().map(|ending| ending.at);
    found.list.sort_by_key(|game| Reverse(ended(game)));
    found.list.truncate(most);
    found
}

async fn find(site: &AppState, query: &GameQuery) -> GamePage<GameSummary> {
    let limit = query.limit.unwrap_or(MOST_GAMES).min(MOST_GAMES);
    let latest = site.sources.event_log.recent();
    let fitting = latest.iter().filter(|record| query.fits(record));
    let mut list: Vec<GameSummary> = fitting.map(|record| (&**record).into()).collect();
    let known: BTreeSet<String> = latest.iter().map(|record| record.id.clone()).collect();
    let (filter, cursor) = (query.filter(), query.cursor());
    let question = move |reader: &_| further(reader, &filter, cursor, limit, &known);
    let (kept, trouble) = split(site.queries.ask(question).await);
    let kept = kept.iter();
    list.extend(kept.map(|line| GameSummary::with_plies(&line.game, line.plies as usize)));
    list.sort_by(|one, other| (other.began, &other.id).cmp(&(one.began, &one.id)));
    list.truncate(limit);
    GamePage { list, trouble }
}

/// Finished games after the cursor, without the known ones.
fn further(
    reader: &ArchiveReader,
    filter: &Filter,
    mut after: Option<GameCursor>,
    limit: usize,
    known: &BTreeSet<String>,
) -> Result<Vec<GameLine>, ArchiveError> {
    let mut found = Vec::new();
    loop {
        let lines = reader.games(filter, Order::Newest, limit, after.as_ref())?;
        let may_be_more = lines.len() == limit;
        after = lines.last().map(GameLine::mark);
        let wanted = |line: &GameLine| line.game.ending.is_some() && !known.contains(&line.game.id);
        found.extend(lines.into_iter().filter(wanted));
        if found.len() >= limit || !may_be_more {
            return Ok(found);
        }
    }
}

/// Our rating after each rated game, in the order of the games.
pub(super) async fn ratings(site: &AppState) -> GamePage<(Millis, i32)> {
    let filter = Filter {
        rated: Some(true),
        played: true,
        ..Filter::default()
    };
    let question =
        move |reader: &ArchiveReader| reader.games(&filter, Order::Newest, MOST_RATED, None);
    let rated = |record: &GameRecord| Some((record.id.clone(), RatedGame::of(record)?));
    let (kept, trouble) = split(site.queries.ask(question).await);
    let kept = kept.iter().filter_map(|line| rated(&line.game));
    let mut games: BTreeMap<String, RatedGame> = kept.collect();
    let latest = site.sources.event_log.recent();
    games.extend(latest.iter().filter_map(|record| rated(record)));
    GamePage {
        list: follow(games.into_values().collect()),
        trouble,
    }
}

/// A running or finished game.
async fn record(site: &AppState, id: &str) -> Result<Option<Arc<GameRecord>>, ArchiveError> {
    if let Some(record) = site.sources.event_log.game(id) {
        return Ok(Some(record));
    }
    let id = id.to_owned();
    let found = site.queries.ask(move |reader| reader.game(&id)).await;
    Ok(if_there(found)?.flatten().map(Arc::new))
}

/// The result of the blunder search. A game is worth showing without it.
async fn review(site: &AppState, id: &str) -> Option<ReviewRecord> {
    let id = id.to_owned();
    split(site.queries.ask(move |reader| reader.review(&id)).await).0
}

/// A game with all its moves, running or finished.
async fn full_game(site: &AppState, id: &str) -> Result<Option<FullGame>, ArchiveError> {
    let server = &site.sources.server;
    let running = site.sources.event_log.running();
    if let Some(live) = running.iter().find(|live| live.record.id == id) {
        let replay = Replay::of(&live.record);
        let game = FullGame::of(&live.record, &replay, Some(live), server, dates::now());
        return Ok(Some(game));
    }
    let Some(record) = record(site, id).await? else {
        return Ok(None);
    };
    let review = review(site, id).await;
    let mut game = FullGame::of(&record, &Replay::of(&record), None, server, dates::now());
    game.review = review.as_ref().map(ReviewDto::from);
    Ok(Some(game))
}

async fn pgn(site: &AppState, id: &str) -> Result<Option<String>, ArchiveError> {
    let Some(record) = record(site, id).await? else {
        return Ok(None);
    };
    let options = PgnOptions {
        site: site.sources.server.clone(),
        ..PgnOptions::default()
    };
    let review = review(site, id).await;
    Ok(Some(pgn_reviewed(&record, review.as_ref(), &options)))
}

/// JSON, or 503 if the archive cannot be read.
pub(super) fn json_or_unreadable<T: Serialize>(answer: Result<T, ArchiveError>) -> Response {
    answer.map_or_else(|_| unreadable(), |answer| Json(answer).into_response())
}

fn unreadable() -> Response {
    let text = "the archive cannot be read right now: see the log";
    refusal(StatusCode::SERVICE_UNAVAILABLE, text)
}

pub(super) async fn games(State(site): State<Site>, Query(query): Query<GameQuery>) -> Response {
    let found = find(&site, &query).await;
    if found.trouble.as_ref().is_some_and(is_there) {
        return unreadable();
    }
    Json(found.list).into_response()
}

/// A game as JSON, or as PGN if its id ends with `.pgn`.
pub(super) async fn game(State(site): State<Site>, Path(id): Path<String>) -> Response {
    let found = if let Some(id) = id.strip_suffix(".pgn") {
        let kind = [(header::CONTENT_TYPE, "application/x-chess-pgn")];
        let pgn = pgn(&site, id).await;
        pgn.map(|found| found.map(|pgn| (kind, pgn).into_response()))
    } else {
        let game = full_game(&site, &id).await;
        game.map(|found| found.map(|game| Json(game).into_response()))
    };
    match found {
        Ok(Some(answer)) => answer,
        Ok(None) => refusal(StatusCode::NOT_FOUND, "no such game"),
        Err(_) => unreadable(),
    }
}

/// Our opponents, counted as in the statistics: in the archive, or without one in the latest games.
pub(super) async fn opponents(State(site): State<Site>) -> Response {
    let question = |reader: &ArchiveReader| reader.opponents(&Filter::default(), MOST_OPPONENTS);
    let kept = if_there(site.queries.ask(question).await);
    json_or_unreadable(kept.map(|kept| {
        kept.unwrap_or_else(|| {
            let latest = site.sources.event_log.recent();
            opponents_of(latest.iter().map(|record| &**record))
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::Database;

    #[tokio::test]
    async fn who_leaves_while_the_archive_is_read_takes_no_second_thread() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        drop(Database::open(&path, 1).unwrap());
        let queries = Arc::new(GameQueries::new(Some(path)));
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let asking = tokio::spawn({
            let queries = Arc::clone(&queries);
            async move {
                let slow = move |_: &ArchiveReader| {
                    begun.send(()).unwrap();
                    wait.recv().unwrap();
                    Ok(())
                };
                queries.ask(slow).await
            }
        });
        begins.await.unwrap();
        asking.abort();
        assert!(asking.await.unwrap_err().is_cancelled());
        assert_eq!(queries.turn.available_permits(), 0, "it still reads");
        go_on.send(()).unwrap();
        let next = queries.ask(|reader| reader.ids_like("a")).await;
        assert_eq!(next, Ok(Some(Vec::new())));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn whoever_reads_gives_way_to_the_searches_of_games() {
        fn niceness() -> i32 {
            let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
            let (_, fields) = stat.rsplit_once(") ").unwrap();
            fields.split(' ').nth(16).unwrap().parse().unwrap()
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        Database::open(&path, 1).unwrap();
        let queries = GameQueries::new(Some(path));
        let reader = queries.ask(|_| Ok(niceness())).await;
        assert_eq!(reader, Ok(Some((niceness() + NICENESS).min(19))));
    }

    #[tokio::test]
    async fn no_archive_is_not_one_that_cannot_be_read() {
        let none = GameQueries::new(None);
        let answer = none.ask(|reader| reader.ids_like("a")).await;
        assert_eq!(answer, Ok(None));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("games.db");
        let queries = GameQueries::new(Some(path.clone()));
        let answer = queries.ask(|reader| reader.ids_like("a")).await;
        assert_eq!(answer, Err(ArchiveError::Missing(path.clone())));
        assert_eq!(if_there(answer), Ok(None));
        std::fs::write(&path, "no database").unwrap();
        let answer = queries.ask(|reader| reader.ids_like("a")).await;
        assert!(if_there(answer).is_err());
    }
}
