//! Events and effects of matchmaking. Data only.

use std::time::{Duration, Instant};

use super::challenge_request::ChallengeRequest;
use super::cooldown::Cooldown;
use crate::bot::quota::{ChallengeTarget, Permit};
use crate::lichess::{
    Account, Challenge, ChallengeId, ChallengeStatus, Event, GameId, Presence, UserId,
};
use crate::store::Timestamp;

/// What others know: lists, guard, quota.
pub trait Directory {
    /// Whether something rests under this key.
    fn rests(&self, key: &str) -> bool;
    /// Whether this account is never to be challenged.
    fn avoids(&self, user: &UserId) -> bool;
    /// Whether rated games with this account are allowed now.
    fn may_rate(&self, user: &UserId) -> bool;
    /// Whether the budget allows such a challenge now.
    fn may_challenge(&self, target: ChallengeTarget) -> Permit;
    /// Games a day that may be asked for.
    fn budget(&self) -> u32;
}

/// The circumstances of a moment.
#[expect(
    missing_debug_implementations,
    reason = "it borrows what cannot be shown"
)]
#[derive(Clone, Copy)]
pub struct MatchContext<'a> {
    pub now: Instant,
    /// The same by the calendar.
    pub moment: Timestamp,
    /// Slots that a challenge of ours may take.
    pub spare: usize,
    pub games: usize,
    /// Whether a challenge of ours holds a slot.
    pub held: bool,
    pub directory: &'a dyn Directory,
}

/// Why there is no challenge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotCreated {
    /// No one knows: no answer, or one that cannot be understood.
    #[error("no reply, and the challenge does not exist")]
    Lost,
    /// There was no slot, or it could not be written down.
    #[error("no free slot")]
    NoSeat,
    /// Such calls pause for so long.
    #[error("rate limited by Lichess for {} s", .0.as_secs())]
    Limited(Duration),
    /// The day's games against bots are used up, ours or theirs.
    #[error("the day's games against bots are spent, ours or theirs")]
    DaySpent,
    /// The server does not let us ask this user, in its words.
    #[error("{0}")]
    Refused(String),
    /// The token or the account may not challenge.
    #[error("the token or account may not send challenges")]
    Forbidden,
    /// The token is not accepted at all: the alarm about it says when to continue.
    #[error("the token is rejected")]
    Unauthorized,
}

#[derive(Clone, Debug)]
pub enum MatchmakingEvent {
    /// Time has passed, or slots have changed.
    Tick,
    /// The bots that are online, and perhaps our own account.
    Listed(Vec<Account>),
    /// They could not be had; such calls pause for so long.
    NotListed(Option<Duration>),
    /// Where the users that were looked at are.
    Seen(Vec<Presence>),
    /// That could not be had.
    NotSeen,
    /// The server has made our challenge.
    Created(Box<Challenge>),
    NotCreated(NotCreated),
    /// Our pending challenges, after an answer was lost; nothing if they could not be had.
    Found(Option<Vec<Challenge>>),
    /// What became of our challenge, by its own stream.
    Done(ChallengeStatus),
    /// A line of the event stream.
    Event(Event),
    /// A game is over.
    GameOver,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchmakingEffect {
    /// Ask for the bots online.
    List,
    /// Ask where these users are.
    Look(Vec<UserId>),
    /// Take a slot and make this challenge.
    Create(Box<ChallengeRequest>),
    /// Ask for our pending challenges.
    Find,
    /// Our challenge has this id.
    Held(ChallengeId),
    Withdraw,
    /// It is gone: give the slot back.
    Release,
    Rest(Cooldown),
    /// Say that this user is operator's challenge not sent, and why.
    Unasked(UserId, String),
    /// Forget the rests of this user: they have accepted, and this is the game where it has begun.
    Forgive(UserId, Option<GameId>),
}
