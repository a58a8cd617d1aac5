//! The state from one run to the next, as plain data.
//!
//! A row here is a row on disk. Decisions belong to `bot::state`.

use std::time::Duration;

use strum::{EnumString, IntoStaticStr};

use crate::lichess::{GameId, Side, Status, UserId};
use crate::sqlite::Timestamp;

/// Everything that was kept, as it is read when the bot starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Bot games and credits of the last day.
    pub spends: Vec<QuotaUse>,
    /// What was learned about the server's limits.
    pub limits: Vec<Limit>,
    /// Who or what rests, by key.
    pub cooldowns: Vec<(String, Cooldown)>,
    /// One row an opponent.
    pub opponents: Vec<OpponentRow>,
    /// The games of the last days and the last two of each opponent, oldest first.
    pub results: Vec<FinishedGame>,
    /// Who was met when, oldest first.
    pub encounters: Vec<Interaction>,
    /// What was said and granted in single games.
    pub games: Vec<(GameId, Timestamp, GameMemory)>,
    pub guards: Vec<GuardRow>,
    /// Notes of any kind, by key.
    pub notes: Vec<(String, String)>,
}

/// One thing to be kept, or to be kept no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Something was spent; the same key replaces.
    Spend(QuotaUse),
    /// It was not spent after all.
    Unspend(String),
    /// A limit of the server.
    Limit(Limit),
    /// A rest, or its end.
    Cooldown(String, Option<Cooldown>),
    /// What is known of an opponent.
    Opponent(OpponentRow),
    /// A finished game; the same id replaces.
    Result(FinishedGame),
    Encounter(Interaction),
    /// What was said and granted in a game.
    Game(GameId, Timestamp, GameMemory),
    /// The rating guard's count for one scope.
    Guard(GuardRow),
    /// A note, or its end.
    Note(String, Option<String>),
    /// What is no longer needed at this moment may go.
    Prune(Timestamp),
}

impl Change {
    /// What the change is about: a later one about the same thing makes this one needless.
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
            Self::Prune(_) => (9, String::new()),
        }
    }
}

/// A bot game or some challenge credits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaUse {
    /// The game's or challenge's id, or a name of our own until there is one.
    pub key: String,
    pub at: Timestamp,
    pub what: QuotaUseKind,
    pub opponent: Option<UserId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuotaUseKind {
    /// A game against a bot, set aside or begun.
    Game {
        /// Who asked for it.
        origin: Origin,
        /// Whether it has begun.
        begun: bool,
    },
    /// So many challenge credits.
    Credits(u32),
}

/// Who asked for a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Origin {
    Incoming,
    Outgoing,
}

impl Origin {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A span of time that began at a known moment; the beginning tells when a clock was set back.
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

    /// Whether it lasts at `now`.
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

/// What was learned about a limit of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    pub name: LimitName,
    /// The number, if the server told another one than assumed, and when.
    pub learned: Option<(u32, Timestamp)>,
    /// Nothing more until then.
    pub closed: Option<TimeSpan>,
    /// Refusals in a row without a wait advised.
    pub strikes: u32,
}

impl Limit {
    /// Nothing is known yet.
    pub fn unknown(name: LimitName) -> Self {
        Self {
            name,
            learned: None,
            closed: None,
            strikes: 0,
        }
    }
}

/// A limit that the ledger minds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum LimitName {
    /// Games between bots a day.
    BotGames,
    Credits,
}

impl LimitName {
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A rest after something did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cooldown {
    pub span: TimeSpan,
    /// Failures in a row.
    pub failures: u32,
    pub reason: Option<String>,
}

/// What is known of one opponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpponentRow {
    pub id: UserId,
    pub wins: u32,
    pub draws: u32,
    pub losses: u32,
    /// Rematches in a row.
    pub rematches: u32,
    /// Their own limit of bot games is spent.
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

/// A game that is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishedGame {
    pub game: GameId,
    /// Against whom; none for anonymous players.
    pub opponent: Option<UserId>,
    /// Whether that is a bot.
    pub is_bot: bool,
    /// Whether ratings were at stake.
    pub rated: bool,
    pub color: Option<Side>,
    pub winner: Option<Side>,
    /// The server's word for how it ended.
    pub status: String,
    pub plies: u32,
    /// The first twenty half-moves in UCI, spaces between.
    pub opening: String,
    /// What it did to our rating, once told.
    pub rating_diff: Option<i32>,
    pub at: Timestamp,
}

impl FinishedGame {
    /// Whether both sides moved, we were one of them, and it has a result.
    pub fn counts(&self) -> bool {
        let status = Status::from_word(&self.status);
        self.plies >= 2 && self.color.is_some() && status.has_result(self.winner)
    }

    /// How it went for us.
    pub fn result(&self) -> GameResult {
        match (self.winner, self.color) {
            (None, _) => GameResult::Draw,
            (winner, us) if winner == us => GameResult::Win,
            _ => GameResult::Loss,
        }
    }
}

/// How a game went for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GameResult {
    Win,
    Draw,
    Loss,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interaction {
    /// The challenge or game.
    pub id: String,
    pub kind: InteractionKind,
    pub opponent: UserId,
    /// Whether that is a bot.
    pub is_bot: bool,
    pub at: Timestamp,
}

/// What happened when someone was met.
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

/// What was said and granted in one game.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a line that was said or not"
)]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GameMemory {
    /// The opponent was greeted.
    pub greeted: bool,
    pub greeted_spectators: bool,
    /// The opponent heard our goodbye.
    pub parted: bool,
    pub parted_spectators: bool,
    pub takebacks: u32,
    pub draw_offers: u32,
}

/// Whom the rating guard counts losses to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum GuardScope {
    All,
    Opponent(UserId),
}

impl GuardScope {
    /// As it stands on disk; no account has an asterisk for a name.
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
    /// Whom it is about.
    pub scope: GuardScope,
    /// Rated losses in a row.
    pub losses: u32,
    /// Games before this no longer count: a rest came after them.
    pub from: Timestamp,
    /// No rated games meanwhile.
    pub rest: Option<RatedPause>,
}

/// A rest from rated games.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatedPause {
    pub span: TimeSpan,
    pub reason: String,
}
