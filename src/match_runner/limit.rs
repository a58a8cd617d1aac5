//! The limit of a player for a move: nodes, a depth, a time or a clock.
//!
//! Plain data. Nodes and depth do not depend on the machine, so a game between two players that keep to them
//! is reproducible.

use std::fmt;
use std::time::Duration;

/// The limit for a move, the same for both players.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveLimit {
    Nodes {
        /// Start no further iteration beyond this; only the built-in engine knows such a limit.
        soft: Option<u64>,
        /// Stop here in any case.
        hard: u64,
    },
    Depth(u32),
    /// The same time for each move.
    Movetime(Duration),
    /// A clock for the whole game.
    Clock {
        base: Duration,
        /// The increment per move.
        increment: Duration,
    },
}

impl MoveLimit {
    /// Whether the limit is independent of time.
    pub const fn is_fixed(&self) -> bool {
        matches!(self, Self::Nodes { .. } | Self::Depth(_))
    }

    /// Reads a clock: seconds, or seconds and increment as in `2+0.02`.
    pub fn parse_clock(text: &str) -> Result<Self, String> {
        let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
        match (seconds(base), seconds(increment)) {
            (Some(base), Some(increment)) if !base.is_zero() => Ok(Self::Clock { base, increment }),
            _ => Err(format!(
                "{text:?} is not a time control; write seconds+increment, such as 2+0.02 or 10+0.1"
            )),
        }
    }

    /// Reads the time for a move, in seconds.
    pub fn parse_movetime(text: &str) -> Result<Self, String> {
        seconds(text)
            .filter(|time| !time.is_zero())
            .map(Self::Movetime)
            .ok_or_else(|| format!("{text:?} is not a time; write seconds, such as 0.1"))
    }
}

fn seconds(text: &str) -> Option<Duration> {
    let seconds: f64 = text.trim().parse().ok()?;
    (seconds <= 86_400.0)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

impl fmt::Display for MoveLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes { soft: None, hard } => write!(f, "{hard} nodes"),
            Self::Nodes {
                soft: Some(soft),
                hard,
            } => write!(f, "{soft} to {hard} nodes"),
            Self::Depth(plies) => write!(f, "depth {plies}"),
            Self::Movetime(time) => write!(f, "{} s a move", time.as_secs_f64()),
            Self::Clock { base, increment } => {
                write!(f, "{}+{}", base.as_secs_f64(), increment.as_secs_f64())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_in_the_usual_notation() {
        let clock = |base, increment| MoveLimit::Clock {
            base: Duration::from_millis(base),
            increment: Duration::from_millis(increment),
        };
        assert_eq!(MoveLimit::parse_clock("2+0.02"), Ok(clock(2000, 20)));
        assert_eq!(MoveLimit::parse_clock("10+0.1"), Ok(clock(10_000, 100)));
        assert_eq!(MoveLimit::parse_clock("1"), Ok(clock(1000, 0)));
        assert_eq!(clock(2000, 20).to_string(), "2+0.02");
        for bad in ["", "0+1", "-1+0", "2+", "a", "2+x", "nan", "1e99", "3:00"] {
            assert!(MoveLimit::parse_clock(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_nodes_and_depth_are_the_same_everywhere() {
        let nodes = MoveLimit::Nodes {
            soft: None,
            hard: 9,
        };
        assert!(nodes.is_fixed() && MoveLimit::Depth(3).is_fixed());
        assert!(!MoveLimit::parse_movetime("0.1").unwrap().is_fixed());
        assert!(!MoveLimit::parse_clock("1+0").unwrap().is_fixed());
        assert!(MoveLimit::parse_movetime("0").is_err());
    }
}
