//! Queries for challenges and events, page by page.
//!
//! Each filter exists twice: as SQL conditions, and as a predicate for records that are still in
//! memory. Both must agree.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, Row, params_from_iter};

use super::filter::{Conditions, Order};
use super::reader::{ArchiveReader, LINES, page_by_page};
use super::record::{
    ChallengeRecord, ChallengeVerdict, Direction, EventRecord, Millis, WireRecord,
};
use super::rows::{CHALLENGE_COLUMNS, EVENT_COLUMNS, challenge_of, event_of, moment, read_wire};
use crate::sqlite::Error;

/// The tables and their columns.
const CHALLENGES: (&str, &str) = ("challenge", CHALLENGE_COLUMNS);
const EVENTS: (&str, &str) = ("event", EVENT_COLUMNS);

/// Selects challenges; an unset field selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChallengeFilter {
    /// Challenges from or to this account, in any letter case.
    pub opponent: Option<String>,
    /// With this verdict.
    pub verdict: Option<ChallengeVerdict>,
    /// With this direction.
    pub direction: Option<Direction>,
    /// First seen at or after this moment.
    pub since: Option<Millis>,
    /// First seen before this moment.
    pub until: Option<Millis>,
}

impl ChallengeFilter {
    /// Whether the filter selects a challenge.
    pub fn fits(&self, asked: &ChallengeRecord) -> bool {
        let opponent = self.opponent.as_ref();
        opponent.is_none_or(|name| asked.user.key() == name.to_lowercase())
            && self.verdict.is_none_or(|it| it == asked.verdict)
            && self.direction.is_none_or(|it| it == asked.direction)
            && is_within(asked.at, self.since, self.until)
    }

    fn conditions(&self) -> Conditions {
        let mut all = Conditions::default();
        let opponent = self.opponent.as_ref().map(|name| name.to_lowercase());
        all.text("coalesce(user_id, lower(user_name)) = ?", opponent);
        all.text("verdict = ?", self.verdict.map(ChallengeVerdict::as_str));
        all.text("direction = ?", self.direction.map(<&str>::from));
        all.span("at", self.since, self.until);
        all
    }
}

/// Selects events; an unset field selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Events of one of these kinds.
    pub kinds: Vec<String>,
    pub game: Option<String>,
    /// At or after this moment.
    pub since: Option<Millis>,
    /// Before this moment.
    pub until: Option<Millis>,
}

impl EventFilter {
    /// Whether the filter selects an event.
    pub fn fits(&self, event: &EventRecord) -> bool {
        (self.kinds.is_empty() || self.kinds.contains(&event.kind))
            && (self.game.is_none() || self.game == event.game)
            && is_within(event.at, self.since, self.until)
    }

    fn conditions(&self) -> Conditions {
        let mut all = Conditions::default();
        if !self.kinds.is_empty() {
            let kinds = self.kinds.iter().cloned();
            // The index by kind is sorted by time within one kind only. One game has few events, so
            // its index is the better one.
            let along_index = self.kinds.len() == 1 && self.game.is_none();
            let column = if along_index { "kind" } else { "+kind" };
            all.among(column, kinds.map(Value::Text).collect());
        }
        all.text("game = ?", self.game.as_deref());
        all.span("at", self.since, self.until);
        all
    }
}

fn is_within(at: Millis, since: Option<Millis>, until: Option<Millis>) -> bool {
    since.is_none_or(|since| at >= since) && until.is_none_or(|until| at < until)
}

/// Where a list continues: after the row with this moment and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    pub at: Millis,
    /// Tells rows of one moment apart: a later row has the greater number.
    pub n: i64,
}

/// An item of a list, and where the list continues after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageItem<T> {
    pub spot: Cursor,
    pub what: T,
}

