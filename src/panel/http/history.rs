//! Past challenges and events for the pages: from the archive, or without one from the event log. A page
//! at a time, as with games.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::{Query, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::app_state::Site;
use super::dto::ChallengeDto;
use super::responses::json_or_unreadable;
use crate::archive::{
    ArchiveError, ArchiveReader, ChallengeFilter, ChallengeVerdict, Cursor, Direction, EventFilter,
    Millis, Order, PageItem,
};

/// Rows in a response.
const MOST_ROWS: usize = 200;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChallengeQuery {
    opponent: Option<String>,
    verdict: Option<ChallengeVerdict>,
    direction: Option<Direction>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventQuery {
    kind: Option<String>,
    game: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PageQuery {
    /// Only rows before this moment, or at it with a smaller number.
    before: Option<Millis>,
    after: Option<i64>,
    limit: Option<usize>,
}

impl PageQuery {
    fn most(self) -> usize {
        self.limit.unwrap_or(MOST_ROWS).min(MOST_ROWS)
    }

    fn cursor(self) -> Option<Cursor> {
        let at = self.before?;
        // Every number is greater than the default.
        let n = self.after.unwrap_or(i64::MIN);
        Some(Cursor { at, n })
    }

    /// The page of all that is in memory, newest first. Numbers count from the oldest.
    fn of<T: Clone>(
        self,
        all: &[Arc<T>],
        at: impl Fn(&T) -> Millis,
        fits: impl Fn(&T) -> bool,
    ) -> Vec<PageItem<T>> {
        let numbered = (1..).zip(all.iter().rev()).map(|(n, what)| PageItem {
            spot: Cursor { at: at(what), n },
            what: T::clone(what),
        });
        let mut found: Vec<PageItem<T>> = numbered
            .filter(|it| fits(&it.what) && self.cursor().is_none_or(|after| it.spot < after))
            .collect();
        found.sort_by_key(|it| Reverse(it.spot));
        found.truncate(self.most());
        found
    }
}

/// A row of a list, with its number: the next page starts after it.
#[derive(Debug, Serialize)]
struct NumberedRow<T> {
    n: i64,
    #[serde(flatten)]
    what: T,
}

/// The rows as JSON.
fn rows<'i, T, V: Serialize>(
    found: &'i Result<Vec<PageItem<T>>, ArchiveError>,
    shown: impl Fn(&'i T) -> V,
) -> Response {
    let row = |it: &'i PageItem<T>| NumberedRow {
        n: it.spot.n,
        what: shown(&it.what),
    };
    let rows = found.as_ref().map(|found| found.iter().map(row));
    json_or_unreadable(rows.map(Iterator::collect::<Vec<_>>))
}

/// The latest challenges, or those before a moment.
pub(super) async fn challenges(
    State(site): State<Site>,
    Query(query): Query<ChallengeQuery>,
    Query(page): Query<PageQuery>,
) -> Response {
    let filter = ChallengeFilter {
        opponent: query.opponent,
        verdict: query.verdict,
        direction: query.direction,
        ..ChallengeFilter::default()
    };
    let wanted = filter.clone();
    let question = move |reader: &ArchiveReader| {
        reader.challenges_by(&wanted, Order::Newest, page.most(), page.cursor())
    };
    let found = site.queries.ask_or(question, || {
        let all = site.sources.event_log.challenges(usize::MAX);
        page.of(&all, |it| it.at, |it| filter.fits(it))
    });
    rows(&found.await, ChallengeDto::from)
}

/// The latest events, or those before a moment.
pub(super) async fn events(
    State(site): State<Site>,
    Query(query): Query<EventQuery>,
    Query(page): Query<PageQuery>,
) -> Response {
    let filter = EventFilter {
        kinds: query.kind.into_iter().collect(),
        game: query.game,
        ..EventFilter::default()
    };
    let wanted = filter.clone();
    let question = move |reader: &ArchiveReader| {
        reader.events_by(&wanted, Order::Newest, page.most(), page.cursor())
    };
    let found = site.queries.ask_or(question, || {
        let all = site.sources.event_log.events(usize::MAX);
        page.of(&all, |it| it.at, |it| filter.fits(it))
    });
    rows(&found.await, |record| record)
}

/// The kinds of events that exist, in alphabetical order.
pub(super) async fn kinds(State(site): State<Site>) -> Response {
    let kinds = site.queries.ask_or(ArchiveReader::event_kinds, || {
        let all = site.sources.event_log.events(usize::MAX);
        let kinds: BTreeSet<String> = all.iter().map(|it| it.kind.clone()).collect();
        kinds.into_iter().collect()
    });
    json_or_unreadable(kinds.await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembered_entries_are_paged_with_each_once() {
        let newest_first: Vec<Arc<(Millis, u32)>> = [(9, 5), (7, 4), (7, 3), (7, 2), (1, 1)]
            .map(Arc::new)
            .into();
        let all = |page: PageQuery| page.of(&newest_first, |it| it.0, |it| it.1 != 2);
        let mut page = PageQuery {
            limit: Some(2),
            ..PageQuery::default()
        };
        let mut found = Vec::new();
        loop {
            let next = all(page);
            let Some(last) = next.last() else { break };
            assert!(next.len() <= 2);
            (page.before, page.after) = (Some(last.spot.at), Some(last.spot.n));
            found.extend(next.iter().map(|it| it.what.1));
        }
        assert_eq!(found, [5, 4, 3, 1]);
        let before = PageQuery {
            before: Some(7),
            ..PageQuery::default()
        };
        assert_eq!(all(before).len(), 1, "only what is older");
    }
}
