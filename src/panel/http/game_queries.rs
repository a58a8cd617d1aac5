//! Games that are over, for the pages: the latest from the event log, the rest from the archive.
//!
//! The archive is read by one page at a time, by threads that give way to the searches of games:
//! however many ask, the bot and its writer notice nothing. Without an archive there are the latest
//! games; one that is there and cannot be read is said to be so.

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
use serde::{Deserialize, Deserializer};
use tokio::sync::{Semaphore, oneshot};

use super::app_state::AppState;
use super::auth::refusal;
use super::dto::{FullGame, GameSummary};
use super::replay::Replay;
use crate::archive::{
    ArchiveError, ArchiveReader, Filter, GameCursor, GameLine, GameRecord, Millis, Opponent, Order,
    Outcome, PgnOptions, RatedGame, ResultFilter, ReviewRecord, dates, follow, opponents_of,
    pgn_reviewed,
};
use crate::lichess::{Side, Speed};

/// Games that are given at once.
const MOST_GAMES: usize = 200;
/// Games that the rating is drawn from.
const MOST_RATED: usize = 3000;
/// Opponents that are listed, those met most often. The page says so where there are as many.
const MOST_OPPONENTS: usize = 1000;

/// How much nicer than the rest of the program anyone who reads is: nicer than the searches of games.
const NICENESS: i32 = 10;

/// The archive, opened when it is first asked.
#[derive(Debug)]
pub(super) struct GameQueries {
    path: Option<PathBuf>,
    open: Arc<Mutex<Option<ArchiveReader>>>,
    /// One reader at a time, counted until it has read: one whose page has left meanwhile too.
    turn: Arc<Semaphore>,
    /// Why it could not be read the last time, if so.
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

    /// What the archive answers; nothing where none is configured.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&ArchiveReader) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<Option<T>, ArchiveError> {
        let Some(path) = self.path.clone() else {
            return Ok(None);
        };
        let turn = Arc::clone(&self.turn).acquire_owned().await;
        let turn = turn.expect("nobody closes it");
        let open = Arc::clone(&self.open);
        let at = path.clone();
        let read = move || {
            // Nothing ends this thread before it has its answer, anyone who wanted it.
            let _turn = turn;
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            let reader = match open.take() {
                Some(reader) => reader,
                None => ArchiveReader::open(&at)?,
            };
            let answer = question(&reader)?;
            // Only one that answers is kept.
            *open = Some(reader);
            Ok(answer)
        };
        let failed = |reason: String| Err(ArchiveError::Failed { path, reason });
        let (say, said) = oneshot::channel();
        // A thread that has become nice stays so: none is used that others use too.
        let reader = thread::Builder::new().name("shelf".into()).spawn(move || {
            // On Linux that of the thread, not of the process. Failing is harmless.
            let _ = rustix::process::nice(NICENESS);
            let _ = say.send(read());
        });
        let answer = match reader {
            Ok(_) => said
                .await
                .unwrap_or_else(|_| failed("a fault of this program".to_owned())),
            Err(error) => failed(error.to_string()),
        };
        self.note(answer.as_ref().err().filter(|error| is_there(error)));
        answer.map(Some)
    }

    /// Says in the log what is wrong: once, however often someone asks.
    fn note(&self, trouble: Option<&ArchiveError>) {
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

/// Whether there is a file that cannot be read. Where nothing is to be kept there may be none, and
/// then the latest games are all that there is.
fn is_there(error: &ArchiveError) -> bool {
    !matches!(error, ArchiveError::Missing(_))
}

/// What was found in the archive and among the latest games.
#[derive(Debug)]
pub(super) struct GamePage<T> {
    pub(super) list: Vec<T>,
    /// Why these are of the latest games alone, if they are.
    pub(super) trouble: Option<ArchiveError>,
}

/// What the archive answered, if it did, and why it did not.
fn parted<T: Default>(answer: Result<Option<T>, ArchiveError>) -> (T, Option<ArchiveError>) {
    match answer {
        Ok(answer) => (answer.unwrap_or_default(), None),
        Err(error) => (T::default(), Some(error)),
    }
}

/// The same for anyone who is told of a file that cannot be read: one that is not there holds nothing.
pub(super) fn if_there<T>(
    answer: Result<Option<T>, ArchiveError>,
) -> Result<Option<T>, ArchiveError> {
    match answer {
        Err(ArchiveError::Missing(_)) => Ok(None),
        answer => answer,
    }
}

/// Which games are wanted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GameQuery {
    opponent: Option<String>,
    result: Option<Outcome>,
    #[serde(deserialize_with = "known_speed")]
    speed: Option<Speed>,
    color: Option<Side>,
    /// Begun before this moment; or at it, if the id comes after this one in the list.
    before: Option<Millis>,
    after: Option<String>,
    limit: Option<usize>,
}

