//! Time controls as an operator writes them, and which of them Lichess offers and rates.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_with::{DeserializeFromStr, SerializeDisplay};

use crate::lichess::{Speed, estimate, speed_of};

/// Speeds that a rule may name.
const NAMED: [Speed; 4] = [Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical];
/// Initial times below two minutes that the server offers, in seconds.
const SHORT_BASES: [u64; 6] = [0, 15, 30, 45, 60, 90];
/// The longest initial time.
const MAX_BASE: u64 = 10_800;

/// A rule for time controls: a whole speed, or one exact control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub enum TimeRule {
    /// Every control of a speed.
    Speed(Speed),
    Exact {
        /// Initial time.
        base: Duration,
        /// Time added per move.
        increment: Duration,
    },
}

impl TimeRule {
    /// Whether the rule covers a control.
    pub fn fits(&self, base: Duration, increment: Duration) -> bool {
        match *self {
            Self::Speed(speed) => speed_of(base, increment) == speed,
            Self::Exact {
                base: exact_base,
                increment: exact_increment,
            } => (exact_base, exact_increment) == (base, increment),
        }
    }
}

/// The days per move that Lichess offers.
pub const DAYS: [u32; 7] = [1, 2, 3, 5, 7, 10, 14];

/// Whether the server offers this clock at all, with increments up to `most`.
pub fn is_offered(base: Duration, increment: Duration, most: Duration) -> bool {
    let seconds = base.as_secs();
    let whole = base.subsec_nanos() == 0 && increment.subsec_nanos() == 0;
    let base_fits =
        SHORT_BASES.contains(&seconds) || (seconds.is_multiple_of(60) && seconds <= MAX_BASE);
    whole && base_fits && increment <= most && !(base + increment).is_zero()
}

/// Whether atomic with this clock may be rated.
pub fn may_be_rated(base: Duration, increment: Duration) -> bool {
    let long_enough = estimate(base, increment) >= Duration::from_secs(30);
    (long_enough && !base.is_zero()) || increment > Duration::from_secs(1)
}

impl FromStr for TimeRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" is not a time control: write a speed (\"bullet\", \"blitz\", \"rapid\", \
                 \"classical\") or minutes+seconds such as \"3+2\" or \"0.5+1\""
            )
        };
        let speed = Speed::from_word(text.trim());
        if NAMED.contains(&speed) {
            return Ok(Self::Speed(speed));
        }
        let (minutes, seconds) = text.split_once('+').ok_or_else(wrong)?;
        let minutes = in_minutes(minutes.trim()).ok_or_else(wrong)?;
        let seconds: u64 = seconds.trim().parse().map_err(|_| wrong())?;
        let base = (minutes * 60.0).round();
        if !(0.0..=MAX_BASE as f64).contains(&base) || (base - minutes * 60.0).abs() > 1e-6 {
            return Err(wrong());
        }
        let base = Duration::from_secs(base as u64);
        let increment = Duration::from_secs(seconds);
        if !is_offered(base, increment, Duration::from_secs(180)) {
            return Err(format!("Lichess does not offer \"{text}\""));
        }
        Ok(Self::Exact { base, increment })
    }
}

/// Minutes as a decimal, or as Lichess writes those below one.
fn in_minutes(text: &str) -> Option<f64> {
    match text {
        "1/4" | "¼" => Some(0.25),
        "1/2" | "½" => Some(0.5),
        "3/4" | "¾" => Some(0.75),
        _ => text.parse().ok(),
    }
}

impl fmt::Display for TimeRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speed(speed) => f.write_str(speed.as_str()),
            Self::Exact { base, increment } => {
                let (minutes, rest) = (base.as_secs() / 60, base.as_secs() % 60);
                match rest {
                    0 => write!(f, "{minutes}+{}", increment.as_secs()),
                    _ => write!(f, "{}+{}", base.as_secs_f64() / 60.0, increment.as_secs()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_rule_is_a_speed_or_one_control() {
        let blitz: TimeRule = "blitz".parse().unwrap();
        assert!(blitz.fits(s(180), s(0)) && blitz.fits(s(300), s(3)));
        assert!(!blitz.fits(s(179), s(0)) && !blitz.fits(s(480), s(0)));
        let exact: TimeRule = "3+2".parse().unwrap();
        assert!(exact.fits(s(180), s(2)) && !exact.fits(s(180), s(3)));
        for text in ["0.5+0", "1.5+1", "0+2", "180+180", "0.25+1", "classical"] {
            assert_eq!(text.parse::<TimeRule>().unwrap().to_string(), text);
        }
        for (text, plain) in [("1/2+0", "0.5+0"), ("½+1", "0.5+1"), ("3/4+0", "0.75+0")] {
            assert_eq!(text.parse::<TimeRule>().unwrap().to_string(), plain);
        }
    }

    #[test]
    fn time_controls_that_lichess_does_not_offer_are_rejected() {
        for wrong in [
            "ultraBullet",
            "correspondence",
            "quick",
            "3",
            "3+",
            "+2",
            "0+0",
            "2.5+0",
            "181+0",
            "3+181",
            "-1+5",
            "nan+1",
            "inf+1",
            "1e9+1",
            "0.333+1",
        ] {
            assert!(wrong.parse::<TimeRule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn speeds_and_rated_play_follow_the_estimate() {
        assert_eq!(speed_of(s(29), s(0)), Speed::UltraBullet);
        assert_eq!(speed_of(s(0), s(1)), Speed::Bullet);
        assert_eq!(speed_of(s(180), s(0)), Speed::Blitz);
        assert_eq!(speed_of(s(300), s(5)), Speed::Rapid);
        assert_eq!(speed_of(s(1500), s(0)), Speed::Classical);
        assert_eq!(speed_of(s(10_800), s(270)), Speed::Correspondence);
        assert!(may_be_rated(s(30), s(0)) && may_be_rated(s(0), s(2)));
        assert!(!may_be_rated(s(0), s(1)) && !may_be_rated(s(15), s(0)));
    }
}
