//! Hours of the day in UTC, such as `22-6` or `0-6, 20-24`.

use std::fmt;
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};

/// The format, for error messages.
const SHAPE: &str = "hours are written FROM-TO from 0 to 24 in UTC, such as \"8-22\", \"22-6\" or \
                     \"0-6, 20-24\"";

/// A set of hours of the day.
#[derive(Debug, Clone, PartialEq, Eq, SerializeDisplay, DeserializeFromStr)]
pub struct Hours {
    /// The text of the config.
    text: String,
    /// One bit per hour.
    set: u32,
}

impl Hours {
    pub fn always() -> Self {
        Self {
            text: "0-24".to_owned(),
            set: (1 << 24) - 1,
        }
    }

    /// Whether the set contains the hour that starts then; from 0 to 23.
    pub fn contains(&self, hour: u32) -> bool {
        hour < 24 && self.set & (1 << hour) != 0
    }

    /// Whether the set contains a moment, given in seconds since 1970.
    pub fn contains_second(&self, since_1970: u64) -> bool {
        self.contains((since_1970 / 3600 % 24) as u32)
    }
}

impl FromStr for Hours {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut set = 0;
        for span in text.split(',') {
            set |= bits(span).ok_or_else(|| format!("\"{text}\": {SHAPE}"))?;
        }
        Ok(Self {
            text: text.to_owned(),
            set,
        })
    }
}

/// The hours of one span, which may cross midnight.
fn bits(span: &str) -> Option<u32> {
    let (from, to) = span.split_once('-')?;
    let (from, to): (u32, u32) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
    if from > 23 || to > 24 || from == to {
        return None;
    }
    let within = |hour: &u32| {
        if from < to {
            (from..to).contains(hour)
        } else {
            *hour >= from || *hour < to
        }
    };
    Some((0..24).filter(within).fold(0, |set, hour| set | 1 << hour))
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<u32> {
        let hours: Hours = text.parse().unwrap();
        (0..30).filter(|hour| hours.contains(*hour)).collect()
    }

    #[test]
    fn a_span_ends_before_its_last_hour_and_may_pass_midnight() {
        assert_eq!(listed("8-11"), [8, 9, 10]);
        assert_eq!(listed("22-2"), [0, 1, 22, 23]);
        assert_eq!(listed(" 0-1 , 23-24 "), [0, 23]);
        assert_eq!(listed("22-0"), [22, 23]);
        assert_eq!(listed("0-24"), (0..24).collect::<Vec<_>>());
        assert_eq!("0-24".parse(), Ok(Hours::always()));
    }

    #[test]
    fn an_invalid_span_is_rejected() {
        for wrong in [
            "", "8", "8-", "-3", "5-5", "24-3", "0-25", "a-b", "1-2,", "1-2-3",
        ] {
            let said = wrong.parse::<Hours>().unwrap_err();
            assert!(said.contains("FROM-TO"), "{wrong}: {said}");
        }
    }

    #[test]
    fn times_are_in_utc() {
        let hours: Hours = "1-2".parse().unwrap();
        assert!(hours.contains_second(86_400 * 20_000 + 3600));
        assert!(!hours.contains_second(86_400 * 20_000 + 7200));
    }
}
