//! Endgame tables as the engine asks them: the trait, its answers, and how far they are used.
//!
//! Who reads the files is not known here. A table that is missing or broken is an answer of
//! `None`, never a failure.

use std::fmt;
use std::sync::Arc;

use super::params;
use crate::rules::Position;

/// How a position ends under best play, seen from the side to move, if the fifty-move count has
/// just restarted.
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

/// How far the next capture or pawn move, or the mate, is under best play: positive where the side
/// to move wins, negative where it loses, 0 in a draw; beyond ±100 the fifty moves run out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dtz {
    /// Plies, the fifty-move count taken as restarted.
    pub plies: i32,
    /// The table keeps rounded numbers: it may be one ply more.
    pub is_rounded: bool,
}

/// How tables are, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablebaseState {
    /// Files of outcomes (WDL).
    pub outcomes: usize,
    /// Files of distances (DTZ).
    pub distances: usize,
    /// The pieces, kings included, of the largest.
    pub most_men: usize,
    /// Files that cannot be used, with those of no use because of another one.
    pub faulty: usize,
    /// Files that are bad themselves, each with the reason.
    pub faults: Vec<String>,
}

/// Endgame tables: from a position to its value, if they know it.
pub trait TablebaseProbe: fmt::Debug + Send + Sync {
    /// The pieces, kings included, of the largest table there is; 0 if there is none.
    fn most_men(&self) -> usize;
    /// The value of a position without castling rights, the fifty-move count left out of account.
    fn wdl(&self, position: &Position) -> Option<Wdl>;
    /// The distance to the next zeroing move in such a position.
    fn dtz(&self, position: &Position) -> Option<Dtz>;
    /// How they are, for people.
    fn state(&self) -> TablebaseState {
        TablebaseState {
            most_men: self.most_men(),
            ..TablebaseState::default()
        }
    }
}

/// Tables, and how far a search uses them.
#[derive(Clone, Debug)]
pub struct Tablebases {
    probe: Arc<dyn TablebaseProbe>,
    /// Least depth left at a node that the largest tables are asked about.
    depth: i32,
    /// Positions of more pieces are not asked about.
    limit: usize,
    /// Whether fifty moves without progress are a draw.
    fifty_moves: bool,
}

impl Tablebases {
    /// Use all of them, under the fifty-move rule.
    pub fn new(probe: Arc<dyn TablebaseProbe>) -> Tablebases {
        Tablebases {
            probe,
            depth: params::TABLE_PROBE_DEPTH,
            limit: usize::MAX,
            fifty_moves: true,
        }
    }

    /// Ask the largest tables only with so many plies left to search.
    #[must_use]
    pub fn with_depth(mut self, depth: u32) -> Tablebases {
        self.depth = depth.min(100) as i32;
        self
    }

    /// Ask only about positions of so many pieces, kings included; 0 asks nothing.
    #[must_use]
    pub fn with_limit(mut self, men: usize) -> Tablebases {
        self.limit = men;
        self
    }

    /// Whether fifty moves without a capture or a pawn move make a draw.
    #[must_use]
    pub fn with_fifty_moves(mut self, rule: bool) -> Tablebases {
        self.fifty_moves = rule;
        self
    }

    /// How they are, for people.
    pub fn state(&self) -> TablebaseState {
        self.probe.state()
    }

    /// The pieces of the largest positions asked about.
    pub(super) fn most_men(&self) -> usize {
        self.probe.most_men().min(self.limit)
    }

    pub(super) fn depth(&self) -> i32 {
        self.depth
    }

    pub(super) fn fifty_moves(&self) -> bool {
        self.fifty_moves
    }

    pub(super) fn wdl(&self, position: &Position) -> Option<Wdl> {
        self.probe.wdl(position)
    }

    pub(super) fn dtz(&self, position: &Position) -> Option<Dtz> {
        self.probe.dtz(position)
    }
}

/// The same tables, used the same way.
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
