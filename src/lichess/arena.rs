//! Arenas as the tournament list and the page of one show them.
//!
//! The two differ: times are numbers here and text there, a variant an object here and a word there. A fact
//! about entry that is not stated stays unknown.

use std::time::{Duration, SystemTime};

use super::challenge::variant;
use super::enums::Variant;
use super::lenient_json::{FromObject, JsonMismatch, Object};
use super::player::from_epoch_ms;

/// A tournament in the arena mode.
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags as they stand on the wire"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arena {
    /// The eight letters of its address.
    pub id: String,
    /// Its name, for people.
    pub name: String,
    pub variant: Variant,
    /// Time on the clock at the start.
    pub base: Option<Duration>,
    /// Time added a move.
    pub increment: Option<Duration>,
    pub rated: bool,
    /// Whether bots may play; not told means no.
    pub bots_allowed: bool,
    pub starts_at: Option<SystemTime>,
    /// How long until then, as the server counted when it answered.
    pub to_start: Option<Duration>,
    /// How long until its end, likewise; told while it runs.
    pub to_end: Option<Duration>,
    /// How long it lasts.
    pub length: Option<Duration>,
    pub is_finished: bool,
    /// No one is paired any more.
    pub pairings_closed: bool,
    /// It begins from a position of its own.
    pub from_position: bool,
    /// It asks for a password.
    pub is_private: bool,
    /// Who may come in.
    pub entry: EntryConditions,
}

/// Who may come into an arena, as far as it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryConditions {
    pub min_rating: Option<i32>,
    pub max_rating: Option<i32>,
    /// Rated games that one must have played.
    pub min_rated_games: Option<u32>,
    /// Days that the account must exist.
    pub min_account_age: Option<u32>,
    /// Titled players only; a bot is none.
    pub only_titled: bool,
    /// Members of this team only.
    pub team: Option<String>,
    /// Teams play against each other, and one must play for one of these.
    pub teams: Vec<String>,
    /// Only users that are named may come in.
    pub by_list: bool,
    /// What the server says of us: told to who asks with a token.
    pub accepted: Option<bool>,
}

impl FromObject for Arena {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let id: String = object.required("id")?;
        let name: Option<String> = object.optional("fullName");
        let clock = object.object("clock");
        let seconds = |key: &str| {
            let count = clock.as_ref().and_then(|clock| clock.count(key));
            count.map(Duration::from_secs)
        };
        let minutes = object.count("minutes");
        let status = object.count("status");
        Ok(Self {
            name: name.unwrap_or_else(|| id.clone()),
            id,
            variant: variant(object),
            base: seconds("limit"),
            increment: seconds("increment"),
            rated: object.flag("rated"),
            bots_allowed: object.flag("botsAllowed"),
            starts_at: starts_at(object),
            to_start: object.count("secondsToStart").map(Duration::from_secs),
            to_end: object.count("secondsToFinish").map(Duration::from_secs),
            length: minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60))),
            is_finished: object.flag("isFinished") || status.is_some_and(|status| status >= 30),
            pairings_closed: object.flag("pairingsClosed"),
            from_position: object.raw("position").is_some(),
            is_private: object.flag("private"),
            entry: EntryConditions::from_object(object)?,
        })
    }
}

impl FromObject for EntryConditions {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        let battle = object.object("teamBattle");
        let verdicts = object.object("verdicts");
        Ok(Self {
            min_rating: within(object, "minRating", "rating"),
            max_rating: within(object, "maxRating", "rating"),
            min_rated_games: within(object, "minRatedGames", "nb"),
            min_account_age: object.small("minAccountAgeInDays"),
            only_titled: object.flag("onlyTitled"),
            team: object.optional("teamMember"),
            teams: battle
                .and_then(|battle| battle.optional("teams"))
                .unwrap_or_default(),
            by_list: object.raw("allowList").is_some(),
            accepted: verdicts.and_then(|verdicts| verdicts.optional("accepted")),
        })
    }
}

/// A number that stands bare or inside an object.
fn within<T: TryFrom<i64>>(object: &Object<'_>, key: &str, inner: &str) -> Option<T> {
    if object.raw(key)?.starts_with('{') {
        object.object(key)?.small(inner)
    } else {
        object.small(key)
    }
}

/// The beginning: milliseconds since 1970, or the text of a date.
fn starts_at(object: &Object<'_>) -> Option<SystemTime> {
    if object.raw("startsAt")?.starts_with('"') {
        let text: String = object.optional("startsAt")?;
        return iso(&text);
    }
    object.count("startsAt").map(from_epoch_ms)
}

