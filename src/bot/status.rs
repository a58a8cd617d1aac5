//! The status of a running bot: plain data for `megaton status` and other readers.
//!
//! Only ever add fields; a reader ignores those it does not know. Must never hold a secret.

use std::fmt;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::engine::Pool;

/// Maximum tablebase faults described in words.
const MAX_FAULTS: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    pub version: String,
    /// The account; `None` until the server has been reached.
    pub account: Option<String>,
    pub state: BotPhase,
    /// Seconds since the start.
    pub uptime: u64,
    /// The account's event stream.
    pub stream: EventStreamStatus,
    pub slots: SlotStatus,
    pub games: Vec<GameStatus>,
    pub correspondence: CorrespondenceStatus,
    /// Challenges waiting for a slot.
    pub waiting: usize,
    /// What remains of the daily quota.
    pub quota: Option<QuotaStatus>,
    pub matchmaking: MatchmakingStatus,
    /// Switches that commands set and restarts keep, since when and by whom, in words.
    pub switches: Vec<String>,
    /// Arenas joined or planned, in words.
    pub arenas: Vec<String>,
    /// Learned move overhead in milliseconds.
    pub overhead: Option<u64>,
    pub alerts: Vec<AlertStatus>,
    /// Accounts blocked by command.
    pub blocked: Vec<String>,
    /// The bot's atomic rating, if known.
    pub rating: Option<i32>,
    /// Seconds since the bot last accepted a challenge.
    pub accepted_ago: Option<u64>,
    /// Net, tablebases and lists in use.
    pub sources: Option<SourcesStatus>,
}

impl Status {
    /// What the bot is doing, in words.
    pub fn doing(&self) -> &'static str {
        if self.state == BotPhase::Playing && !self.stream.open {
            return "is not connected: its event stream is down";
        }
        self.state.describe()
    }
}

/// What the bot is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BotPhase {
    /// Not connected to the server yet.
    #[default]
    Connecting,
    /// Accepting challenges and playing.
    Playing,
    /// Accepting nothing new until resumed.
    Paused,
    /// Accepting nothing new because of an alert.
    Alert,
    /// Finishing its games, then exiting.
    Draining,
}

impl BotPhase {
    /// The phase in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Connecting => "is not connected to the server yet",
            Self::Playing => "accepts challenges",
            Self::Paused => "is paused: accepts no new games",
            Self::Alert => "accepts no new games: see the alerts",
            Self::Draining => "is shutting down: finishing its games",
        }
    }
}

/// The account's event stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventStreamStatus {
    pub open: bool,
    /// Milliseconds since the last line, blank lines included.
    pub received_ago: Option<u64>,
    /// How often it disconnected.
    pub lost: u64,
    /// Openings and attempts in the last ten minutes.
    pub openings: usize,
    /// Why it is not open, once that is known.
    pub outage: Option<StreamOutage>,
}

/// Why the event stream is not open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamOutage {
    /// The last failure, in words.
    pub reason: String,
    /// Seconds since the first one.
    pub since: u64,
    /// Seconds to the next try at the latest; zero during one.
    pub next_try: u64,
}

impl StreamOutage {
    /// Of a failure that is this text: the first one was at `since`, the next try is due at `due`.
    pub(super) fn new(reason: &str, since: Instant, due: Option<Instant>) -> Self {
        let wait = |due: Instant| due.saturating_duration_since(Instant::now());
        Self {
            reason: reason.to_owned(),
            since: since.elapsed().as_secs(),
            next_try: due.map_or(0, |due| wait(due).as_secs() + 1),
        }
    }
}

impl fmt::Display for StreamOutage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.next_try {
            0 => write!(f, "{}; trying again now", self.reason),
            wait => write!(f, "{}; next try in {wait} s", self.reason),
        }
    }
}

/// The stream of one game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameStreamStatus {
    pub open: bool,
    /// Milliseconds since it opened; if not open, since it was lost or first wanted.
    pub since: u64,
    /// Milliseconds since the last line, blank lines included.
    pub received_ago: Option<u64>,
    /// How often it was reopened.
    pub reopened: u64,
}

/// How busy the bot is, for those who ask in a chat. Names no one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Occupancy {
    pub(super) slots: usize,
    /// Taken by games, accepted challenges and the bot's own challenge.
    pub(super) taken: usize,
    /// Challenges waiting for a slot.
    pub(super) waiting: usize,
    /// Whether the bot accepts new games at all.
    pub(super) open: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlotStatus {
    pub all: usize,
    /// Taken by games, accepted challenges and the bot's own challenge.
    pub taken: usize,
    /// Slots reserved for humans, of all slots.
    pub for_humans: usize,
}

/// Correspondence games, which take no slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CorrespondenceStatus {
    pub games: usize,
    /// Those where the bot is to move.
    pub to_move: usize,
    /// Seconds until the first of these is lost on time, if known.
    pub deadline: Option<u64>,
}

impl CorrespondenceStatus {
    /// What an end of the bot leaves at the server, if anything.
    pub(super) fn left(&self) -> Option<String> {
        (self.games > 0).then(|| format!("correspondence goes on at Lichess: {self}"))
    }
}

