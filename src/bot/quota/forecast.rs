//! Forecasts how long the budget of bot games lasts at the recent rate.

use std::fmt;
use std::time::Duration;

use super::pace::DAY;
use crate::store::Timestamp;

/// The window of the recent rate.
const LATELY: Duration = Duration::from_secs(3 * 3600);
const STEP: Duration = Duration::from_secs(300);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forecast {
    /// Games will remain for a whole day.
    AllDay,
    /// The last game will start about then.
    Until(Timestamp),
    /// No game is left until then.
    SpentUntil(Timestamp),
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AllDay => f.write_str("budget lasts all day"),
            Self::Until(moment) => write!(f, "budget lasts until {moment} UTC"),
            Self::SpentUntil(moment) => write!(f, "budget spent until {moment} UTC"),
        }
    }
}

/// The forecast for a limit, given the games of the last day in order.
pub(super) fn forecast(most: u32, begun: &[Timestamp], now: Timestamp) -> Forecast {
    let lately = begun.iter().filter(|&&at| at + LATELY > now).count() as u64;
    let mut at = now;
    while at < now + DAY {
        let past = at.since(now);
        let to_come = lately * past.as_secs() / LATELY.as_secs();
        let counted = begun.iter().filter(|&&begun| begun + DAY > at).count() as u64;
        if counted + to_come >= u64::from(most) {
            return Forecast::Until(at);
        }
        at = at + STEP;
    }
    Forecast::AllDay
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn ten_games_an_hour_spend_a_hundred_in_ten_hours() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let begun: Vec<_> = (0..30).rev().map(|n| now.before(MINUTE * 6 * n)).collect();
        let Forecast::Until(end) = forecast(100, &begun, now) else {
            panic!("it cannot last");
        };
        let left = end.since(now);
        assert!(left >= MINUTE * 415 && left <= MINUTE * 425, "{left:?}");
        assert_eq!(
            Forecast::Until(end).to_string(),
            format!("budget lasts until {end} UTC")
        );
    }

    #[test]
    fn a_quiet_bot_has_enough() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        assert_eq!(forecast(100, &[], now), Forecast::AllDay);
        let two = [now.before(MINUTE * 50), now];
        assert_eq!(forecast(100, &two, now), Forecast::AllDay);
    }
}
