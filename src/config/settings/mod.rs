//! The settings, one struct a section, and the one place of their defaults.
//!
//! Plain data with public fields. Ranges are in `keys`, next to their descriptions.

mod alerts;
mod archive;
mod challenge;
mod chat;
mod endings;
mod engine;
mod guard;
mod lichess;
mod log;
mod matchmaking;
mod panel;
mod play;

pub use alerts::{AlertFormat, Alerts};
pub use archive::Archive;
pub use challenge::{Challenge, ColorWish, Limits, Visitors};
pub use chat::Chat;
pub use endings::{Draw, Resign, Takeback};
pub use engine::{Engine, Variety};
pub use guard::{Guard, ShutdownRules};
pub use lichess::{Data, Lichess};
pub use log::{Format, Level, Log};
pub use matchmaking::{Arena, Matchmaking, Prefer, Profile};
pub use panel::Panel;
pub(super) use panel::{fault_in_address, fault_in_host};
pub use play::{Clock, Correspondence, Game};

use serde::{Deserialize, Serialize};

/// All settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The server, the token and a contact.
    pub lichess: Lichess,
    /// Files of the bot.
    pub data: Data,
    /// Resources and limits of the engine.
    pub engine: Engine,
    /// Which games are accepted, and how many at a time.
    pub challenge: Challenge,
    /// Daily limits of Lichess.
    pub limits: Limits,
    /// Challenges that the bot sends.
    pub matchmaking: Matchmaking,
    /// Tournaments that the bot joins.
    pub arena: Arena,
    /// Move overhead and reserve.
    pub clock: Clock,
    /// Correspondence and unlimited games.
    pub correspondence: Correspondence,
    /// Limits on the wait for a first move.
    pub game: Game,
    /// Draws that the bot accepts and offers.
    pub draw: Draw,
    pub resign: Resign,
    /// Takebacks that the bot grants.
    pub takeback: Takeback,
    pub chat: Chat,
    /// Variation of openings.
    pub variety: Variety,
    /// Limits on losses in rated games.
    pub guard: Guard,
    pub shutdown: ShutdownRules,
    /// The operator's page.
    pub panel: Panel,
    /// Messages to a webhook.
    pub alerts: Alerts,
    /// The archive of games, challenges and events.
    pub archive: Archive,
    /// The log.
    pub log: Log,
}
