//! The totals of one day, for the log.

use std::fmt;

use rusqlite::params;

use super::database::Database;
use super::record::Millis;
use super::sql_enums::{self, TIMES};
use super::{dates, rows};
use crate::sqlite::Error;

/// Longer games, in milliseconds, belong to no day: to find them the query would have to scan all
/// games.
const LONGEST: Millis = 200 * 24 * 3600 * 1000;

/// New opponents named in a summary.
const MOST_NAMES: usize = 5;

/// The totals of a span of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Day {
    /// Totals by speed, most games first.
    pub speeds: Vec<Speeds>,
    /// Games aborted by either side.
    pub aborted: u64,
    /// Games lost on time.
    pub flagged: u64,
    /// Maximum move overhead.
    pub lag: Option<Millis>,
    pub streams: u64,
    /// Calls refused because of the rate limit.
    pub limited: u64,
    pub alerts: u64,
    pub declined: u64,
    /// Opponents met for the first time who beat us, with the number of their wins, most first.
    pub new_winners: Vec<(String, u64)>,
}

/// The games of one speed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Speeds {
    pub speed: String,
    pub wins: u64,
    pub draws: u64,
    pub losses: u64,
    /// Sum of our rating changes.
    pub rating: i64,
}

impl Database {
    /// Returns the totals from one moment until before another. A game belongs to the moment at
    /// which it ended.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn day(&mut self, from: Millis, until: Millis) -> Result<Day, Error> {
        let span = params![rows::number(from), rows::number(until)];
        let games = format!(
            "FROM game WHERE ended >= ?1 AND ended < ?2 AND began >= ?1 - {LONGEST}
            AND origin <> 'imported'"
        );
        self.0.read(|batch| {
            let mut speeds = batch.prepare_cached(&format!(
                "SELECT speed, sum(result = 'win'), sum(result = 'draw'), sum(result = 'loss'),
                coalesce(sum(diff), 0) {games} AND result IS NOT NULL
                GROUP BY speed ORDER BY count(*) DESC"
            ))?;
            let speeds = speeds.query_map(span, |row| {
                Ok(Speeds {
                    speed: row.get(0)?,
                    wins: row.get::<_, i64>(1)?.unsigned_abs(),
                    draws: row.get::<_, i64>(2)?.unsigned_abs(),
                    losses: row.get::<_, i64>(3)?.unsigned_abs(),
                    rating: row.get(4)?,
                })
            })?;
            let number = |sql: &str| {
                let number = batch.query_row(sql, span, |row| row.get::<_, Option<i64>>(0));
                number.map(|number| number.map(i64::unsigned_abs))
            };
            let by_time = sql_enums::by_time();
            let events = "SELECT count(*) FROM event WHERE at >= ?1 AND at < ?2 AND kind =";
            let count = |kind: &str| number(&format!("{events} '{kind}'"));
            let mut new_winners = batch.prepare_cached(&format!(
                "SELECT CASE us WHEN 'white' THEN black_name ELSE white_name END, count(*) {games}
                AND result = 'loss' AND opponent <> '' AND NOT EXISTS (
                    SELECT 1 FROM game AS earlier
                    WHERE earlier.opponent = game.opponent AND earlier.ended < ?1
                ) GROUP BY opponent ORDER BY count(*) DESC, opponent"
            ))?;
            let new_winners = new_winners.query_map(span, |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs()))
            })?;
            Ok(Day {
                new_winners: new_winners.collect::<rusqlite::Result<_>>()?,
                speeds: speeds.collect::<rusqlite::Result<_>>()?,
                aborted: number(&format!("SELECT count(*) {games} AND status = 'aborted'"))?
                    .unwrap_or(0),
                flagged: number(&format!(
                    "SELECT count(*) {games} AND result = 'loss' AND {by_time}"
                ))?
                .unwrap_or(0),
                lag: number(&format!("SELECT max(lag) {games}"))?,
                streams: count("stream")?.unwrap_or(0) + count("offline")?.unwrap_or(0),
                limited: number(&format!(
                    "SELECT sum({TIMES}) FROM event
                    WHERE at >= ?1 AND at < ?2 AND kind = 'limited'"
                ))?
                .unwrap_or(0),
                alerts: count("alert")?.unwrap_or(0),
                declined: number(
                    "SELECT count(*) FROM challenge WHERE at >= ?1 AND at < ?2
                    AND verdict = 'declined' AND direction = 'in'",
                )?
                .unwrap_or(0),
            })
        })
    }

    /// Returns the end of the last game before a moment, unless the summary of that day is stored:
    /// an event whose text begins with the date. Too long games and those without a result do not
    /// count.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn not_summed_up(&mut self, before: Millis) -> Result<Option<Millis>, Error> {
        self.0.read(|batch| {
            let last = format!(
                "SELECT max(ended) FROM game WHERE ended < ?1 AND began >= ?1 - {LONGEST}
                AND origin <> 'imported' AND result IS NOT NULL"
            );
            let before = [rows::number(before)];
            let ended = batch.query_row(&last, before, |row| row.get::<_, Option<i64>>(0))?;
            let Some(ended) = ended else {
                return Ok(None);
            };
            let date = dates::date(rows::moment(ended));
            let kept = batch.query_row(
                "SELECT EXISTS (SELECT 1 FROM event
                WHERE at >= ?1 AND kind = 'summary' AND text LIKE ?2 || '%')",
                params![ended, date],
                |row| row.get::<_, bool>(0),
            )?;
            Ok((!kept).then(|| rows::moment(ended)))
        })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.speeds.is_empty() {
            f.write_str("no games")?;
        }
        for (index, it) in self.speeds.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let (speed, wins, draws, losses) = (&it.speed, it.wins, it.draws, it.losses);
            write!(f, "{comma}{speed} +{wins} ={draws} -{losses}")?;
            if it.rating != 0 {
                write!(f, " ({:+} points)", it.rating)?;
            }
        }
        if let Some(lag) = self.lag {
            write!(f, "; longest move overhead {lag} ms")?;
        }
        for (count, what) in [
            (self.aborted, "aborted"),
            (self.flagged, "lost on the clock"),
            (self.streams, "stream disconnects"),
            (self.limited, "rate limit refusals"),
            (self.alerts, "alerts"),
            (self.declined, "challenges declined"),
        ] {
            if count > 0 {
                write!(f, "; {count} {what}")?;
            }
        }
        let rest = self.new_winners.len().saturating_sub(MOST_NAMES);
        for (index, (name, wins)) in self.new_winners.iter().take(MOST_NAMES).enumerate() {
            let before = if index == 0 {
                "; lost to new opponents "
            } else {
                ", "
            };
            write!(f, "{before}{name}")?;
            if *wins > 1 {
                write!(f, " ({wins} times)")?;
            }
        }
        if rest > 0 {
            write!(f, " and {rest} more")?;
        }
        Ok(())
    }
}
