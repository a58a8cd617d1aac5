//! Draws, resignations and takebacks: what the bot agrees to, and what it asks for.

use serde::{Deserialize, Serialize};

/// `[draw]`: draws that it takes and offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of its own that a person sets"
)]
pub struct Draw {
    /// Agree to draws that humans offer.
    pub accept_humans: bool,
    /// Agree to draws that bots offer.
    pub accept_bots: bool,
    /// Offer draws to humans.
    pub offer_humans: bool,
    /// Offer draws to bots.
    pub offer_bots: bool,
    /// A position is level when its score is at most this far from zero, in centipawns.
    pub score: u32,
    /// Own moves in a row with a level score.
    pub moves: u32,
    /// No draw before this many plies.
    pub ply: u32,
    pub offers: u32,
}

/// `[resign]`: when it resigns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resign {
    /// Resign lost games at all.
    pub enabled: bool,
    /// A position is lost when its score is this far below zero, in centipawns.
    pub score: u32,
    /// Own moves in a row with a lost score.
    pub moves: u32,
    /// Depth to which each of them must have been searched, in plies.
    pub depth: u32,
}

/// `[takeback]`: what it takes back in a casual game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Takeback {
    /// Takebacks granted to a human a game.
    pub humans: u32,
    /// Takebacks granted to a bot a game.
    pub bots: u32,
}

impl Default for Draw {
    fn default() -> Self {
        Self {
            accept_humans: true,
            accept_bots: true,
            offer_humans: false,
            offer_bots: false,
            score: 15,
            moves: 4,
            ply: 60,
            offers: 2,
        }
    }
}

impl Default for Resign {
    fn default() -> Self {
        Self {
            enabled: false,
            score: 1500,
            moves: 4,
            depth: 10,
        }
    }
}

impl Default for Takeback {
    fn default() -> Self {
        Self { humans: 1, bots: 0 }
    }
}

impl Draw {
    /// Whether a bot's, or a human's, offer may be taken.
    pub fn accepts(&self, from_bot: bool) -> bool {
        if from_bot {
            self.accept_bots
        } else {
            self.accept_humans
        }
    }
}
