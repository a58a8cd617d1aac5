//! Challenges and events of before, for the pages: from the archive, or where there is none, from
//! what the bot remembers. A page at a time, as with games.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};

use super::app_state::AppState;
use super::dto::ChallengeDto;
use super::game_queries::{if_there, unreadable};
use crate::archive::{
    ArchiveError, ArchiveReader, ChallengeFilter, ChallengeRecord, ChallengeVerdict, Cursor,
    Direction, EventFilter, Millis, Order, PageItem,
};

/// Lines that are given at once.
const MOST_LINES: usize = 200;

/// Which challenges are wanted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChallengeQuery {
    opponent: Option<String>,
    verdict: Option<ChallengeVerdict>,
    direction: Option<Direction>,
}

/// Which events are wanted.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventQuery {
    kind: Option<String>,
    game: Option<String>,
}

/// Which page of them.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PageQuery {
    /// From before this moment; or of it, if its number is less than this one.
    before: Option<Millis>,
    after: Option<i64>,
    limit: Option<usize>,
}

impl PageQuery {
    fn most(self) -> usize {
        self.limit.unwrap_or(MOST_LINES).min(MOST_LINES)
    }

    fn spot(self) -> Option<Cursor> {
        let at = self.before?;
        // Every number is greater than this one.
        let n = self.after.unwrap_or(i64::MIN);
        Some(Cursor { at, n })
    }

    /// What fits of all that is remembered, the newest first. Numbers count from the oldest.
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
            .filter(|it| fits(&it.what) && self.spot().is_none_or(|after| it.spot < after))
            .collect();
        found.sort_by_key(|it| Reverse(it.spot));
        found.truncate(self.most());
        found
    }
}

/// One in a list: the list continues after its moment and this number.
#[derive(Debug, Serialize)]
struct ListedRow<T> {
    n: i64,
    #[serde(flatten)]
    what: T,
}

/// The latest challenges, or those before a moment.
pub(super) async fn challenges(
    State(site): State<AppState>,
    Query(asked): Query<ChallengeQuery>,
    Query(page): Query<PageQuery>,
) -> Response {
    let filter = ChallengeFilter {
        opponent: asked.opponent,
        verdict: asked.verdict,
        direction: asked.direction,
        ..ChallengeFilter::default()
    };
    let wanted = filter.clone();
    let (most, after) = (page.most(), page.spot());
    let kept = site
        .queries()
        .ask(move |reader| reader.challenges_by(&wanted, Order::Newest, most, after))
        .await;
    let remembered = || {
        let all = site.sources().event_log.challenges(usize::MAX);
        page.of(&all, |it| it.at, |it| filter.fits(it))
    };
    answer(kept, remembered, view)
}

fn view(asked: &ChallengeRecord) -> ChallengeDto {
    asked.into()
}

/// The latest events, or those before a moment.
pub(super) async fn events(
    State(site): State<AppState>,
    Query(happened): Query<EventQuery>,
    Query(page): Query<PageQuery>,
) -> Response {
    let filter = EventFilter {
        kinds: happened.kind.into_iter().collect(),
        game: happened.game,
        ..EventFilter::default()
    };
    let wanted = filter.clone();
    let (most, after) = (page.most(), page.spot());
    let kept = site
        .queries()
        .ask(move |reader| reader.events_by(&wanted, Order::Newest, most, after))
        .await;
    let remembered = || {
        let all = site.sources().event_log.events(usize::MAX);
        page.of(&all, |it| it.at, |it| filter.fits(it))
    };
    answer(kept, remembered, Clone::clone)
}

/// The kinds of events that there are, in the order of the alphabet.
pub(super) async fn kinds(State(site): State<AppState>) -> Response {
    let kept = site.queries().ask(ArchiveReader::event_kinds).await;
    let Ok(kept) = if_there(kept) else {
        return unreadable();
    };
    let kinds = kept.unwrap_or_else(|| {
        let all = site.sources().event_log.events(usize::MAX);
        let kinds: BTreeSet<String> = all.iter().map(|it| it.kind.clone()).collect();
        kinds.into_iter().collect()
    });
    Json(kinds).into_response()
}

/// What the archive has; where there is none, what is remembered.
fn answer<T, V: Serialize>(
    kept: Result<Option<Vec<PageItem<T>>>, ArchiveError>,
    remembered: impl FnOnce() -> Vec<PageItem<T>>,
    shown: impl Fn(&T) -> V,
) -> Response {
    let Ok(kept) = if_there(kept) else {
        return unreadable();
    };
    let found = kept.unwrap_or_else(remembered);
    let line = |it: &PageItem<T>| ListedRow {
        n: it.spot.n,
        what: shown(&it.what),
    };
    let lines: Vec<ListedRow<V>> = found.iter().map(line).collect();
    Json(lines).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_goes_on_page_by_page_with_each_once() {
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
