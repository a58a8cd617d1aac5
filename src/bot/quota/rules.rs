//! Data of the quota: rules, permissions, prices and the budget in numbers.

use std::fmt;
use std::time::Duration;

use crate::store::Timestamp;

/// Limits assumed until the server states others, and how they are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotaRules {
    /// Games between bots per day.
    pub bot_games: u32,
    /// Challenge credits per day.
    pub challenge_credits: u32,
    /// Percentage of the bot games reserved for incoming challenges.
    pub incoming_share: u32,
}

impl Default for QuotaRules {
    fn default() -> Self {
        Self {
            bot_games: 100,
            challenge_credits: 200,
            incoming_share: 50,
        }
    }
}

/// Whether the quota allows a call now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    Granted,
    Later {
        /// The earliest time to ask again.
        at: Timestamp,
        denied: Denied,
    },
}

impl Permit {
    pub fn is_granted(self) -> bool {
        self == Self::Granted
    }
}

/// Why the quota denies a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denied {
    /// The server has reported its limit.
    Closed,
    /// The daily bot games are started or reserved.
    BotGames,
    /// The rest is reserved for incoming challenges.
    KeptForIncoming,
    /// Games would be spent faster than the day allows.
    Pace,
    /// The daily challenge credits are spent.
    Credits,
    CreditsAMinute,
}

impl Denied {
    /// The reason, for the operator.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "the server's limit is reached",
            Self::BotGames => "daily limit of bot games reached",
            Self::KeptForIncoming => "the remaining bot games are reserved for incoming challenges",
            Self::Pace => "outgoing games are spread over the day",
            Self::Credits => "daily challenge credits are spent",
            Self::CreditsAMinute => "this minute's challenge credits are spent",
        }
    }
}

/// The recipient of a challenge, which decides its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChallengeTarget {
    /// A bot costs 1 credit.
    Bot,
    Human,
    /// A follower of the bot: free.
    Follower,
}

impl ChallengeTarget {
    pub fn credits(self) -> u32 {
        match self {
            Self::Bot => 1,
            Self::Human => 5,
            Self::Follower => 0,
        }
    }
}

/// The state of the budget, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bot games per day, as far as known.
    pub games: u32,
    /// Of these, incoming ones started or reserved in the last 24 hours.
    pub incoming: u32,
    pub outgoing: u32,
    /// The most that may be outgoing.
    pub outgoing_share: u32,
    /// Challenge credits per day.
    pub credits: u32,
    /// Of these, spent in the last 24 hours.
    pub credits_spent: u32,
    /// No bot games before this, according to the server.
    pub closed_until: Option<Timestamp>,
    pub forecast: Forecast,
}

// Forecasts how long the budget of bot games lasts at the recent rate.

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

// When an outgoing game may start so that the daily share lasts all day.
//
// A bucket of time: it fills as time passes, every game takes an equal part of a day, and it holds
// at most two hours' worth, so that a quiet morning cannot be spent in one rush.

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

#[cfg(test)]
mod pace_tests {
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
