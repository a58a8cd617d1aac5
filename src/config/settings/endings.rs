//! Draws, resignations and takebacks that the bot grants and offers.

use serde::{Deserialize, Serialize};

/// `[draw]`: draws that the bot accepts and offers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate config key"
)]
pub struct Draw {
    /// Accept draws that humans offer.
    pub accept_humans: bool,
    /// Accept draws that bots offer.
    pub accept_bots: bool,
    /// Offer draws to humans.
    pub offer_humans: bool,
    /// Offer draws to bots.
    pub offer_bots: bool,
    /// A position is level when its score is at most this far from zero, in centipawns.
    pub score: u32,
    /// Consecutive own moves with a level score.
    pub moves: u32,
    /// No draw before this many plies.
    pub ply: u32,
    pub offers: u32,
}

/// `[resign]`: when the bot resigns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Resign {
    /// Resign lost games at all.
    pub enabled: bool,
    /// A position is lost when its score is this far below zero, in centipawns.
    pub score: u32,
    /// Consecutive own moves with a lost score.
    pub moves: u32,
    /// Depth to which each of them must have been searched, in plies.
    pub depth: u32,
}

/// `[takeback]`: takebacks in casual games.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Takeback {
    /// Takebacks per game granted to a human.
    pub humans: u32,
    /// Takebacks per game granted to a bot.
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
    /// Whether the bot may accept a draw offer of a bot, or of a human.
    pub fn accepts(&self, from_bot: bool) -> bool {
        if from_bot {
            self.accept_bots
        } else {
            self.accept_humans
        }
    }
}
