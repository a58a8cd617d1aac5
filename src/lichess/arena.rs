//! Arenas, in the tournament list and alone.
//!
//! The two forms differ: in the list times are numbers and the variant is an object; alone, both are text. A
//! condition of entry that the server does not state stays unknown.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer};
use serde_json::Value;
use time::OffsetDateTime;
use time::format_description::well_known::Iso8601;

use super::enums::Variant;
use super::lenient_json::{WireCount, from_epoch_ms, is_present, name, seconds};

/// A tournament in the arena mode.
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags as they stand on the wire"
)]
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Arena {
    /// The eight letters of its URL.
    pub id: String,
    /// Its name, for people.
    #[serde(rename = "fullName|id", deserialize_with = "name")]
    pub name: String,
    #[serde(rename = "variant.key|variant")]
    pub variant: Variant,
    /// Time on the clock at the start.
    #[serde(rename = "clock.limit", deserialize_with = "seconds")]
    pub base: Option<Duration>,
    /// Time added after each move.
    #[serde(rename = "clock.increment", deserialize_with = "seconds")]
    pub increment: Option<Duration>,
    pub rated: bool,
    /// Whether bots may play; no where the server does not say.
    pub bots_allowed: bool,
    #[serde(deserialize_with = "starts_at")]
    pub starts_at: Option<SystemTime>,
    /// Time until the start, as of the server's answer.
    #[serde(rename = "secondsToStart", deserialize_with = "seconds")]
    pub to_start: Option<Duration>,
    /// Time until the end, likewise; only while the arena runs.
    #[serde(rename = "secondsToFinish", deserialize_with = "seconds")]
    pub to_end: Option<Duration>,
    #[serde(rename = "minutes", deserialize_with = "minutes")]
    pub length: Option<Duration>,
    #[serde(rename = ".status", deserialize_with = "is_finished")]
    pub is_finished: bool,
    /// The server makes no more pairings.
    pub pairings_closed: bool,
    /// Games start from a position of the arena's own.
    #[serde(rename = "position", deserialize_with = "is_present")]
    pub from_position: bool,
    /// Entry requires a password.
    #[serde(rename = "private")]
    pub is_private: bool,
    #[serde(rename = ".entry")]
    pub entry: EntryConditions,
}

/// The conditions of entry to an arena, as far as the server states them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntryConditions {
    #[serde(rename = "minRating.rating|minRating")]
    pub min_rating: Option<i32>,
    #[serde(rename = "maxRating.rating|maxRating")]
    pub max_rating: Option<i32>,
    /// Rated games the player must have played.
    #[serde(rename = "minRatedGames.nb|minRatedGames")]
    pub min_rated_games: Option<u32>,
    /// Days since the account was created.
    #[serde(rename = "minAccountAgeInDays")]
    pub min_account_age: Option<u32>,
    /// Titled players only; a bot does not count as one.
    pub only_titled: bool,
    /// Members of this team only.
    #[serde(rename = "teamMember")]
    pub team: Option<String>,
    /// In a team battle, the teams to choose from.
    #[serde(rename = "teamBattle.teams", deserialize_with = "team_ids")]
    pub teams: Vec<String>,
    /// Only users on a list may enter.
    #[serde(rename = "allowList", deserialize_with = "is_present")]
    pub by_list: bool,
    /// Whether our account may enter, where the server says so: it does to a request with a token.
    #[serde(rename = "verdicts.accepted")]
    pub accepted: Option<bool>,
}

/// An array in the list, an object with the names of the teams alone.
fn team_ids<'de, D: Deserializer<'de>>(teams: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Teams {
        Listed(Vec<String>),
        Named(serde_json::Map<String, Value>),
    }
    Ok(match Option::deserialize(teams)? {
        Some(Teams::Listed(ids)) => ids,
        Some(Teams::Named(teams)) => teams.into_iter().map(|(id, _)| id).collect(),
        None => Vec::new(),
    })
}

/// A flag in one form of an arena, a number in the other.
fn is_finished<'de, D: Deserializer<'de>>(arena: D) -> Result<bool, D::Error> {
    /// The lowest status of an arena that is over.
    const FINISHED: u64 = 30;
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ArenaProgress {
        is_finished: bool,
        status: Option<WireCount>,
    }
    let stage = ArenaProgress::deserialize(arena)?;
    Ok(stage.is_finished
        || stage
            .status
            .is_some_and(|WireCount(status)| status >= FINISHED))
}

fn minutes<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Duration>, D::Error> {
    let minutes: Option<WireCount> = Option::deserialize(value)?;
    Ok(minutes.map(|WireCount(minutes)| Duration::from_secs(minutes.saturating_mul(60))))
}

/// The start: milliseconds since 1970, or a date as text.
fn starts_at<'de, D: Deserializer<'de>>(value: D) -> Result<Option<SystemTime>, D::Error> {
    match Option::deserialize(value)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(iso(&text)),
        Some(Value::Number(ms)) => Ok(ms.as_f64().map(|ms| from_epoch_ms(ms as u64))),
        Some(_) => Err(serde::de::Error::custom("neither a number nor a date")),
    }
}

/// A moment such as `2026-08-22T18:00:00.000Z`.
fn iso(text: &str) -> Option<SystemTime> {
    let moment = OffsetDateTime::parse(text, &Iso8601::PARSING).ok()?;
    let seconds = u64::try_from(moment.unix_timestamp()).ok()?;
    Some(from_epoch_ms(seconds * 1000))
}

/// A team, of which only the id matters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Team {
    pub id: String,
}

/// The arenas of the tournament page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Arenas {
    /// Not started yet.
    pub created: Vec<Arena>,
    pub started: Vec<Arena>,
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
    fn the_name_is_short_and_has_no_control_characters() {
        let named = |name: &str| arena(&format!(r#"{{"id":"aBcD1234","fullName":"{name}"}}"#));
        let arena = named(&format!("Blast\\u001b[2J\\n{}", "x".repeat(70_000)));
        assert!(arena.name.starts_with("Blast[2Jx"), "{}", arena.name);
        assert_eq!(arena.name.len(), 60);
    }

    #[test]
    fn an_iso_date_is_read() {
        assert_eq!(seconds("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds("2000-02-29T12:00:00.123Z"), Some(951_825_600));
        assert_eq!(seconds("2026-08-22T18:00:00.000Z"), Some(1_787_421_600));
        assert_eq!(seconds("2026-08-22T18:00Z"), Some(1_787_421_600));
        for wrong in ["", "T", "2026-08-22", "2026-13-01T00:00:00Z", "soon"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn both_shapes_of_an_arena_parse_alike() {
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
    fn missing_conditions_neither_allow_nor_require() {
        let bare = arena(r#"{"id":"aBcD1234"}"#);
        assert!(!bare.bots_allowed && !bare.is_finished && bare.starts_at.is_none());
        assert_eq!(bare.entry, EntryConditions::default());
        assert_eq!(bare.variant, Variant::Unknown);
    }

    #[test]
    fn entry_by_team_list_and_verdict_is_read() {
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

    #[test]
    fn the_teams_of_a_battle_are_an_array_or_an_object() {
        for teams in [r#"["x","y"]"#, r#"{"x":["X",null],"y":["Y"]}"#] {
            let battle = format!(r#"{{"id":"a","teamBattle":{{"teams":{teams}}}}}"#);
            assert_eq!(arena(&battle).entry.teams, ["x", "y"]);
        }
    }
}
