//! When an outgoing game may start so that the daily share lasts all day.
//!
//! A bucket of time: it fills as time passes, every game takes an equal part of a day, and it holds
//! at most two hours' worth, so that a quiet morning cannot be spent in one rush.

use std::time::Duration;

use crate::store::Timestamp;

/// The period of the limits.
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);
/// The most that may be saved up.
const SAVED: Duration = Duration::from_secs(2 * 3600);

/// The earliest time for one more game, given `share` games a day and the games begun within the
/// last day, in order. None if there is no share.
pub(super) fn earliest(share: u32, begun: &[Timestamp], now: Timestamp) -> Option<Timestamp> {
    let price = millis(DAY).checked_div(i64::from(share))?;
    let most = millis(SAVED).max(price);
    let mut saved = most;
    let mut last = begun.first().copied().unwrap_or(now);
    for &at in begun {
        saved = (saved + millis(at.since(last))).min(most) - price;
        last = last.max(at);
    }
    saved = (saved + millis(now.since(last))).min(most);
    let missing = (price - saved).max(0);
    Some(now + Duration::from_millis(missing.unsigned_abs()))
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn noon() -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }

    #[test]
    fn a_rested_bot_may_begin_two_hours_worth_at_once() {
        let mut begun = Vec::new();
        let now = noon();
        while earliest(48, &begun, now) == Some(now) {
            begun.push(now);
        }
        assert_eq!(begun.len(), 4, "two games an hour, two hours saved");
        assert_eq!(earliest(48, &begun, now), Some(now + HOUR / 2));
    }

    #[test]
    fn afterwards_games_are_a_constant_time_apart() {
        let mut begun = Vec::new();
        let mut now = noon();
        for _ in 0..60 {
            now = earliest(24, &begun, now).expect("there is a share");
            begun.push(now);
        }
        let gaps: Vec<_> = begun.windows(2).map(|two| two[1].since(two[0])).collect();
        assert!(gaps[2..].iter().all(|&gap| gap == HOUR), "{gaps:?}");
    }

    #[test]
    fn no_share_is_no_game_and_one_a_day_is_one_a_day() {
        assert_eq!(earliest(0, &[], noon()), None);
        assert_eq!(earliest(1, &[], noon()), Some(noon()));
        assert_eq!(earliest(1, &[noon()], noon()), Some(noon() + DAY));
    }
}
