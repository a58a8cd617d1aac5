//! The settings themselves, one struct a section, and the one place of their defaults.
//!
//! Plain data with public fields: whoever is handed a section reads it, nobody writes it back.
//! Ranges are in `keys`, next to the words that explain them.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::units;

/// Everything an operator may set.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where Lichess is and who is asking.
    pub lichess: Lichess,
    /// What the engine may use.
    pub engine: Engine,
    /// Which games are accepted.
    pub challenge: Challenge,
    /// How a game is played, the moves aside.
    pub game: Game,
    /// What is written down while it runs.
    pub log: Log,
}

/// `[lichess]`: where Lichess is and who is asking.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lichess {
    /// Address of the server, without a path.
    pub url: String,
    /// File that holds the API token and nothing else. `LICHESS_BOT_TOKEN` goes before it. A
    /// relative path in a file is read from that file's folder.
    #[serde(with = "units::path")]
    pub token_file: Option<PathBuf>,
    /// How the server's people reach the operator, sent with every request.
    #[serde(with = "units::text")]
    pub contact: Option<String>,
}

/// `[engine]`: what the engine may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Engine {
    /// Transposition table in megabytes, shared by all games.
    pub hash: usize,
    /// Cores that searches may use together; 0 for all the machine has ([`Engine::cores`]).
    pub threads: usize,
    /// For tests: nodes a move.
    #[serde(with = "units::limit")]
    pub nodes: Option<NonZeroU64>,
    /// For tests: depth of a move's search in plies.
    #[serde(with = "units::limit")]
    pub depth: Option<NonZeroU64>,
    /// For tests: time a move, instead of the clock's share.
    #[serde(with = "units::millis_limit")]
    pub movetime: Option<Duration>,
}

/// `[challenge]`: which games are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of its own that a person sets"
)]
pub struct Challenge {
    /// Play rated games.
    pub rated: bool,
    /// Play casual games.
    pub casual: bool,
    /// Play against bots.
    pub bots: bool,
    /// Play against humans.
    pub humans: bool,
    /// Least time on the clock at the start.
    #[serde(with = "units::seconds")]
    pub min_base: Duration,
    /// Most time on the clock at the start.
    #[serde(with = "units::seconds")]
    pub max_base: Duration,
    /// Least time added a move.
    #[serde(with = "units::seconds")]
    pub min_increment: Duration,
    /// Most time added a move.
    #[serde(with = "units::seconds")]
    pub max_increment: Duration,
    /// Games at the same time.
    pub concurrency: usize,
    /// Accounts whose challenges are declined; capitals do not matter.
    pub block: Vec<String>,
}

/// `[game]`: how a game is played, the moves aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Game {
    /// Least time held back a move for the way to the server.
    #[serde(with = "units::millis")]
    pub overhead_floor: Duration,
    /// Most time held back a move, whatever was measured.
    #[serde(with = "units::millis")]
    pub overhead_ceiling: Duration,
    /// How long a bot may take over its first move before the game is aborted.
    #[serde(with = "units::seconds")]
    pub abort_bots: Duration,
    /// The same for humans.
    #[serde(with = "units::seconds")]
    pub abort_humans: Duration,
    /// Agree to draws in level positions.
    pub accept_draws: bool,
    /// A position is level when its score is at most this far from zero, in centipawns.
    pub draw_score: u32,
    /// No draw is agreed before this many plies.
    pub draw_ply: u32,
    /// Resign lost games.
    pub resign: bool,
    /// A position is lost when its score is this far below zero, in centipawns.
    pub resign_score: u32,
    /// Own moves in a row with a lost score before resigning.
    pub resign_moves: u32,
}

/// `[log]`: what is written down while it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// How much.
    pub level: Level,
    /// In which form.
    pub format: Format,
}

/// How much is logged; each level holds those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing.
    Off,
    /// What needs the operator.
    Error,
    /// What may need the operator.
    Warn,
    /// What is worth a line a game.
    Info,
    /// What is worth a line a move.
    Debug,
    /// Everything that goes over the wire, the token aside.
    Trace,
}

/// In which form a line is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For a person at a terminal.
    Text,
    /// One JSON object a line.
    Json,
}

impl Default for Lichess {
    fn default() -> Self {
        Self {
            url: "https://lichess.org".to_owned(),
            token_file: None,
            contact: None,
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            hash: 256,
            threads: 0,
            nodes: None,
            depth: None,
            movetime: None,
        }
    }
}

impl Default for Challenge {
    fn default() -> Self {
        Self {
            rated: true,
            casual: true,
            bots: true,
            humans: true,
            min_base: Duration::ZERO,
            max_base: Duration::from_secs(1800),
            min_increment: Duration::ZERO,
            max_increment: Duration::from_secs(60),
            concurrency: 8,
            block: Vec::new(),
        }
    }
}

impl Default for Game {
    fn default() -> Self {
        Self {
            overhead_floor: Duration::from_millis(100),
            overhead_ceiling: Duration::from_secs(1),
            abort_bots: Duration::from_secs(30),
            abort_humans: Duration::from_secs(60),
            accept_draws: true,
            draw_score: 15,
            draw_ply: 60,
            resign: false,
            resign_score: 1500,
            resign_moves: 4,
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: Level::Info,
            format: Format::Text,
        }
    }
}

impl Engine {
    /// The cores that searches may use: what was set, or all that the machine has.
    pub fn cores(&self) -> usize {
        if self.threads > 0 {
            return self.threads;
        }
        thread::available_parallelism().map_or(1, usize::from)
    }
}

impl Challenge {
    /// Whether challenges from this account are declined.
    pub fn blocks(&self, account: &str) -> bool {
        self.block
            .iter()
            .any(|name| name.eq_ignore_ascii_case(account))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        })
    }
}