impl fmt::Display for CorrespondenceStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { games, to_move, .. } = self;
        let plural = if *games == 1 { "" } else { "s" };
        write!(f, "{games} game{plural}, {to_move} to move")?;
        match self.deadline {
            None => Ok(()),
            Some(left) if left < 7200 => write!(f, ", next deadline in {} min", left / 60),
            Some(left) => write!(f, ", next deadline in {} h", left / 3600),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GameStatus {
    pub id: String,
    pub opponent: String,
    /// The bot's colour, `white` or `black`.
    pub us: Option<String>,
    pub ply: usize,
    /// The bot's clock in milliseconds, as last reported.
    pub our_clock: Option<u64>,
    pub their_clock: Option<u64>,
    /// Whether the bot is to move, as far as its log knows.
    pub our_turn: bool,
    /// The engine's last score for the bot, such as `cp 35` or `mate -2`.
    pub score: Option<String>,
    /// Milliseconds since the last move.
    pub moved_ago: u64,
    pub stream: GameStreamStatus,
}

/// The least clock, in milliseconds, of a game that a restart interrupts.
const RESTART_CLOCK: u64 = 20_000;

impl GameStatus {
    /// Why a restart now might cost the bot time in this game, if it might.
    pub fn restart_obstacle(&self) -> Option<String> {
        if self.us.is_none() {
            return Some(format!("{} is not loaded yet", self.id));
        }
        let short = self.our_clock.filter(|clock| *clock < RESTART_CLOCK);
        match short {
            _ if self.our_turn => Some(format!("the bot is to move in {}", self.id)),
            Some(clock) => Some(format!("{} s are left in {}", clock / 1000, self.id)),
            None => None,
        }
    }
}

/// What remains of the quota of the last 24 hours.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuotaStatus {
    /// Games against bots in the last 24 hours.
    pub bot_games: u32,
    pub bot_games_limit: u32,
    /// Of the bot games left, those kept for incoming challenges.
    pub kept_for_incoming: u32,
    /// Challenge credits spent in the last 24 hours.
    pub credits: u32,
    pub credits_limit: u32,
    /// How long the quota lasts, in words.
    pub forecast: String,
    /// Until when the server allows no bot game, by its own count: milliseconds since 1970.
    pub closed_until: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatchmakingStatus {
    pub enabled: bool,
    /// Current activity, in words.
    pub doing: String,
    /// The bot's open challenge.
    pub challenge: Option<String>,
    /// The operator's series of games, in words.
    pub series: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AlertStatus {
    pub kind: String,
    /// What is wrong, and what to do.
    pub text: String,
    /// Seconds since it was raised.
    pub since: u64,
}

/// Net, tablebases and lists in use.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourcesStatus {
    /// The evaluation: the net's id, or `classical`.
    pub net: String,
    /// Tablebases; `None` if there are none.
    pub tables: Option<TableFiles>,
    /// Player lists: the names in the config, and each file and address.
    pub lists: Vec<NameList>,
}

impl SourcesStatus {
    /// The resources of this pool's searches, and the state of the lists.
    pub(super) fn of(pool: &Pool, lists: &[NameList]) -> Self {
        let tables = pool.tables().map(|tables| {
            let state = tables.state();
            TableFiles {
                outcomes: state.outcomes,
                distances: state.distances,
                max_pieces: state.most_pieces,
                faulty: state.faulty,
                faults: state.faults.into_iter().take(MAX_FAULTS).collect(),
            }
        });
        let lists = lists.iter().map(|list| NameList {
            read_ago: list.read.map(|at| at.elapsed().as_secs()),
            ..list.clone()
        });
        Self {
            net: pool.evaluator().id(),
            tables,
            lists: lists.collect(),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TableFiles {
    /// Number of WDL files.
    pub outcomes: usize,
    /// Number of DTZ files.
    pub distances: usize,
    /// Pieces of the largest, kings included.
    pub max_pieces: usize,
    /// Unusable files, including those made useless by another one, and folders.
    pub faulty: usize,
    /// Some of them, with reasons.
    pub faults: Vec<String>,
}

/// Names of one list from one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameList {
    /// Which list: `block`, `allow`, `welcome` or `avoid`.
    pub list: String,
    /// The file or address; `None` for the names in the config.
    pub source: Option<String>,
    /// Number of known names.
    pub names: usize,
    /// When it was last read; `None` if not since the start.
    #[serde(skip)]
    pub read: Option<Instant>,
    /// The same in a status, in seconds before it.
    pub read_ago: Option<u64>,
    /// Why the source cannot be read at present.
    pub error: Option<String>,
    /// Which of its lines are no names, in words.
    pub skipped: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_tells_which_correspondence_games_go_on() {
        let left = |games, deadline| {
            let status = CorrespondenceStatus {
                games,
                to_move: games,
                deadline,
            };
            status.left()
        };
        assert_eq!(left(0, None), None);
        let one = "correspondence goes on at Lichess: 1 game, 1 to move, next deadline in 40 min";
        assert_eq!(left(1, Some(2400)).as_deref(), Some(one));
        let more = "correspondence goes on at Lichess: 3 games, 3 to move";
        assert_eq!(left(3, None).as_deref(), Some(more));
    }
}
