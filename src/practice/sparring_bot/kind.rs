//! The kinds of sparring bots.

use std::fmt;
use std::str::FromStr;

use crate::engine::{LEVELS, Level};
use crate::practice::rating::Rating;

/// How a sparring partner plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partner {
    Random,
    /// Explodes the king if it can, else captures the most valuable piece.
    Greedy,
    /// The engine, with this many nodes per move.
    Engine {
        /// Nodes for each move.
        nodes: u64,
    },
    /// The engine on a level for people.
    Level(Level),
}

impl Partner {
    /// The partners that are no level.
    const OTHERS: [Self; 3] = [Self::Random, Self::Greedy, Self::Engine { nodes: 5_000 }];

    /// Every partner that a word names.
    pub(in crate::practice) fn all() -> impl Iterator<Item = Self> {
        let levels = LEVELS.into_iter().map(Self::Level);
        Self::OTHERS.into_iter().chain(levels)
    }

    /// The name of the account it plays under.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "RandomPartner",
            Self::Greedy => "GreedyPartner",
            Self::Engine { .. } => "EnginePartner",
            Self::Level(level) => level.title,
        }
    }

    /// The initial rating of its account.
    pub fn rating(self) -> Rating {
        Rating::settled(match self {
            Self::Random => 800,
            Self::Greedy => 1300,
            Self::Engine { .. } => 2000,
            Self::Level(level) => level.rating,
        })
    }
}

impl fmt::Display for Partner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Random => "random",
            Self::Greedy => "greedy",
            Self::Engine { .. } => "engine",
            Self::Level(level) => level.name,
        })
    }
}

impl FromStr for Partner {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let named = Self::all().find(|partner| partner.to_string() == word);
        named.ok_or_else(|| {
            let levels = LEVELS.map(|level| level.name).join(", ");
            format!("use random, greedy, engine or a level: {levels}")
        })
    }
}
