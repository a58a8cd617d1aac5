//! The state from one run to the next, as plain data.
//!
//! A row here is a row on disk. Decisions belong to `bot::state`.

use std::time::Duration;

use strum::{EnumString, IntoStaticStr};

use crate::experience::PlayedLine;
use crate::lichess::{GameId, Side, Status, UserId};
use crate::sqlite::Timestamp;

/// The state, as read when the bot starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Bot games and credits of the last day.
    pub spends: Vec<QuotaUse>,
    /// Learned limits of the server.
    pub limits: Vec<Limit>,
    /// Cooldowns by key.
    pub cooldowns: Vec<(String, Cooldown)>,
    /// One row per opponent.
    pub opponents: Vec<OpponentRow>,
    /// Games of the last days and the last two of each opponent, oldest first.
    pub results: Vec<FinishedGame>,
    /// Interactions, oldest first.
    pub encounters: Vec<Interaction>,
    /// Chat, takebacks and draw offers of single games.
    pub games: Vec<(GameId, Timestamp, GameMemory)>,
    pub guards: Vec<GuardRow>,
    /// Notes by key.
    pub notes: Vec<(String, String)>,
    /// Lines of the bot's games, oldest first.
    pub lines: Vec<PlayedLine>,
}

/// A row to write, or to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Something was spent; replaces the one with the same key.
    Spend(QuotaUse),
    /// It was not spent after all.
    Unspend(String),
    Limit(Limit),
    /// A cooldown, or its end.
    Cooldown(String, Option<Cooldown>),
    /// The totals of an opponent.
    Opponent(OpponentRow),
    /// A finished game; replaces the one with the same id.
    Result(FinishedGame),
    Encounter(Interaction),
    /// Chat, takebacks and draw offers of a game.
    Game(GameId, Timestamp, GameMemory),
    /// The rating guard's count for one scope.
    Guard(GuardRow),
    /// A note, or its end.
    Note(String, Option<String>),
    /// The line of a game; replaces the one of the same game.
    Line(PlayedLine),
    /// The line of this game is forgotten.
    DropLine(String),
    /// Rows that are too old at this moment are deleted.
    Prune(Timestamp),
}

impl Change {
    /// What the change is about: a later change about the same supersedes it.
    pub(super) fn subject(&self) -> (u8, String) {
        match self {
            Self::Spend(spend) => (0, spend.key.clone()),
            Self::Unspend(key) => (0, key.clone()),
            Self::Limit(limit) => (1, limit.name.as_str().to_owned()),
            Self::Cooldown(key, _) => (2, key.clone()),
            Self::Opponent(row) => (3, row.id.to_string()),
            Self::Result(game) => (4, game.game.to_string()),
            Self::Encounter(met) => (5, format!("{} {}", met.kind.as_str(), met.id)),
            Self::Game(id, ..) => (6, id.to_string()),
            Self::Guard(row) => (7, row.scope.as_str().to_owned()),
            Self::Note(key, _) => (8, key.clone()),
            Self::Line(line) => (9, line.game.clone()),
            Self::DropLine(game) => (9, game.clone()),
            // The last: a row that waits may say why another one must stay.
            Self::Prune(_) => (10, String::new()),
        }
    }
}

/// A bot game, or some challenge credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    /// The id of the game or challenge, or a name of our own until there is one.
    pub key: String,
    pub at: Timestamp,
    pub what: QuotaUseKind,
    pub opponent: Option<UserId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaUseKind {
    /// A game against a bot, reserved or begun.
    Game {
        /// What led to it.
        origin: Origin,
        /// Whether it has begun.
        begun: bool,
    },
    /// Challenge credits.
    Credits(u32),
}

/// What led to a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Origin {
    /// A challenge to the bot.
    Incoming,
    /// A challenge of the bot.
    Outgoing,
    /// A pairing of an arena, which the server does not refuse at its limit.
    Arena,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A span of time. Its start reveals a clock that was set back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    pub at: Timestamp,
    pub until: Timestamp,
}

impl TimeSpan {
    /// From `at` on for `length`.
    pub fn new(at: Timestamp, length: Duration) -> Self {
        Self {
            at,
            until: at + length,
        }
    }

    /// Whether the span is not over at `now`.
    pub fn holds(&self, now: Timestamp) -> bool {
        now < self.until
    }

    /// The same span for a clock that was set back: it cannot have begun after `now`.
    #[must_use]
    pub fn not_after(self, now: Timestamp) -> Self {
        if self.at <= now {
            return self;
        }
        Self::new(now, self.until.since(self.at))
    }
}

