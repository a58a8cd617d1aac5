//! Injections and the phases of a game that trigger them.

use std::time::Duration;

use serde::Deserialize;
use strum::IntoStaticStr;

use super::{Endpoint, Fault, StreamFault};

/// A phase of a game, from the client's side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case", const_into_str)]
pub enum GamePhase {
    /// Before both sides have moved.
    Begin,
    /// A line is about to announce the client's turn.
    OurTurn,
    /// The client learned of its turn a moment ago.
    Thinking,
    /// The client's move has arrived and is not checked yet.
    Posting,
    /// A line is about to show the client's move.
    TheirTurn,
    /// A line is about to announce the end of the game.
    Ending,
}

impl GamePhase {
    /// All of them, in the order of a game.
    pub const ALL: [Self; 6] = [
        Self::Begin,
        Self::OurTurn,
        Self::Thinking,
        Self::Posting,
        Self::TheirTurn,
        Self::Ending,
    ];

    /// Its name in scripts and summaries.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Channel {
    /// That of the game.
    #[default]
    Game,
    /// That of the account.
    Events,
}

/// A fault of the whole server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// Every socket drops, and no one is admitted for a while; then all clocks get extra time.
    Restart {
        /// How long no one is admitted.
        down: Duration,
        /// The extra time per player.
        bonus: Duration,
    },
    /// The tokens of the game's players are unknown for a while.
    Revoke { span: Duration },
    /// Accounts challenge the client, all at once, to games it does not play.
    Storm { challenges: usize },
    /// Accounts challenge the client, all at once, to games it does play, and never move.
    NoShows { challenges: usize },
    /// The opponent and spectators write chat without a pause.
    ChatFlood { lines: usize },
    /// The opponent gives the client time.
    GiveTime {
        /// Seconds of the chess clock.
        seconds: u32,
    },
    /// Both clocks jump up without a move.
    ClockJump { by: Duration },
    /// The event stream repeats announcements.
    Announce(Announcement),
    /// This many games begin at once, without a challenge to the client.
    Burst { games: usize },
    /// A challenge cancelled before the client can accept it becomes a game anyway.
    Ghost,
}

/// An announcement that must start nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// The running game again.
    Again,
    /// A game that is over.
    Finished,
    /// A game of other accounts.
    Foreign,
    /// A game that is not open to the Bot API.
    NotForBots,
}

/// How an opponent behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, IntoStaticStr)]
#[strum(const_into_str)]
pub enum OpponentBehavior {
    #[default]
    #[strum(serialize = "a plain opponent")]
    Plain,
    /// Leaves in the middle of the game and never returns.
    #[strum(serialize = "an opponent who leaves")]
    Leaves,
    /// Leaves for longer than the client has to wait, and continues unannounced.
    #[strum(serialize = "an opponent who leaves and returns")]
    Returns,
    /// Never makes its first move.
    #[strum(serialize = "an opponent who never moves")]
    NeverMoves,
    /// Offers a draw before every move.
    #[strum(serialize = "an opponent who offers draws")]
    OffersDraws,
    /// Asks for a takeback after every move.
    #[strum(serialize = "an opponent who asks for takebacks")]
    AsksTakebacks,
    /// Gives the client time after every move.
    #[strum(serialize = "an opponent who gives time")]
    GivesTime,
    /// Writes chat before and after every move.
    #[strum(serialize = "an opponent who talks")]
    Talks,
}

impl OpponentBehavior {
    /// Its name in summaries.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Injection {
    /// On the next request at this endpoint; of this game, if the endpoint belongs to a game.
    Call(Endpoint, Fault),
    /// On an open stream.
    Stream(Channel, StreamFault),
    World(ServerFault),
}

impl Injection {
    /// Its name in summaries.
    pub fn name(&self) -> String {
        match self {
            Self::Call(endpoint, fault) => format!("{}: {}", endpoint.name(), fault.name()),
            Self::Stream(Channel::Game, stream_fault) => format!("game: {}", stream_fault.name()),
            Self::Stream(Channel::Events, stream_fault) => {
                format!("events: {}", stream_fault.name())
            }
            Self::World(server_fault) => server_fault.name().to_owned(),
        }
    }
}

impl ServerFault {
    fn name(&self) -> &'static str {
        match self {
            Self::Restart { .. } => "server restart",
            Self::Revoke { .. } => "token revoked for a while",
            Self::Storm { .. } => "storm of challenges",
            Self::NoShows { .. } => "storm of no-shows",
            Self::ChatFlood { .. } => "flood of chat",
            Self::GiveTime { .. } => "time given",
            Self::ClockJump { .. } => "clocks jump",
            Self::Announce(Announcement::Again) => "gameStart again",
            Self::Announce(Announcement::Finished) => "gameStart of a finished game",
            Self::Announce(Announcement::Foreign) => "gameStart of a foreign game",
            Self::Announce(Announcement::NotForBots) => "gameStart of a game not for bots",
            Self::Burst { .. } => "burst of games",
            Self::Ghost => "ghost game",
        }
    }
}

/// Injects a fault at a phase of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trigger {
    pub injection: Injection,
    pub phase: GamePhase,
    /// Minimum number of half-moves.
    pub ply: usize,
    /// How many times, each time the phase is reached.
    pub times: u32,
}

impl Trigger {
    /// Once, the first time this phase is reached.
    pub fn at(phase: GamePhase, injection: Injection) -> Self {
        Self {
            injection,
            phase,
            ply: 0,
            times: 1,
        }
    }

    /// The same, from this half-move on.
    #[must_use]
    pub fn from_ply(mut self, ply: usize) -> Self {
        self.ply = ply;
        self
    }

    /// The same, this many times.
    #[must_use]
    pub fn times(mut self, times: u32) -> Self {
        self.times = times;
        self
    }
}

/// From the announcement of a turn until the client is certainly searching.
pub(in crate::practice) const MID_SEARCH_DELAY: Duration = Duration::from_millis(4);
/// An injection with its delay.
#[derive(Debug)]
pub(in crate::practice) struct ScheduledInjection {
    pub(in crate::practice) game: String,
    pub(in crate::practice) injection: Injection,
    pub(in crate::practice) after: Duration,
}