impl ArchiveReader {
    /// Returns at most `most` challenges, after a place if one is given.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn challenges_by(
        &self,
        filter: &ChallengeFilter,
        order: Order,
        most: usize,
        after: Option<Cursor>,
    ) -> Result<Vec<PageItem<ChallengeRecord>>, Error> {
        let query = listing(CHALLENGES, filter.conditions(), order, most, after);
        self.page(query, challenge_of)
    }

    /// Returns at most `most` events, after a place if one is given.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn events_by(
        &self,
        filter: &EventFilter,
        order: Order,
        most: usize,
        after: Option<Cursor>,
    ) -> Result<Vec<PageItem<EventRecord>>, Error> {
        let query = listing(EVENTS, filter.conditions(), order, most, after);
        self.page(query, event_of)
    }

    /// Passes challenges to `take` one by one, until it returns `false` or an error. Reads page by
    /// page and releases the file in between.
    ///
    /// # Errors
    /// When the file cannot be read, or the first error of `take`.
    pub fn each_challenge<E: From<Error>>(
        &self,
        filter: &ChallengeFilter,
        order: Order,
        most: usize,
        mut take: impl FnMut(ChallengeRecord) -> Result<bool, E>,
    ) -> Result<(), E> {
        let read =
            |most, after: Option<&Cursor>| self.challenges_by(filter, order, most, after.copied());
        page_by_page(most, LINES, read, |it| it.spot, |it| take(it.what))
    }

    /// Passes events to `take` in the same way.
    ///
    /// # Errors
    /// When the file cannot be read, or the first error of `take`.
    pub fn each_event<E: From<Error>>(
        &self,
        filter: &EventFilter,
        order: Order,
        most: usize,
        mut take: impl FnMut(EventRecord) -> Result<bool, E>,
    ) -> Result<(), E> {
        let read =
            |most, after: Option<&Cursor>| self.events_by(filter, order, most, after.copied());
        page_by_page(most, LINES, read, |it| it.spot, |it| take(it.what))
    }

    /// Returns the latest challenges, newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn challenges(&self, most: usize) -> Result<Vec<ChallengeRecord>, Error> {
        let found = self.challenges_by(&ChallengeFilter::default(), Order::Newest, most, None)?;
        Ok(found.into_iter().map(|it| it.what).collect())
    }

    /// Returns a challenge, with its JSON if that was kept.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn challenge(&self, id: &str) -> Result<Option<ChallengeRecord>, Error> {
        self.ask(|db| {
            let found = format!("SELECT {CHALLENGE_COLUMNS} FROM challenge WHERE id = ?1");
            let found = db.query_row(&found, [id], challenge_of).optional()?;
            let json = "SELECT json FROM challenge_json WHERE id = ?1";
            let json: Option<String> = db.query_row(json, [id], |row| row.get(0)).optional()?;
            Ok(found.map(|record| ChallengeRecord {
                json: json.map(Into::into),
                ..record
            }))
        })
    }

    /// Returns the latest events, newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn events(&self, most: usize) -> Result<Vec<EventRecord>, Error> {
        let found = self.events_by(&EventFilter::default(), Order::Newest, most, None)?;
        Ok(found.into_iter().map(|it| it.what).collect())
    }

    /// Returns the raw traffic of a game, in its order.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn wire(&self, game: &str) -> Result<Vec<WireRecord>, Error> {
        self.ask(|db| read_wire(db, game))
    }

    /// Returns the kinds of events in the archive, sorted.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn event_kinds(&self) -> Result<Vec<String>, Error> {
        self.ask(|db| {
            let mut found = db.prepare_cached("SELECT DISTINCT kind FROM event ORDER BY kind")?;
            found.query_map([], |row| row.get(0))?.collect()
        })
    }

    fn page<T>(
        &self,
        (sql, values): (String, Vec<Value>),
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<PageItem<T>>, Error> {
        self.ask(|db| {
            let mut found = db.prepare_cached(&sql)?;
            let item = |row: &Row<'_>| {
                let spot = Cursor {
                    at: moment(row.get("at")?),
                    n: row.get("n")?,
                };
                let what = read(row)?;
                Ok(PageItem { spot, what })
            };
            found.query_map(params_from_iter(values), item)?.collect()
        })
    }
}

