//! The status of a running bot: plain data, for `megaton status` and other readers.
//!
//! Fields are only ever added; readers ignore unknown ones. It holds no secret.

use serde::{Deserialize, Serialize};

use super::player_lists::ListState;
use crate::engine::Pool;

/// Faults of endgame tables that are told in words.
const MOST_FAULTS: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub version: String,
    /// The account; none while the server has not been reached.
    pub account: Option<String>,
    /// What it is about.
    pub state: BotPhase,
    /// Seconds since it began.
    pub uptime: u64,
    /// The account's event stream.
    pub stream: EventStreamStatus,
    pub seats: SlotStatus,
    /// The games that run.
    pub games: Vec<GameStatus>,
    /// Games of days a move, which take no slot.
    #[serde(rename = "parked")]
    pub correspondence: usize,
    /// Challenges that wait for a slot.
    pub waiting: usize,
    /// What may still be spent today.
    #[serde(rename = "ledger")]
    pub quota: Option<QuotaStatus>,
    /// Games that it looks for itself.
    pub matchmaking: MatchmakingStatus,
    /// Arenas that it is in or means to join, in words.
    pub arenas: Vec<String>,
    /// What is held back on the clock for the way to the server, as learned, in milliseconds.
    pub overhead: Option<u64>,
    /// What an operator should look at.
    pub alarms: Vec<AlertStatus>,
    /// Accounts blocked by command.
    pub blocked: Vec<String>,
    /// Our rating in atomic, as far as it is known.
    pub rating: Option<i32>,
    /// Seconds since a challenge was last accepted.
    pub accepted_ago: Option<u64>,
    /// What it plays with and goes by.
    pub sources: Option<SourcesStatus>,
}

/// What a bot is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BotPhase {
    /// It is not connected to the server yet.
    #[default]
    Connecting,
    /// It takes challenges and plays.
    Playing,
    /// It takes nothing new until told otherwise.
    Paused,
    /// It takes nothing new because of an alarm.
    Alarmed,
    /// It finishes its games and ends.
    Draining,
}

impl BotPhase {
    /// The state in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Connecting => "is not connected to the server yet",
            Self::Playing => "takes challenges",
            Self::Paused => "is paused: accepts no new games",
            Self::Alarmed => "accepts no new games: see the alerts",
            Self::Draining => "is shutting down: finishing its games",
        }
    }
}

/// The account's event stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventStreamStatus {
    /// Whether it is open.
    pub open: bool,
    /// Milliseconds since anything came over it, blank lines included.
    pub heard_ago: Option<u64>,
    /// How often it has been lost.
    pub lost: u64,
    /// How often it was opened, or tried to be, in the last ten minutes.
    pub openings: usize,
}

/// The stream of one game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameStreamStatus {
    /// Whether it is open.
    pub open: bool,
    /// Milliseconds since it opened; since it was lost, or first wanted, if it is not open.
    pub since: u64,
    /// Milliseconds since anything came over it, blank lines included.
    pub heard_ago: Option<u64>,
    /// How often it has been opened again.
    pub reopened: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotStatus {
    pub all: usize,
    /// Taken by games, by challenges accepted and by one of ours.
    pub taken: usize,
    /// Of all, those that only humans get.
    pub for_humans: usize,
}

/// A game that runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameStatus {
    pub id: String,
    pub opponent: String,
    /// Our colour, `white` or `black`.
    pub us: Option<String>,
    pub ply: usize,
    /// Our clock in milliseconds, as last stated.
    pub our_clock: Option<u64>,
    pub their_clock: Option<u64>,
    /// The engine's last score for us, such as `cp 35` or `mate -2`.
    pub score: Option<String>,
    /// Milliseconds since a move was last seen.
    pub moved_ago: u64,
    pub stream: GameStreamStatus,
}

/// What may still be spent in the rolling day.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuotaStatus {
    /// Games against bots in the last 24 hours.
    pub bot_games: u32,
    pub bot_games_limit: u32,
    /// Challenge credits spent in the last 24 hours.
    pub credits: u32,
    pub credits_limit: u32,
    /// How long it lasts, in words.
    pub forecast: String,
}

/// Games that it looks for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatchmakingStatus {
    pub enabled: bool,
    /// What it is doing, in words.
    pub doing: String,
    /// The challenge of ours that is open.
    pub challenge: Option<String>,
}

/// An alarm that is on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlertStatus {
    /// Its kind, one word.
    pub kind: String,
    /// What is wrong, and what to do.
    pub text: String,
    /// Seconds since it was raised.
    pub since: u64,
}

/// What it plays with and goes by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourcesStatus {
    /// What judges positions: the net's id, or `classical`.
    pub net: String,
    /// Endgame tables; none if there are none.
    pub tables: Option<TableFiles>,
    /// Lists of names: those in the config itself, and each file and address.
    pub lists: Vec<NameList>,
}

impl SourcesStatus {
    /// What searches of this pool use, and how the lists are.
    pub(super) fn of(pool: &Pool, lists: &[ListState]) -> Self {
        let tables = pool.tables().map(|tables| {
            let state = tables.state();
            TableFiles {
                outcomes: state.outcomes,
                distances: state.distances,
                most_men: state.most_men,
                faulty: state.faulty,
                faults: state.faults.into_iter().take(MOST_FAULTS).collect(),
            }
        });
        Self {
            net: pool.evaluator().id(),
            tables,
            lists: lists.iter().map(NameList::of).collect(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableFiles {
    /// Files of outcomes (WDL).
    pub outcomes: usize,
    /// Files of distances (DTZ).
    pub distances: usize,
    /// The pieces, kings included, of the largest.
    pub most_men: usize,
    /// Files that cannot be used, with those of no use because of another one.
    pub faulty: usize,
    /// Some that are bad themselves, with the reasons.
    pub faults: Vec<String>,
}

/// Names of one list from one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameList {
    /// Which list: `block`, `allow`, `welcome` or `avoid`.
    pub list: String,
    /// The file or address; none for the names in the config itself.
    pub source: Option<String>,
    /// How many names are known.
    pub names: usize,
    /// Seconds since it was last read; none if it has not been since the start.
    pub read_ago: Option<u64>,
    /// Why it cannot be read at present.
    pub error: Option<String>,
}

impl NameList {
    fn of(state: &ListState) -> Self {
        Self {
            list: state.list.to_owned(),
            source: state.source.clone(),
            names: state.names,
            read_ago: state.read.map(|at| at.elapsed().as_secs()),
            error: state.error.clone(),
        }
    }
}