/// A moment such as `2026-08-22T18:00:00.000Z`. A fraction of a second does not matter here, and
/// the server always counts in UTC.
fn iso(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once('T')?;
    let mut date = date.split('-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let time = time.trim_end_matches('Z');
    let time = time.split_once('.').map_or(time, |(whole, _)| whole);
    let mut time = time.split(':').map(str::parse::<i64>);
    let (hour, minute, second) = (
        time.next()?.ok()?,
        time.next()?.ok()?,
        time.next().and_then(Result::ok).unwrap_or(0),
    );
    let plausible = (1970..10_000).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..61).contains(&second);
    let seconds = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60 + second;
    plausible.then(|| from_epoch_ms(u64::try_from(seconds).unwrap_or(0) * 1000))
}

/// Days from 1970 on, by the rules of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years are counted from March on, so that the odd day of a leap year comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The tournaments of the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arenas {
    /// Those that will begin.
    pub created: Vec<Arena>,
    pub started: Vec<Arena>,
}

impl FromObject for Arenas {
    fn from_object(object: &Object<'_>) -> Result<Self, JsonMismatch> {
        Ok(Self {
            created: object.list("created"),
            started: object.list("started"),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::super::lenient_json::read;
    use super::*;

    fn arena(json: &str) -> Arena {
        read(json).unwrap().value
    }

    fn seconds(text: &str) -> Option<u64> {
        let since = iso(text)?.duration_since(UNIX_EPOCH);
        since.ok().map(|since| since.as_secs())
    }

    #[test]
    fn a_date_is_read_as_the_calendar_has_it() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-02-29T12:00:00.123Z"), Some(951_825_600));
        assert_eq!(seconds("2026-08-22T18:00:00.000Z"), Some(1_787_421_600));
        assert_eq!(seconds("2026-08-22T18:00Z"), Some(1_787_421_600));
        for wrong in ["", "T", "2026-08-22", "2026-13-01T00:00:00Z", "soon"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_two_shapes_of_an_arena_are_understood_alike() {
        let listed = arena(
            r#"{"id":"aBcD1234","fullName":"Hourly Atomic Arena","minutes":57,"rated":true,
            "clock":{"limit":180,"increment":0},"variant":{"key":"atomic","name":"Atomic"},
            "startsAt":1787421600000,"secondsToStart":600,"status":10,"botsAllowed":true,
            "minRating":{"perf":"atomic","rating":1600},"minRatedGames":{"nb":20}}"#,
        );
        let shown = arena(
            r#"{"id":"aBcD1234","fullName":"Hourly Atomic Arena","minutes":57,"rated":true,
            "clock":{"limit":180,"increment":0},"variant":"atomic",
            "startsAt":"2026-08-22T18:00:00.000Z","secondsToStart":600,"botsAllowed":true,
            "minRating":{"perf":"atomic","rating":1600},"minRatedGames":{"nb":20}}"#,
        );
        assert_eq!(listed, shown);
        assert_eq!(shown.variant, Variant::Atomic);
        assert_eq!(shown.length, Some(Duration::from_secs(57 * 60)));
        assert_eq!(shown.entry.min_rating, Some(1600));
        assert_eq!(shown.entry.min_rated_games, Some(20));
    }

    #[test]
    fn what_is_not_told_is_not_allowed_and_not_asked_for() {
        let bare = arena(r#"{"id":"aBcD1234"}"#);
        assert!(!bare.bots_allowed && !bare.is_finished && bare.starts_at.is_none());
        assert_eq!(bare.entry, EntryConditions::default());
        assert_eq!(bare.variant, Variant::Unknown);
    }

    #[test]
    fn entry_by_team_list_and_verdict_is_seen() {
        let closed = arena(
            r#"{"id":"a","teamBattle":{"teams":["x","y"],"nbLeaders":5},"allowList":["someone"],
            "verdicts":{"accepted":false,"list":[]},"onlyTitled":true,"private":true,
            "teamMember":"z","position":{"fen":"8/8"},"isFinished":true}"#,
        );
        assert_eq!(closed.entry.teams, ["x", "y"]);
        assert_eq!(closed.entry.team.as_deref(), Some("z"));
        assert!(closed.entry.by_list && closed.entry.only_titled && closed.is_private);
        assert_eq!(closed.entry.accepted, Some(false));
        assert!(closed.from_position && closed.is_finished);
    }
}