impl GameQuery {
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
            && self.speed.is_none_or(|it| record.speed == it)
            && self.color.is_none_or(|it| record.us == Some(it))
            && self.goes_on_to(record)
    }

    /// Whether a game stands in the list after the one where it continues.
    fn goes_on_to(&self, record: &GameRecord) -> bool {
        match (self.before, &self.after) {
            (None, _) => true,
            (Some(before), None) => record.began() < before,
            (Some(before), Some(id)) => (record.began(), &record.id) < (before, id),
        }
    }

    fn mark(&self) -> Option<GameCursor> {
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

/// One of the speeds that there are: what is none of them is refused, as any other word.
fn known_speed<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Speed>, D::Error> {
    let word = String::deserialize(reader)?;
    match Speed::from_word(&word) {
        Speed::Unknown => {
            let all: Vec<&str> = Speed::ALL.iter().map(|speed| speed.as_str()).collect();
            let all = all.join(", ");
            Err(D::Error::custom(format!("no such speed: use one of {all}")))
        }
        speed => Ok(Some(speed)),
    }
}

/// The games that ended last. The archive lists them by their beginning: a long one that ended just now
/// stands further down there.
pub(super) async fn recent(site: &AppState, most: usize) -> GamePage<GameSummary> {
    let mut found = find(site, &GameQuery::default()).await;
    for record in site.sources().event_log.recent() {
        if found.list.iter().all(|head| head.id != record.id) {
            found.list.push(GameSummary::of(&record));
        }
    }
    let ended = |head: &GameSummary| head.ending.as_ref().map(|ending| ending.at);
    found.list.sort_by_key(|head| Reverse(ended(head)));
    found.list.truncate(most);
    found
}

async fn find(site: &AppState, wish: &GameQuery) -> GamePage<GameSummary> {
    let limit = wish.limit.unwrap_or(MOST_GAMES).min(MOST_GAMES);
    let latest = site.sources().event_log.recent();
    let fitting = latest.iter().filter(|record| wish.fits(record));
    let mut heads: Vec<GameSummary> = fitting.map(|record| GameSummary::of(record)).collect();
    let known: BTreeSet<String> = latest.iter().map(|record| record.id.clone()).collect();
    let (filter, mark) = (wish.filter(), wish.mark());
    let kept = site
        .queries()
        .ask(move |reader| further(reader, &filter, mark, limit, &known))
        .await;
    let (kept, trouble) = parted(kept);
    let kept = kept.iter();
    heads.extend(kept.map(|line| GameSummary::with_plies(&line.game, line.plies as usize)));
    heads.sort_by(|one, other| (other.began, &other.id).cmp(&(one.began, &one.id)));
    heads.truncate(limit);
    GamePage {
        list: heads,
        trouble,
    }
}

/// So many games that are over, after the marked one, without those that are known already.
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

/// Our rating after each rated game, the earliest first.
pub(super) async fn ratings(site: &AppState) -> GamePage<(Millis, i32)> {
    let rated = Filter {
        rated: Some(true),
        played: true,
        ..Filter::default()
    };
    let kept = site
        .queries()
        .ask(move |reader| reader.games(&rated, Order::Newest, MOST_RATED, None))
        .await;
    let rated = |record: &GameRecord| Some((record.id.clone(), RatedGame::of(record)?));
    let (kept, trouble) = parted(kept);
    let kept = kept.iter().filter_map(|line| rated(&line.game));
    let mut games: BTreeMap<String, RatedGame> = kept.collect();
    let latest = site.sources().event_log.recent();
    games.extend(latest.iter().filter_map(|record| rated(record)));
    GamePage {
        list: follow(games.into_values().collect()),
        trouble,
    }
}

/// A game with all its moves, running or over.
async fn whole(site: &AppState, id: &str) -> Result<Option<FullGame>, ArchiveError> {
    let sources = site.sources();
    let running = sources.event_log.running();
    if let Some(live) = running.iter().find(|live| live.record.id == id) {
        let replay = Replay::of(&live.record);
        let whole = FullGame::of(
            &live.record,
            &replay,
            Some(live),
            None,
            &sources.server,
            dates::now(),
        );
        return Ok(Some(whole));
    }
    let Some(record) = record(site, id).await? else {
        return Ok(None);
    };
    let review = review(site, id).await;
    let review = review.as_ref().map(Into::into);
    let replay = Replay::of(&record);
    let whole = FullGame::of(
        &record,
        &replay,
        None,
        review,
        &sources.server,
        dates::now(),
    );
    Ok(Some(whole))
}

/// What a second look at a game found. A game is worth showing without it.
async fn review(site: &AppState, id: &str) -> Option<ReviewRecord> {
    let id = id.to_owned();
    let review = site.queries().ask(move |reader| reader.review(&id)).await;
    parted(review).0
}

/// A game that is over, or runs.
async fn record(site: &AppState, id: &str) -> Result<Option<Arc<GameRecord>>, ArchiveError> {
    if let Some(record) = site.sources().event_log.game(id) {
        return Ok(Some(record));
    }
    let id = id.to_owned();
    let found = site.queries().ask(move |reader| reader.game(&id)).await;
    Ok(if_there(found)?.flatten().map(Arc::new))
}

/// Whom we have played, counted as the statistics count: in the archive, or where there is none in
/// the latest games.
async fn everybody(site: &AppState) -> Result<Vec<Opponent>, ArchiveError> {
    let kept = site
        .queries()
        .ask(|reader| reader.opponents(&Filter::default(), MOST_OPPONENTS))
        .await;
    Ok(if_there(kept)?.unwrap_or_else(|| {
        let latest = site.sources().event_log.recent();
        opponents_of(latest.iter().map(|record| &**record))
    }))
}

/// The archive is there, and what is wanted from it cannot be had.
pub(super) fn unreadable() -> Response {
    let text = "the archive cannot be read right now: see the log";
    refusal(StatusCode::SERVICE_UNAVAILABLE, text)
}

pub(super) async fn games(State(site): State<AppState>, Query(wish): Query<GameQuery>) -> Response {
    let found = find(&site, &wish).await;
    if found.trouble.as_ref().is_some_and(is_there) {
        return unreadable();
    }
    Json(found.list).into_response()
}

/// A game as JSON, or with `.pgn` behind its id as PGN.
pub(super) async fn game(State(site): State<AppState>, Path(id): Path<String>) -> Response {
    let found = if let Some(id) = id.strip_suffix(".pgn") {
        match record(&site, id).await {
            Ok(Some(record)) => {
                let review = review(&site, id).await;
                Ok(Some(as_pgn(&site, &record, review.as_ref())))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        }
    } else {
        let whole = whole(&site, &id).await;
        whole.map(|it| it.map(|whole| Json(whole).into_response()))
    };
    match found {
        Ok(Some(answer)) => answer,
        Ok(None) => refusal(StatusCode::NOT_FOUND, "no such game"),
        Err(_) => unreadable(),
    }
}

fn as_pgn(site: &AppState, record: &GameRecord, review: Option<&ReviewRecord>) -> Response {
    let options = PgnOptions {
        site: site.sources().server.clone(),
        ..PgnOptions::default()
    };
    let kind = [(header::CONTENT_TYPE, "application/x-chess-pgn")];
    (kind, pgn_reviewed(record, review, &options)).into_response()
}

pub(super) async fn opponents(State(site): State<AppState>) -> Response {
    let found = everybody(&site).await;
    found.map_or_else(|_| unreadable(), |all| Json(all).into_response())
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
