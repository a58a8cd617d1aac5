//! The words that stand in the file for the values of closed kinds.
//!
//! A word that no one knows is the unknown value, never an error: a later program may have written it.

use super::record::{ChallengeVerdict, Direction, Origin, Outcome, TimeControlRecord};
use crate::lichess::{Side, Status};

/// The side of that name.
pub(super) fn side(word: &str) -> Option<Side> {
    [Side::White, Side::Black]
        .into_iter()
        .find(|side| side.as_str() == word)
}

/// The word for how a game came about.
pub(super) const fn of_origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Incoming => "incoming",
        Origin::Outgoing => "outgoing",
        Origin::Arena => "arena",
        Origin::Imported => "imported",
        Origin::Unknown => "unknown",
    }
}

/// How a game of that word came about.
pub(super) fn origin(word: &str) -> Origin {
    [
        Origin::Incoming,
        Origin::Outgoing,
        Origin::Arena,
        Origin::Imported,
    ]
    .into_iter()
    .find(|origin| of_origin(*origin) == word)
    .unwrap_or_default()
}

/// The word for how a game ended for a side.
pub const fn of_outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Win => "win",
        Outcome::Draw => "draw",
        Outcome::Loss => "loss",
    }
}

/// The outcome of that word.
pub(super) fn outcome(word: &str) -> Option<Outcome> {
    [Outcome::Win, Outcome::Draw, Outcome::Loss]
        .into_iter()
        .find(|outcome| of_outcome(*outcome) == word)
}

/// A condition on rows of games: that they ended by time.
pub(super) fn by_time() -> String {
    let forfeits = Status::TIME_FORFEITS.map(Status::as_str).join("', '");
    format!("status IN ('{forfeits}')")
}

/// How many times an event says that something happened: refusals for the rate are added up in one
/// line, as `move: rate limited 12 times`. What the server said comes after that and counts for
/// nothing.
pub(super) const TIMES: &str = "CASE
    WHEN kind = 'limited' AND substr(text, instr(text, ': ') + 2) GLOB 'rate limited [0-9]* times*'
    THEN min(max(CAST(substr(text, instr(text, ': ') + 15) AS INTEGER), 1), 1000000)
    ELSE 1 END";

/// The word for which way a challenge goes.
pub(super) const fn of_direction(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "in",
        Direction::Out => "out",
    }
}

/// The way of that word.
pub(super) fn direction(word: &str) -> Direction {
    if word == "out" {
        Direction::Out
    } else {
        Direction::In
    }
}

/// The verdict of that word.
pub(super) fn verdict(word: &str) -> ChallengeVerdict {
    [
        ChallengeVerdict::Accepted,
        ChallengeVerdict::Declined,
        ChallengeVerdict::Canceled,
        ChallengeVerdict::Failed,
    ]
    .into_iter()
    .find(|verdict| verdict.as_str() == word)
    .unwrap_or_default()
}

/// A time control in a word: `180000+2000` in milliseconds, `2d`, `unlimited`, `unknown`.
pub(super) fn of_control(control: TimeControlRecord) -> String {
    match control {
        TimeControlRecord::Clock { initial, increment } => format!("{initial}+{increment}"),
        TimeControlRecord::Days(days) => format!("{days}d"),
        TimeControlRecord::Unlimited => "unlimited".to_owned(),
        TimeControlRecord::Unknown => "unknown".to_owned(),
    }
}

/// The time control of that word.
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

    #[test]
    fn every_word_leads_back_to_its_value() {
        for value in [
            Origin::Incoming,
            Origin::Outgoing,
            Origin::Arena,
            Origin::Imported,
        ] {
            assert_eq!(origin(of_origin(value)), value);
        }
        assert_eq!(origin("new"), Origin::Unknown);
        for value in [Outcome::Win, Outcome::Draw, Outcome::Loss] {
            assert_eq!(outcome(of_outcome(value)), Some(value));
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
            assert_eq!(direction(of_direction(value)), value);
        }
        assert_eq!(
            verdict(ChallengeVerdict::Failed.as_str()),
            ChallengeVerdict::Failed
        );
        assert_eq!(verdict("new"), ChallengeVerdict::Waiting);
    }

    #[test]
    fn refusals_are_counted_as_often_as_their_line_says() {
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
        // The line as it is written.
        let limited = crate::lichess::RateLimitedCalls {
            class: crate::lichess::EndpointClass::Move,
            game: None,
            times: 7,
            wait: None,
            said: "slow".to_owned(),
        };
        assert_eq!(times("limited", &limited.to_string()), 7);
    }

    #[test]
    fn a_flag_that_fell_and_a_player_who_left_are_both_by_time() {
        assert_eq!(by_time(), "status IN ('outoftime', 'timeout')");
    }
}
