//! Endgame tables as the engine probes them: the trait, its answers, and the probe limits.
//!
//! Independent of the file format. A missing or broken table answers `None` and never fails.

use std::fmt;
use std::sync::Arc;

use super::params;
use crate::rules::Position;

/// How a position ends under best play, for the side to move, if the fifty-move count has just
/// restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wdl {
    Loss = -2,
    /// Lost, but the fifty moves run out first.
    BlessedLoss = -1,
    Draw = 0,
    /// Won, but the fifty moves run out first.
    CursedWin = 1,
    Win = 2,
}

/// Plies to the next capture or pawn move, or mate, under best play: positive if the side to move
/// wins, negative if it loses, 0 in a draw; beyond ±100 the fifty moves run out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dtz {
    /// Plies, with the fifty-move count restarted.
    pub plies: i32,
    /// The table stores rounded numbers: it may be one ply more.
    pub is_rounded: bool,
}

/// The state of the tables, for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablebaseState {
    /// Files of outcomes (WDL).
    pub outcomes: usize,
    /// Files of distances (DTZ).
    pub distances: usize,
    /// Pieces of the largest table, kings included.
    pub most_pieces: usize,
    /// Unusable files, including those made useless by another one, and folders.
    pub faulty: usize,
    /// Broken files, and folders without tables, with reasons.
    pub faults: Vec<String>,
}

/// Endgame tables.
pub trait TablebaseProbe: fmt::Debug + Send + Sync {
    /// Pieces of the largest table, kings included; 0 without tables.
    fn most_pieces(&self) -> usize;
    /// The value of a position without castling rights, ignoring the fifty-move count.
    fn wdl(&self, position: &Position) -> Option<Wdl>;
    /// The distance to the next zeroing move in such a position.
    fn dtz(&self, position: &Position) -> Option<Dtz>;
    /// As `dtz`, from tables that compute distances instead of reading them: `None` once the caller
    /// gives up waiting, which is asked every few milliseconds; the computation continues for a later
    /// call.
    fn computed_dtz(&self, _position: &Position, _gives_up: &dyn Fn() -> bool) -> Option<Dtz> {
        None
    }

    /// Their state, for display.
    fn state(&self) -> TablebaseState {
        TablebaseState {
            most_pieces: self.most_pieces(),
            ..TablebaseState::default()
        }
    }
}

/// Tables, and how far a search uses them.
#[derive(Clone, Debug)]
pub struct Tablebases {
    pub(super) probe: Arc<dyn TablebaseProbe>,
    /// Minimum remaining depth at which the largest tables are probed.
    pub(super) depth: i32,
    /// Maximum pieces of a probed position.
    limit: usize,
    /// Whether fifty moves without progress are a draw.
    pub(super) fifty_moves: bool,
}

impl Tablebases {
    /// Uses all of them, under the fifty-move rule.
    pub fn new(probe: Arc<dyn TablebaseProbe>) -> Tablebases {
        Tablebases {
            probe,
            depth: params::TABLE_PROBE_DEPTH,
            limit: usize::MAX,
            fifty_moves: true,
        }
    }

    /// Probes the largest tables only with this many plies left to search.
    #[must_use]
    pub fn with_depth(mut self, depth: u32) -> Tablebases {
        self.depth = depth.min(100) as i32;
        self
    }

    /// Probes only positions with at most this many pieces, kings included; 0 probes nothing.
    #[must_use]
    pub fn with_limit(mut self, pieces: usize) -> Tablebases {
        self.limit = pieces;
        self
    }

    /// Whether fifty moves without a capture or a pawn move make a draw.
    #[must_use]
    pub fn with_fifty_moves(mut self, rule: bool) -> Tablebases {
        self.fifty_moves = rule;
        self
    }

    /// Their state, for display.
    pub fn state(&self) -> TablebaseState {
        self.probe.state()
    }

    /// Pieces of the largest probed positions.
    pub fn most_pieces(&self) -> usize {
        self.probe.most_pieces().min(self.limit)
    }
}

/// The same tables with the same settings.
impl PartialEq for Tablebases {
    fn eq(&self, other: &Tablebases) -> bool {
        Arc::ptr_eq(&self.probe, &other.probe)
            && self.depth == other.depth
            && self.limit == other.limit
            && self.fifty_moves == other.fifty_moves
    }
}

impl Eq for Tablebases {}

impl Wdl {
    /// The value for the other side.
    #[must_use]
    pub const fn reversed(self) -> Wdl {
        match self {
            Wdl::Loss => Wdl::Win,
            Wdl::BlessedLoss => Wdl::CursedWin,
            Wdl::Draw => Wdl::Draw,
            Wdl::CursedWin => Wdl::BlessedLoss,
            Wdl::Win => Wdl::Loss,
        }
    }
}