/// What is known of a limit of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub name: LimitName,
    /// The number, if the server reported another than the default, and when.
    pub learned: Option<(u32, Timestamp)>,
    /// Exhausted until then.
    pub closed: Option<TimeSpan>,
    /// Consecutive refusals without an advised wait.
    pub strikes: u32,
}

impl Limit {
    /// The default: nothing learned.
    pub fn unknown(name: LimitName) -> Self {
        Self {
            name,
            learned: None,
            closed: None,
            strikes: 0,
        }
    }
}

/// A daily limit of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LimitName {
    /// Games between bots per day.
    BotGames,
    Credits,
}

impl LimitName {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A pause after a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cooldown {
    pub span: TimeSpan,
    /// Consecutive failures.
    pub failures: u32,
    pub reason: Option<String>,
}

/// The totals of one opponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpponentRow {
    pub id: UserId,
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    /// Consecutive rematches.
    pub rematches: u32,
    /// Their own limit of bot games is exhausted.
    pub spent: Option<TimeSpan>,
    pub seen: Timestamp,
}

impl OpponentRow {
    pub fn new(id: UserId, seen: Timestamp) -> Self {
        Self {
            id,
            wins: 0,
            draws: 0,
            losses: 0,
            rematches: 0,
            spent: None,
            seen,
        }
    }
}

/// A finished game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedGame {
    pub game: GameId,
    /// `None` for anonymous players.
    pub opponent: Option<UserId>,
    pub is_bot: bool,
    pub rated: bool,
    pub color: Option<Side>,
    pub winner: Option<Side>,
    /// The status word of the server.
    pub status: String,
    pub plies: u32,
    /// The first twenty plies in UCI, separated by spaces.
    pub opening: String,
    /// The change of our rating, once known.
    pub rating_diff: Option<i32>,
    pub at: Timestamp,
}

impl FinishedGame {
    /// Whether both sides moved, we played, and the game has a result.
    pub fn counts(&self) -> bool {
        let status = Status::from_word(&self.status);
        self.plies >= 2 && self.color.is_some() && status.has_result(self.winner)
    }

    /// Whether the server counts it for the ratings: as [`FinishedGame::counts`], and without the moves
    /// where a missed first move ended it, which decides games of arenas alone.
    pub fn counts_for_ratings(&self) -> bool {
        let is_no_show = self.color.is_some()
            && self.winner.is_some()
            && Status::from_word(&self.status) == Status::NoStart;
        self.rated && (self.counts() || is_no_show)
    }

    /// The result for us.
    pub fn result(&self) -> GameResult {
        match (self.winner, self.color) {
            (None, _) => GameResult::Draw,
            (winner, us) if winner == us => GameResult::Win,
            _ => GameResult::Loss,
        }
    }
}

/// The result for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameResult {
    Win,
    Draw,
    Loss,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interaction {
    /// The id of the challenge or game.
    pub id: String,
    pub kind: InteractionKind,
    /// Empty for an anonymous player.
    pub opponent: UserId,
    pub is_bot: bool,
    pub at: Timestamp,
}

/// What happened with an opponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum InteractionKind {
    /// We accepted their challenge.
    Accepted,
    Started,
    /// They never made their first move.
    NoShow,
}

impl InteractionKind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Messages sent, and offers granted, in one game.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a line that was said or not"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameMemory {
    /// The opponent was greeted.
    pub greeted: bool,
    pub greeted_spectators: bool,
    /// The opponent got our goodbye.
    pub parted: bool,
    pub parted_spectators: bool,
    pub takebacks: u32,
    pub draw_offers: u32,
}

/// The opponents whose wins the rating guard counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GuardScope {
    All,
    Opponent(UserId),
}

impl GuardScope {
    /// The scope on disk; no account is named `*`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::All => "*",
            Self::Opponent(id) => id.as_str(),
        }
    }

    /// The scope of that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "*" => Self::All,
            name => Self::Opponent(UserId::new(name)),
        }
    }
}

/// The rating guard's count for one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardRow {
    pub scope: GuardScope,
    /// Consecutive rated losses.
    pub losses: u32,
    /// Games before this do not count: a pause came after them.
    pub from: Timestamp,
    /// Rated games are paused.
    pub rest: Option<RatedPause>,
}

/// A pause of rated games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatedPause {
    pub span: TimeSpan,
    pub reason: String,
}
