//! Words in the file for enumerations, and conditions made of them.
//!
//! An unknown word becomes the unknown value, never an error: a later version may have written it.

use std::str::FromStr;

use rusqlite::Row;

use super::record::TimeControlRecord;
use crate::lichess::Status;

/// The value of the word in a column; `None` for no word and for an unknown one.
pub(super) fn word<T: FromStr>(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<T>> {
    let word: Option<String> = row.get(column)?;
    Ok(word.and_then(|word| word.parse().ok()))
}

/// The condition that a game ended on time.
pub(super) fn by_time() -> String {
    let forfeits = Status::TIME_FORFEITS.map(Status::as_str).join("', '");
    format!("status IN ('{forfeits}')")
}

/// The number of occurrences that an event stands for: refusals because of the rate limit are
/// summed up in one line, as `move: rate limited 12 times`. The reply of the server follows and
/// does not count.
pub(super) const TIMES: &str = "CASE
    WHEN kind = 'limited' AND substr(text, instr(text, ': ') + 2) GLOB 'rate limited [0-9]* times*'
    THEN min(max(CAST(substr(text, instr(text, ': ') + 15) AS INTEGER), 1), 1000000)
    ELSE 1 END";

/// A time control as a word: `180000+2000` in milliseconds, `2d`, `unlimited`, `unknown`.
pub(super) fn of_control(control: TimeControlRecord) -> String {
    match control {
        TimeControlRecord::Clock { initial, increment } => format!("{initial}+{increment}"),
        TimeControlRecord::Days(days) => format!("{days}d"),
        TimeControlRecord::Unlimited => "unlimited".to_owned(),
        TimeControlRecord::Unknown => "unknown".to_owned(),
    }
}

/// Parses such a word.
pub(super) fn control(word: &str) -> TimeControlRecord {
    if word == "unlimited" {
        return TimeControlRecord::Unlimited;
    }
    if let Some(days) = word.strip_suffix('d').and_then(|days| days.parse().ok()) {
        return TimeControlRecord::Days(days);
    }
    let clock = word.split_once('+');
    match clock.map(|(initial, increment)| (initial.parse(), increment.parse())) {
        Some((Ok(initial), Ok(increment))) => TimeControlRecord::Clock { initial, increment },
        _ => TimeControlRecord::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::record::{ChallengeVerdict, Direction, Origin, Outcome};

    #[test]
    fn every_word_leads_back_to_its_value() {
        for value in [
            Origin::Incoming,
            Origin::Outgoing,
            Origin::Arena,
            Origin::Imported,
        ] {
            assert_eq!(<&str>::from(value).parse(), Ok(value));
        }
        assert_eq!("new".parse::<Origin>().unwrap_or_default(), Origin::Unknown);
        for value in [Outcome::Win, Outcome::Draw, Outcome::Loss] {
            assert_eq!(value.as_str().parse(), Ok(value));
        }
        for value in [
            TimeControlRecord::Clock {
                initial: 180_000,
                increment: 2000,
            },
            TimeControlRecord::Days(3),
            TimeControlRecord::Unlimited,
            TimeControlRecord::Unknown,
        ] {
            assert_eq!(control(&of_control(value)), value);
        }
        for value in [Direction::In, Direction::Out] {
            assert_eq!(<&str>::from(value).parse(), Ok(value));
        }
        assert_eq!(
            ChallengeVerdict::Failed.as_str().parse(),
            Ok(ChallengeVerdict::Failed)
        );
        assert_eq!(
            "new".parse::<ChallengeVerdict>().unwrap_or_default(),
            ChallengeVerdict::Waiting
        );
    }

    #[test]
    fn rate_limit_lines_are_counted_as_often_as_they_say() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        let times = |kind: &str, text: &str| -> i64 {
            let sql = format!("SELECT {TIMES} FROM (SELECT ?1 AS kind, ?2 AS text)");
            db.query_row(&sql, [kind, text], |row| row.get(0)).unwrap()
        };
        for (count, text) in [
            (12, "move: rate limited 12 times, to wait 60 s: slower"),
            (2, "move: rate limited 2 times"),
            (1, "move: rate limited, to wait 60 s: slow"),
            (1, "move: rate limited: you were rate limited 99 times"),
            (
                1,
                "move: rate limited, to wait 9 s: bot: rate limited 99 times",
            ),
            (1, "move: rate limited 0 times"),
            (
                1_000_000,
                "move: rate limited 99999999999999999999999 times",
            ),
            (1, "too fast"),
            (1, ""),
        ] {
            assert_eq!(times("limited", text), count, "{text}");
        }
        assert_eq!(times("operator", "say: rate limited 12 times"), 1);
        // The line as the bot writes it.
        let limited = crate::lichess::RateLimitedCalls {
            class: crate::lichess::EndpointClass::Move,
            game: None,
            times: 7,
            wait: None,
            message: "slow".to_owned(),
        };
        assert_eq!(times("limited", &limited.to_string()), 7);
    }

    #[test]
    fn a_fallen_flag_and_an_absent_player_both_count_as_lost_on_time() {
        assert_eq!(by_time(), "status IN ('outoftime', 'timeout')");
    }
}