/// The query for a page of a table with the columns `at` and `n`, and its parameters.
fn listing(
    (table, columns): (&str, &str),
    mut conditions: Conditions,
    order: Order,
    most: usize,
    after: Option<Cursor>,
) -> (String, Vec<Value>) {
    if let Some(spot) = after {
        conditions.go_on(order, ["at", "n"], spot.at, Value::Integer(spot.n));
    }
    let (clause, word) = (conditions.clause(), order.word());
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {columns}, n FROM {table} {clause} ORDER BY at {word}, n {word} LIMIT {most}"
    );
    (sql, conditions.values)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::super::tests::{challenge, ground};
    use super::super::{ArchiveEntry, Database};
    use super::*;

    fn event(at: Millis, kind: &str, game: Option<&str>) -> EventRecord {
        EventRecord {
            at,
            kind: kind.to_owned(),
            text: format!("{kind} at {at}"),
            game: game.map(str::to_owned),
        }
    }

    fn keep(path: &Path, entries: &[ArchiveEntry]) -> ArchiveReader {
        Database::open(path, 1).unwrap().commit(entries).unwrap();
        ArchiveReader::open(path).unwrap()
    }

    fn some_challenges() -> Vec<ChallengeRecord> {
        let mut all: Vec<ChallengeRecord> = (0..7)
            .map(|number| challenge(&format!("asked{number:03}"), 1000 + number / 3, "Nuke"))
            .collect();
        all[1].verdict = ChallengeVerdict::Declined;
        all[2].verdict = ChallengeVerdict::Declined;
        all[2].direction = Direction::Out;
        // The server's engine and anonymous players have no id.
        all[3].user.id = None;
        "Blast".clone_into(&mut all[4].user.name);
        all[4].user.id = Some("blast".to_owned());
        all
    }

    type Set = fn(&mut ChallengeFilter);

    #[test]
    fn challenges_are_found_by_every_condition_on_disk_as_in_memory() {
        let (_folder, path) = ground();
        let all = some_challenges();
        let entries = all
            .iter()
            .cloned()
            .map(|it| ArchiveEntry::Challenge(Arc::new(it)));
        let reader = keep(&path, &entries.collect::<Vec<_>>());
        let conditions: [(usize, Set); 10] = [
            (7, |_| {}),
            (6, |filter| filter.opponent = Some("NUKE".into())),
            (1, |filter| filter.opponent = Some("blast".into())),
            (0, |filter| filter.opponent = Some("' OR 1 --".into())),
            (2, |filter| {
                filter.verdict = Some(ChallengeVerdict::Declined);
            }),
            (0, |filter| filter.verdict = Some(ChallengeVerdict::Failed)),
            (1, |filter| filter.direction = Some(Direction::Out)),
            (4, |filter| filter.since = Some(1001)),
            (3, |filter| filter.until = Some(1001)),
            (1, |filter| {
                filter.verdict = Some(ChallengeVerdict::Declined);
                filter.direction = Some(Direction::In);
                filter.until = Some(1001);
            }),
        ];
        for (count, set) in conditions {
            let mut filter = ChallengeFilter::default();
            set(&mut filter);
            let found = reader.challenges_by(&filter, Order::Oldest, 99, None);
            let found = found.unwrap().into_iter().map(|it| it.what);
            let found: Vec<ChallengeRecord> = found.collect();
            assert_eq!(found.len(), count, "{filter:?}");
            let remembered = all.iter().filter(|it| filter.fits(it));
            assert_eq!(found, remembered.cloned().collect::<Vec<_>>(), "{filter:?}");
        }
    }

    #[test]
    fn events_are_found_by_kind_game_and_time_on_disk_as_in_memory() {
        let (_folder, path) = ground();
        let all = [
            event(1, "offline", None),
            event(2, "limited", Some("abcdefgh")),
            event(2, "online", None),
            event(3, "stream", Some("abcdefgh")),
            event(4, "limited", Some("other000")),
        ];
        let entries = all
            .iter()
            .cloned()
            .map(|it| ArchiveEntry::Event(Arc::new(it)));
        let reader = keep(&path, &entries.collect::<Vec<_>>());
        let kinds = ["limited", "offline", "online", "stream"];
        assert_eq!(reader.event_kinds().unwrap(), kinds);
        let of = |kinds: &[&str]| EventFilter {
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            ..EventFilter::default()
        };
        let about = EventFilter {
            game: Some("abcdefgh".to_owned()),
            ..EventFilter::default()
        };
        let between = EventFilter {
            since: Some(2),
            until: Some(3),
            ..EventFilter::default()
        };
        let both = EventFilter {
            game: Some("abcdefgh".to_owned()),
            ..of(&["limited"])
        };
        for (count, filter) in [
            (5, of(&[])),
            (2, of(&["limited"])),
            (3, of(&["limited", "stream"])),
            (0, of(&["limit"])),
            (2, about),
            (2, between),
            (1, both),
        ] {
            let found = reader.events_by(&filter, Order::Oldest, 99, None);
            let found = found.unwrap().into_iter().map(|it| it.what);
            let found: Vec<EventRecord> = found.collect();
            assert_eq!(found.len(), count, "{filter:?}");
            let remembered = all.iter().filter(|it| filter.fits(it));
            assert_eq!(found, remembered.cloned().collect::<Vec<_>>(), "{filter:?}");
        }
    }

    #[test]
    fn pages_hold_each_entry_of_the_same_time_once_in_either_order() {
        let (_folder, path) = ground();
        let entries =
            (0..10).map(|n| ArchiveEntry::Event(Arc::new(event(5 + n / 8, "limited", None))));
        let reader = keep(&path, &entries.collect::<Vec<_>>());
        let any = EventFilter::default();
        let mut told = 0;
        for order in [Order::Newest, Order::Oldest] {
            let all = reader.events_by(&any, order, 99, None).unwrap();
            assert_eq!(all.len(), 10);
            let mut paged: Vec<PageItem<EventRecord>> = Vec::new();
            loop {
                let spot = paged.last().map(|it| it.spot);
                let page = reader.events_by(&any, order, 3, spot).unwrap();
                if page.is_empty() {
                    break;
                }
                paged.extend(page);
            }
            assert_eq!(paged, all);
            let count = |_| -> Result<bool, Error> {
                told += 1;
                Ok(true)
            };
            reader.each_event(&any, order, 7, count).unwrap();
        }
        assert_eq!(told, 14, "seven of each order");
    }

    #[test]
    fn a_page_is_read_along_the_index_and_nothing_is_sorted() {
        let (_folder, path) = ground();
        let reader = keep(&path, &[]);
        let spot = Some(Cursor { at: 5, n: 5 });
        let about = EventFilter {
            game: Some("abcdefgh".to_owned()),
            ..EventFilter::default()
        };
        let challenges = ChallengeFilter::default().conditions();
        let of = |kinds: &[&str]| EventFilter {
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            ..EventFilter::default()
        };
        let page =
            |filter: EventFilter| listing(EVENTS, filter.conditions(), Order::Newest, 50, spot);
        for ((sql, values), index) in [
            (
                listing(CHALLENGES, challenges, Order::Newest, 50, spot),
                "challenge_by_time",
            ),
            (
                listing(EVENTS, Conditions::default(), Order::Newest, 50, spot),
                "event_by_time",
            ),
            (
                listing(EVENTS, about.conditions(), Order::Newest, 50, None),
                "event_by_game",
            ),
            (page(of(&["limited"])), "event_by_kind (kind=?"),
            (page(of(&["limited", "stream"])), "event_by_time"),
            (
                page(EventFilter {
                    game: Some("abcdefgh".to_owned()),
                    ..of(&["limited"])
                }),
                "event_by_game",
            ),
        ] {
            let steps = reader.ask(|db| {
                let mut plan = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}"))?;
                plan.query_map(params_from_iter(values), |row| row.get::<_, String>(3))?
                    .collect::<rusqlite::Result<Vec<_>>>()
            });
            let steps = steps.unwrap().join("; ");
            assert!(steps.contains(index), "{steps}");
            assert!(!steps.contains("TEMP B-TREE"), "{steps}");
        }
    }
}
