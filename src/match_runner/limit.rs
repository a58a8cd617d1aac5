//! The limit of a player for a move: nodes, a depth, a time or a clock.
//!
//! Plain data. Nodes, depth and a clock that counts nodes do not depend on the machine, so a game between two
//! players that keep to them is reproducible.

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
        /// So many nodes count as a millisecond of it, in place of the real time; only the built-in engine
        /// knows such a clock.
        nodes_per_ms: Option<u64>,
    },
}

impl MoveLimit {
    /// Whether the limit is independent of time.
    pub const fn is_fixed(&self) -> bool {
        match self {
            Self::Nodes { .. } | Self::Depth(_) => true,
            Self::Movetime(_) => false,
            Self::Clock { nodes_per_ms, .. } => nodes_per_ms.is_some(),
        }
    }

    /// Whether only the built-in engine can keep to it.
    pub(super) const fn needs_built_in_players(&self) -> bool {
        matches!(
            self,
            Self::Nodes { soft: Some(_), .. }
                | Self::Clock {
                    nodes_per_ms: Some(_),
                    ..
                }
        )
    }

    /// The time that a search of so many nodes takes on a clock that counts nodes.
    pub(super) fn time_of_nodes(&self, nodes: u64) -> Option<Duration> {
        match self {
            Self::Clock { nodes_per_ms, .. } => {
                nodes_per_ms.map(|rate| Duration::from_micros(nodes * 1000 / rate))
            }
            _ => None,
        }
    }

    /// Reads a clock: seconds, seconds and increment as in `2+0.02`, or these with the nodes that count as a
    /// millisecond, as in `10+0.1@20`.
    pub fn parse_clock(text: &str) -> Result<Self, String> {
        let (time, rate) = match text.split_once('@') {
            Some((time, rate)) => (time, Some(rate.parse().ok())),
            None => (text, None),
        };
        let (base, increment) = time.split_once('+').unwrap_or((time, "0"));
        match (seconds(base), seconds(increment), rate) {
            (Some(base), Some(increment), None | Some(Some(1..=1_000_000))) if !base.is_zero() => {
                Ok(Self::Clock {
                    base,
                    increment,
                    nodes_per_ms: rate.flatten(),
                })
            }
            _ => Err(format!(
                "{text:?} is not a time control; write seconds+increment, such as 2+0.02 or 10+0.1, or \
                 10+0.1@20 for a clock that counts 20 nodes as a millisecond"
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
            Self::Clock {
                base,
                increment,
                nodes_per_ms,
            } => {
                write!(f, "{}+{}", base.as_secs_f64(), increment.as_secs_f64())?;
                nodes_per_ms.map_or(Ok(()), |rate| write!(f, "@{rate}"))
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
            nodes_per_ms: None,
        };
        assert_eq!(MoveLimit::parse_clock("2+0.02"), Ok(clock(2000, 20)));
        assert_eq!(MoveLimit::parse_clock("10+0.1"), Ok(clock(10_000, 100)));
        assert_eq!(MoveLimit::parse_clock("1"), Ok(clock(1000, 0)));
        assert_eq!(clock(2000, 20).to_string(), "2+0.02");
        let bad = ["", "0+1", "-1+0", "2+", "a", "2+x", "nan", "1e99", "3:00"];
        for bad in bad.into_iter().chain(["2+1@", "2+1@0", "2+1@x", "2@-1"]) {
            assert!(MoveLimit::parse_clock(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_clock_that_counts_nodes_is_the_same_everywhere() {
        let clock = MoveLimit::parse_clock("10+0.1@20").unwrap();
        assert_eq!(clock.to_string(), "10+0.1@20");
        assert!(clock.is_fixed() && clock.needs_built_in_players());
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
