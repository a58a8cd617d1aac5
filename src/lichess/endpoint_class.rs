//! Classes of endpoints that share a limit, and how each class is admitted.
//!
//! The limits of the server on calls are in this file, each a little below what the server allows.
//! Two more modules count: `backoff` the openings of the event stream, and `bot::quota` the credits
//! of challenges and the games of a day.

use std::time::Duration;

use strum::{EnumCount, IntoStaticStr, VariantArray};

use super::rate_window::Rate;
use super::timing::Timing;

/// Classes of calls, each with its own limits on the server; the most urgent first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EnumCount, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum EndpointClass {
    Move,
    /// Abort, resign, draw, takeback, claim.
    Act,
    /// Opening a game stream.
    GameStream,
    /// Opening the event stream.
    EventStream,
    /// The list of our running games. A game found only there may have a running clock.
    Playing,
    /// Accepting a human's challenge or withdrawing one of ours: a game slot depends on it.
    Answer,
    /// Accepting a bot's challenge, which the server may refuse while it still admits humans.
    AcceptBot,
    Decline,
    /// Making challenges; counted in credits.
    Create,
    /// Joining and leaving arenas.
    Arena,
    Chat,
    Account,
    /// Every other read-only call.
    Lookup,
    /// Joining and leaving teams.
    Team,
    /// Keeping the connection for moves warm.
    Warm,
}

/// How the rate limiter admits a class of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// At once, in any case.
    AtOnce,
    /// At once within its own limits; beyond them it waits for nothing else.
    Paced,
    /// Through the queue: few at a time, spaced out, the most urgent first.
    InTurn,
    /// At once within its limits, or not at all.
    NowOrNever,
}

impl EndpointClass {
    /// All classes, the most urgent first.
    pub const ALL: [Self; Self::COUNT] = *Self::VARIANTS.first_chunk().expect("all variants");

    /// Whether every token and account that may play may make such calls.
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

    /// Whether such a call may be sent again although the first may have succeeded: a second
    /// challenge replaces the first and costs credits again, and a chat line would appear twice.
    pub(super) const fn is_repeatable(self) -> bool {
        !matches!(self, Self::Create | Self::Chat)
    }

    /// Whether the rate limiter enforces a pause; otherwise it reports the pause and the game task
    /// decides.
    pub const fn is_enforced(self) -> bool {
        !matches!(self, Self::Move | Self::Act | Self::GameStream)
    }

    /// The label for logs and counters.
    pub const fn as_str(self) -> &'static str {
        self.into_str()
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
            | Self::Decline
            | Self::Create => Admission::Paced,
            Self::Arena | Self::Chat | Self::Account | Self::Lookup | Self::Team => {
                Admission::InTurn
            }
            Self::Warm => Admission::NowOrNever,
        }
    }

    /// The rates to keep to. The server's windows start at the first call; the bot counts over any
    /// span of that length and so exceeds no window, wherever it starts.
    pub(super) fn rates(self, timing: &Timing) -> Vec<Rate> {
        let minute = timing.minute;
        let second = minute / 60;
        let per = |most, span| Rate { most, span };
        match self {
            Self::Move | Self::Decline => Vec::new(),
            Self::Act => vec![per(60, second * 10)],
            // No limit is known, and after a crash many games must resume at once.
            Self::GameStream => vec![per(64, second), per(400, minute)],
            Self::EventStream => {
                let most = u32::try_from(timing.openings).unwrap_or(u32::MAX);
                vec![per(most.max(1), timing.opening_window)]
            }
            // 64 in five seconds, shared by all users of the server.
            Self::Answer | Self::AcceptBot => vec![per(20, second * 5)],
            // 25 credits a minute. `bot::quota` counts those of a day, over restarts too, against the
            // config's limit.
            Self::Create => vec![per(20, minute)],
            // 30 joins in ten minutes, and leaving must not wait for them.
            Self::Arena => vec![per(29, minute * 10)],
            Self::Playing | Self::Chat | Self::Lookup | Self::Warm => vec![per(60, minute)],
            // 30 in five minutes.
            Self::Account => vec![per(20, minute * 5)],
            Self::Team => vec![per(10, minute * 10)],
        }
    }

    /// How long such a call may wait; beyond that it fails with the wait.
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

    /// The maximum number of waiting calls.
    pub(super) const fn most_waiting(self) -> usize {
        match self {
            Self::Move | Self::Warm => 0,
            Self::GameStream | Self::Act | Self::Decline => 64,
            _ => 16,
        }
    }
}
