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

/// Everything an operator may set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where Lichess is and who is asking.
    pub lichess: Lichess,
    /// What is kept on disk.
    pub data: Data,
    /// What the engine may use.
    pub engine: Engine,
    /// Which games are accepted, and how many at a time.
    pub challenge: Challenge,
    /// What Lichess allows a day.
    pub limits: Limits,
    /// Games that the bot looks for itself.
    pub matchmaking: Matchmaking,
    /// Tournaments that it joins.
    pub arena: Arena,
    /// What is held back for the way to the server.
    pub clock: Clock,
    /// Games of days a move, or of none.
    pub correspondence: Correspondence,
    /// How long is waited for a first move.
    pub game: Game,
    /// Draws that it takes and offers.
    pub draw: Draw,
    pub resign: Resign,
    /// What it takes back.
    pub takeback: Takeback,
    pub chat: Chat,
    /// How it leaves beaten tracks.
    pub variety: Variety,
    /// When it stops rated play.
    pub guard: Guard,
    pub shutdown: ShutdownRules,
    /// Where its page is.
    pub panel: Panel,
    /// Whom it tells when something is wrong.
    pub alerts: Alerts,
    /// Games, challenges and events for good.
    pub archive: Archive,
    /// What is written down while it runs.
    pub log: Log,
}
