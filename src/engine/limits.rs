//! The limits of a search: time, depth, nodes, moves.
//!
//! Plain data; `time` turns it into deadlines. Without limits a search runs until stopped or until
//! the maximum depth.

use std::time::{Duration, Instant};

use crate::rules::Move;

/// The limits of one search; the first one reached ends it. `Default` sets none.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Finish this many iterations.
    pub depth: Option<u32>,
    /// Visit about this many positions; with several lines at least those of the first iteration, so that all
    /// lines are ranked.
    pub nodes: Option<u64>,
    /// Start no further iteration after this many positions.
    pub soft_nodes: Option<u64>,
    /// Think exactly this long.
    pub movetime: Option<Duration>,
    /// Play on this clock: the engine allots the time.
    pub clock: Option<Clock>,
    /// Count this many nodes as a millisecond of `movetime` and `clock`, in place of the real time: a search by a
    /// single thread then gives the same answer every time.
    pub nodes_per_ms: Option<u64>,
    /// Answer by this time, whatever the other limits.
    pub hard_deadline: Option<Instant>,
    /// Search these moves only; empty means all.
    pub searchmoves: Vec<Move>,
    /// Report this many lines; 0 means 1.
    pub multipv: usize,
    /// Stop once a win in this many moves is proved.
    pub mate: Option<u32>,
    /// Give no answer before being stopped.
    pub infinite: bool,
    /// Search on the opponent's time: no clock runs and no answer is given before
    /// [`Search::ponderhit`](super::Search::ponderhit) or a stop.
    pub ponder: bool,
    /// By how many centipawns a draw is worth less than nothing to the side to move at the root, -100 to
    /// 100: above 0 against a weaker opponent, below it against a stronger one.
    pub contempt: i32,
    /// Use only what other searches leave: served after them, and waiting for a core does not count
    /// as thinking time. The deadline still holds.
    pub background: bool,
}

/// The clock of the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    pub time: Duration,
    /// Added after every move.
    pub increment: Duration,
    /// Moves until the next time control; none and 0 mean that there is none.
    pub moves_to_go: Option<u32>,
    /// Time lost between the answer and the server's clock.
    pub overhead: Duration,
}

impl Limits {
    pub fn depth(depth: u32) -> Limits {
        Limits {
            depth: Some(depth),
            ..Limits::default()
        }
    }

    /// Visit about `nodes` positions.
    pub fn nodes(nodes: u64) -> Limits {
        Limits {
            nodes: Some(nodes),
            ..Limits::default()
        }
    }

    pub fn movetime(time: Duration) -> Limits {
        Limits {
            movetime: Some(time),
            ..Limits::default()
        }
    }

    /// Play on a clock.
    pub fn clock(clock: Clock) -> Limits {
        Limits {
            clock: Some(clock),
            ..Limits::default()
        }
    }
}
