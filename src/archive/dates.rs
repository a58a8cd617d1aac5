//! Timestamps in milliseconds as UTC dates and times of day, and back; lengths of time.

use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{Date, OffsetDateTime, PrimitiveDateTime, Time};

use super::record::Millis;
use crate::sqlite::Timestamp;

const DOTTED: StaticFormatDescription = format_description!("[year].[month].[day]");
const DASHED: StaticFormatDescription = format_description!("[year]-[month]-[day]");
const OF_DAY: StaticFormatDescription = format_description!("[hour]:[minute]:[second]");
const MINUTE: StaticFormatDescription = format_description!("[year]-[month]-[day] [hour]:[minute]");
const STAMP: StaticFormatDescription =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");

pub const DAY: Millis = 24 * 3600 * 1000;

/// The present time of the system's clock.
pub fn now() -> Millis {
    Timestamp::now().as_millis()
}

/// `2026.11.21`, as PGN has it.
pub fn dotted_date(at: Millis) -> String {
    shown(at, DOTTED)
}

pub fn date(at: Millis) -> String {
    Timestamp::from_millis(at).date()
}

pub fn time_of_day(at: Millis) -> String {
    shown(at, OF_DAY)
}

pub fn minute(at: Millis) -> String {
    shown(at, MINUTE)
}

pub fn stamp(at: Millis) -> String {
    shown(at, STAMP)
}

/// Seconds with one decimal place, rounded down.
pub fn tenths(time: Millis) -> String {
    format!("{}.{}", time / 1000, time % 1000 / 100)
}

/// A duration in its two largest units.
pub fn rough_duration(seconds: u64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, minutes) => format!("{hours} h {} min", minutes % 60),
        (days, hours, _) => format!("{days} d {} h", hours % 24),
    }
}

fn shown(at: Millis, format: StaticFormatDescription) -> String {
    let seconds = i64::try_from(at / 1000).unwrap_or(i64::MAX);
    let moment = OffsetDateTime::from_unix_timestamp(seconds).ok();
    let text = moment.and_then(|moment| moment.format(format).ok());
    // Beyond the year 9999.
    text.unwrap_or_else(|| "?".to_owned())
}

/// The moment of the date and time tags of PGN; midnight if the time is unknown.
pub(super) fn of_tags(date: &str, time: Option<&str>) -> Option<Millis> {
    let date = Date::parse(date, DOTTED).ok()?;
    let time = time.and_then(|time| Time::parse(time, OF_DAY).ok());
    millis(date, time.unwrap_or(Time::MIDNIGHT))
}

/// Parses a moment that an operator names: a date (`2026-11-21`), a minute (`2026-11-21 13:05` or
/// with a `T`), or an age (`90m`, `12h`, `7d`, `3w`).
pub fn moment(text: &str, now: Millis) -> Option<Millis> {
    let text = text.trim();
    if let Some(ago) = span(text) {
        return Some(now.saturating_sub(ago));
    }
    if let Ok(date) = Date::parse(text, DASHED) {
        return millis(date, Time::MIDNIGHT);
    }
    let text = text.replacen('T', " ", 1);
    let minute = PrimitiveDateTime::parse(&text, MINUTE).ok()?;
    millis(minute.date(), minute.time())
}

/// Parses a length of time that an operator names: `90m`, `12h`, `7d`, `3w`.
pub fn span(text: &str) -> Option<Millis> {
    let text = text.trim();
    let unit = text.chars().next_back()?;
    let seconds: Millis = match unit {
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        'w' => 7 * 24 * 3600,
        _ => return None,
    };
    let number: Millis = text[..text.len() - 1].parse().ok()?;
    number.checked_mul(seconds * 1000)
}

fn millis(date: Date, time: Time) -> Option<Millis> {
    let seconds = PrimitiveDateTime::new(date, time)
        .assume_utc()
        .unix_timestamp();
    Millis::try_from(seconds).ok()?.checked_mul(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Millis = 1_795_266_359_000;

    #[test]
    fn a_moment_has_a_date_and_a_time() {
        assert_eq!(stamp(MOMENT), "2026-11-21T13:05:59Z");
        assert_eq!(dotted_date(MOMENT), "2026.11.21");
        assert_eq!(time_of_day(MOMENT), "13:05:59");
        assert_eq!(minute(MOMENT), "2026-11-21 13:05");
        assert_eq!(of_tags("2026.11.21", Some("13:05:59")), Some(MOMENT));
        assert_eq!(stamp(Millis::MAX), "?");
    }

    #[test]
    fn times_are_parsed_in_several_formats() {
        let midnight = MOMENT - (13 * 3600 + 5 * 60 + 59) * 1000;
        let rows = [
            ("2026-11-21", Some(midnight)),
            ("2026-11-21 13:05", Some(MOMENT - 59_000)),
            ("2026-11-21T13:05", Some(MOMENT - 59_000)),
            ("7d", Some(MOMENT - 7 * DAY)),
            ("90m", Some(MOMENT - 5_400_000)),
            ("99999999w", Some(0)),
            ("yesterday", None),
            ("2026-13-01", None),
            ("", None),
            ("d", None),
            ("-3d", None),
            ("9é", None),
        ];
        for (text, expected) in rows {
            assert_eq!(moment(text, MOMENT), expected, "{text}");
        }
    }
}
