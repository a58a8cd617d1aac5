//! A point in time that survives restarts: milliseconds since 1970, UTC.
//!
//! Unlike an `Instant` it can go backwards when an operator sets the clock, so no arithmetic on it
//! may underflow.

use std::fmt;
use std::ops::Add;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use time::OffsetDateTime;

/// A point in time, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The present time of the system's clock.
    pub fn now() -> Self {
        SystemTime::now().into()
    }

    /// So many milliseconds after 1970 began.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Milliseconds since 1970 began.
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }

    /// The moment so much earlier.
    #[must_use]
    pub fn before(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(millis(by)))
    }

    /// The date in UTC: `2026-11-21`.
    pub fn date(self) -> String {
        let seconds = i64::try_from(self.0 / 1000).unwrap_or(i64::MAX);
        let date = OffsetDateTime::from_unix_timestamp(seconds).ok();
        // `None` beyond the year 9999.
        date.map_or_else(|| "?".to_owned(), |date| date.date().to_string())
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(millis(rhs)))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        Self(time.duration_since(UNIX_EPOCH).map_or(0, millis))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(at: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_millis(at.0)
    }
}

impl ToSql for Timestamp {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Timestamp {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_i64()
            .map(|millis| Self(millis.max(0).unsigned_abs()))
    }
}

impl fmt::Display for Timestamp {
    /// The time of day in UTC: `21:40`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.0 / 60_000;
        write!(f, "{:02}:{:02}", minutes / 60 % 24, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 24 * 3600 * 1000;

    #[test]
    fn a_time_is_shown_as_time_of_day() {
        let moment = Timestamp::from_millis(DAY * 20_000 + (21 * 60 + 40) * 60_000 + 59_999);
        assert_eq!(moment.to_string(), "21:40");
        assert_eq!(Timestamp::default().to_string(), "00:00");
    }

    #[test]
    fn a_date_counts_leap_years() {
        let date = |days: u64| Timestamp::from_millis(days * DAY).date();
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(20_819), "2027-01-01");
    }

    #[test]
    fn nothing_underflows_and_nothing_overflows() {
        let (early, late) = (Timestamp::from_millis(5), Timestamp::from_millis(9));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(late.since(early), Duration::from_millis(4));
        assert_eq!(early.before(Duration::MAX), Timestamp::default());
        assert!(late + Duration::MAX > late);
        let before_1970 = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(Timestamp::from(before_1970), Timestamp::default());
    }
}
