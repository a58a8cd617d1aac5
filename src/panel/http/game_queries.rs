//! Finished games for the pages: the latest from the event log, the others from the archive.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::app_state::{AppState, Site};
use super::archive_access::{if_there, is_there};
use super::auth::Access;
use super::dto::{FullGame, GameSummary, ReviewDto};
use super::replay::Replay;
use super::responses::{json_or_unreadable, refusal, unreadable};
use crate::archive::{
    ArchiveError, ArchiveReader, Filter, GameCursor, GameLine, GameRecord, Millis, Order, Outcome,
    PgnOptions, RatedGame, ResultFilter, ReviewRecord, dates, follow, opponents_of, pgn_reviewed,
};
use crate::experience::ExperienceReport;
use crate::lichess::{Side, Speed};

/// Games in a response.
const MOST_GAMES: usize = 200;
/// Games in the graph of the rating.
const MOST_RATED: usize = 3000;
/// Opponents in a response, the most frequent first. The page says if there are that many.
const MOST_OPPONENTS: usize = 1000;

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

/// The moves as PGN, with the analysis unless it is for the public.
async fn pgn(site: &AppState, id: &str, is_public: bool) -> Result<Option<String>, ArchiveError> {
    let Some(record) = record(site, id).await? else {
        return Ok(None);
    };
    let options = PgnOptions {
        site: site.sources.server.clone(),
        comments: !is_public,
        ..PgnOptions::default()
    };
    let review = if is_public {
        None
    } else {
        review(site, id).await
    };
    Ok(Some(pgn_reviewed(&record, review.as_ref(), &options)))
}

pub(super) async fn games(State(site): State<Site>, Query(query): Query<GameQuery>) -> Response {
    let found = find(&site, &query).await;
    if found.trouble.as_ref().is_some_and(is_there) {
        return unreadable();
    }
    Json(found.list).into_response()
}

/// A game as JSON, or as PGN if its id ends with `.pgn`.
pub(super) async fn game(
    State(site): State<Site>,
    Extension(access): Extension<Access>,
    Path(id): Path<String>,
) -> Response {
    let is_public = access.is_spectator();
    let found = if let Some(id) = id.strip_suffix(".pgn") {
        let kind = [(header::CONTENT_TYPE, "application/x-chess-pgn")];
        let pgn = pgn(&site, id, is_public).await;
        pgn.map(|found| found.map(|pgn| (kind, pgn).into_response()))
    } else {
        let game = full_game(&site, &id).await;
        game.map(|found| {
            let shown = |game: FullGame| {
                if is_public {
                    game.without_analysis()
                } else {
                    game
                }
            };
            found.map(|game| Json(shown(game)).into_response())
        })
    };
    match found {
        Ok(Some(answer)) => answer,
        Ok(None) => refusal(StatusCode::NOT_FOUND, "no such game"),
        Err(_) => unreadable(),
    }
}

/// What the games against an opponent teach.
pub(super) async fn experience(State(site): State<Site>, Path(opponent): Path<String>) -> Response {
    let opponent = opponent.to_lowercase();
    let name = opponent.clone();
    let question = move |reader: &ArchiveReader| {
        let experience = reader.experience_against(&opponent)?;
        Ok(ExperienceReport::of(&experience, &opponent))
    };
    let found = site.queries.ask_or(question, || ExperienceReport {
        opponent: name,
        ..ExperienceReport::default()
    });
    json_or_unreadable(found.await)
}

/// Our opponents, counted as in the statistics: in the archive, or without one in the latest games.
pub(super) async fn opponents(State(site): State<Site>) -> Response {
    let question = |reader: &ArchiveReader| reader.opponents(&Filter::default(), MOST_OPPONENTS);
    let found = site.queries.ask_or(question, || {
        let latest = site.sources.event_log.recent();
        opponents_of(latest.iter().map(|record| &**record))
    });
    json_or_unreadable(found.await)
}
