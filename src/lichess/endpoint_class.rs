//! Classes of endpoints that share a limit, and how each class is admitted.
//!
//! Every known limit of the server is in this file, each a little below what the server allows. Nothing else
//! counts calls.

use std::time::Duration;

use super::timing::Timing;

/// Kinds of calls, each with limits of its own on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EndpointClass {
    Move,
    /// The end of a game: abort, resign, draw, take back, claim.
    Act,
    /// Opening the stream of a game.
    GameStream,
    /// Opening the event stream.
    EventStream,
    /// The list of our running games: what was missed is found there, and its clock may run.
    Playing,
    /// Accepting a person's challenge or withdrawing one of ours: a seat depends on it.
    Answer,
    /// Accepting a bot's challenge, which the server may refuse while it lets people in.
    AcceptBot,
    Decline,
    /// Making challenges; counted in credits.
    Create,
    /// Joining and leaving arenas.
    Arena,
    Chat,
    Account,
    /// Everything else that is only looked up.
    Lookup,
    /// Joining and leaving teams.
    Team,
    /// Keeping the connection of the moves warm.
    Warm,
}

/// How a kind of call is let out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// At once, whatever happens.
    AtOnce,
    /// At once within its limits; beyond them it waits for them alone.
    Paced,
    /// In turn with its like: few under way at once, apart from one another, the most urgent first.
    InTurn,
    /// At once or not at all.
    NowOrNever,
}

/// So many in so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub(super) most: u32,
    pub(super) span: Duration,
}

impl EndpointClass {
    /// All kinds, the most urgent first.
    pub const ALL: [Self; 15] = [
        Self::Move,
        Self::Act,
        Self::GameStream,
        Self::EventStream,
        Self::Playing,
        Self::Answer,
        Self::AcceptBot,
        Self::Decline,
        Self::Create,
        Self::Arena,
        Self::Chat,
        Self::Account,
        Self::Lookup,
        Self::Team,
        Self::Warm,
    ];

    /// Whether every token and account that may play at all may make such calls.
    pub(super) const fn is_play(self) -> bool {
        matches!(
            self,
            Self::Move
                | Self::Act
                | Self::GameStream
                | Self::EventStream
                | Self::Answer
                | Self::AcceptBot
                | Self::Create
        )
    }

    /// Whether such a call may be sent again without knowing what became of the first: a second
    /// challenge replaces the first and costs again, a line of chat is said twice.
    pub(super) const fn is_repeatable(self) -> bool {
        !matches!(self, Self::Create | Self::Chat)
    }

    /// Whether a pause is enforced here; otherwise it is told and the player of the game decides.
    pub const fn is_enforced(self) -> bool {
        !matches!(self, Self::Move | Self::Act | Self::GameStream)
    }

    /// The word for logs and counters.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::Act => "act",
            Self::GameStream => "game_stream",
            Self::EventStream => "event_stream",
            Self::Playing => "playing",
            Self::Answer => "answer",
            Self::AcceptBot => "accept_bot",
            Self::Decline => "decline",
            Self::Create => "create",
            Self::Arena => "arena",
            Self::Chat => "chat",
            Self::Account => "account",
            Self::Lookup => "lookup",
            Self::Team => "team",
            Self::Warm => "warm",
        }
    }

    pub(super) const fn admission(self) -> Admission {
        match self {
            Self::Move => Admission::AtOnce,
            Self::Act
            | Self::GameStream
            | Self::EventStream
            | Self::Playing
            | Self::Answer
            | Self::AcceptBot
            | Self::Create => Admission::Paced,
            Self::Decline
            | Self::Arena
            | Self::Chat
            | Self::Account
            | Self::Lookup
            | Self::Team => Admission::InTurn,
            Self::Warm => Admission::NowOrNever,
        }
    }

    /// Who goes first among those whose turn it may be; the smallest number does.
    pub(super) const fn rank(self) -> usize {
        self as usize
    }

    /// What may go out in which span. The server counts from the first call of a window; here any
    /// span of that length counts, so its windows cannot be overdrawn wherever they begin.
    pub(super) fn rates(self, timing: &Timing) -> Vec<Rate> {
        let minute = timing.minute;
        let second = minute / 60;
        let per = |most, span| Rate { most, span };
        match self {
            Self::Move | Self::Decline => Vec::new(),
            Self::Act => vec![per(60, second * 10)],
            // No limit is known; a crash with many games must come back at once all the same.
            Self::GameStream => vec![per(64, second), per(400, minute)],
            Self::EventStream => {
                let most = u32::try_from(timing.openings).unwrap_or(u32::MAX);
                vec![per(most.max(1), timing.opening_window)]
            }
            // 64 in five seconds, for all users of the server together.
            Self::Answer | Self::AcceptBot => vec![per(20, second * 5)],
            // 25 credits a minute, 200 a day.
            Self::Create => vec![per(20, minute), per(200, minute * 60 * 24)],
            // 30 joins in ten minutes.
            Self::Arena => vec![per(25, minute * 10)],
            Self::Playing | Self::Chat | Self::Lookup | Self::Warm => vec![per(60, minute)],
            // 30 in five minutes.
            Self::Account => vec![per(20, minute * 5)],
            Self::Team => vec![per(10, minute * 10)],
        }
    }

    /// How long such a call may wait to be let out; beyond, the caller is told the wait instead.
    pub(super) fn patience(self, timing: &Timing) -> Duration {
        let second = timing.minute / 60;
        match self {
            Self::Move | Self::Warm => Duration::ZERO,
            Self::Act => second * 2,
            Self::GameStream | Self::Create => second * 5,
            Self::EventStream
            | Self::Playing
            | Self::Answer
            | Self::AcceptBot
            | Self::Chat
            | Self::Arena
            | Self::Team => second * 10,
            Self::Account | Self::Lookup => second * 15,
            Self::Decline => second * 20,
        }
    }

    /// How many such calls may wait at once.
    pub(super) const fn most_waiting(self) -> usize {
        match self {
            Self::Move | Self::Warm => 0,
            Self::GameStream | Self::Act | Self::Decline => 64,
            _ => 16,
        }
    }
}
