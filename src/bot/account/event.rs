//! Events and effects of the account state.
//!
//! Data only.

use std::sync::Arc;
use std::time::Duration;

use super::slots::OpponentKind;
use crate::bot::challenge_policy::ChallengeRule;
use crate::bot::game::CallOutcome;
use crate::bot::player_lists::PlayerLists;
use crate::bot::settings::Settings;
use crate::lichess::{
    Challenge, ChallengeId, DeclineReason, Error, Event, GameId, GameInfo, UserId,
};

#[derive(Clone, Debug)]
pub enum AccountEvent {
    /// The event stream opened: the server repeats running games and open challenges.
    Opened,
    /// The event stream is down while the server responds: poll for what it would deliver.
    Away,
    /// A line of the event stream.
    Event(Event),
    /// Incoming challenges that await an answer.
    Waiting(Vec<Challenge>),
    /// The server's list of running games.
    Running(Vec<GameInfo>),
    /// The list of running games could not be fetched.
    NoList,
    /// Outcome of an accept.
    Accepted {
        id: ChallengeId,
        answer: AcceptOutcome,
    },
    /// Outcome of withdrawing the bot's own challenge.
    Canceled {
        id: ChallengeId,
        answer: CallOutcome,
    },
    /// Outcome of aborting an excess game.
    Aborted {
        game: GameId,
        answer: CallOutcome,
    },
    /// A game task ended.
    Left {
        game: GameId,
        /// Whether it saw the game end, or only lost track of it.
        seen: bool,
    },
    /// A game task ended while the game continues: no clock runs, and it is the opponent's turn.
    Parked(GameId),
    /// A game stalled, or continues.
    Standstill {
        game: GameId,
        /// Whether it is stalled.
        stands: bool,
    },
    /// New settings; accepted challenges stay accepted.
    Settings(Arc<Settings>),
    Lists(Arc<PlayerLists>),
    /// The bot's atomic rating.
    Rating(i32),
    /// Accept nothing new until resumed.
    Pause,
    Resume,
    /// Whether an alert forbids new games.
    Alarm(bool),
    /// Accept nothing new for good.
    Drain,
    /// The time of [`super::AccountState::next_timeout`] has passed.
    Tick,
}

/// An effect to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountEffect {
    /// Accept a challenge. A bot's is charged to the quota, on disk before the call goes out.
    Accept {
        id: ChallengeId,
        from: OpponentKind,
        /// The opponent, unless anonymous.
        opponent: Option<UserId>,
    },
    Decline(Box<Decline>),
    /// Withdraw the bot's own challenge.
    Cancel(ChallengeId),
    /// Start the only task of a game.
    Play(Box<GameInfo>),
    /// Abort an excess game.
    Abort(GameId),
    /// Tell a game task that its game is reported as over.
    GameFinish(GameId),
    /// Fetch the list of running games.
    List,
    /// Fetch the challenges that await an answer.
    Waiting,
}

/// A challenge to decline, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decline {
    pub id: ChallengeId,
    /// The reason sent to the challenger.
    pub reason: DeclineReason,
    /// The challenger's kind: humans are answered first.
    pub from: OpponentKind,
    /// The challenger's name, for the log.
    pub challenger: String,
    /// The rule that decided; `None` when the server did.
    pub rule: Option<ChallengeRule>,
    /// The violation, for the operator.
    pub why: String,
}

/// The server's answer to an accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptOutcome {
    Done,
    /// No answer, or an unintelligible one.
    Lost,
    /// The bot's daily games against bots are used up; the quota knows for how long.
    OurDay,
    TheirDay,
    /// Too many calls of this kind.
    Limited(Option<Duration>),
    Refused,
    /// The challenge no longer exists.
    Gone,
}

impl From<Result<(), Error>> for AcceptOutcome {
    fn from(outcome: Result<(), Error>) -> Self {
        let Err(error) = outcome else {
            return Self::Done;
        };
        match error {
            Error::Transient { .. } | Error::Protocol { .. } => Self::Lost,
            Error::RateLimited { body, .. } if body.is_about_bots() => Self::OurDay,
            Error::RateLimited { wait, .. } => Self::Limited(wait),
            Error::Refused { body, .. } if body.is_about_bots() => Self::TheirDay,
            Error::Refused { .. } => Self::Refused,
            Error::Gone { .. } => Self::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lichess::{ErrorBody, RateLimit};

    #[test]
    fn the_error_class_tells_whose_daily_limit_is_spent() {
        let wait = Some(Duration::from_secs(7));
        let body = |key: &str| {
            Box::new(ErrorBody {
                rate_limit: Some(RateLimit {
                    key: Some(key.to_owned()),
                    wait,
                }),
                ..ErrorBody::default()
            })
        };
        let ours = Error::RateLimited {
            wait,
            body: body("bot.vsBot.day"),
        };
        assert_eq!(AcceptOutcome::from(Err(ours)), AcceptOutcome::OurDay);
        let theirs = Error::Refused {
            status: 400,
            body: body("bot.vsBot.day"),
        };
        assert_eq!(AcceptOutcome::from(Err(theirs)), AcceptOutcome::TheirDay);
        let other = Error::RateLimited {
            wait,
            body: body("challenge.accept"),
        };
        assert_eq!(
            AcceptOutcome::from(Err(other)),
            AcceptOutcome::Limited(wait)
        );
        assert_eq!(AcceptOutcome::from(Ok(())), AcceptOutcome::Done);
    }
}
