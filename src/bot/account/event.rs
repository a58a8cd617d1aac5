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
    /// The event stream is open: everything that runs or waits is told again.
    Opened,
    /// The event stream is away while the server is there: what it would tell has to be asked for.
    Away,
    /// A line of the event stream.
    Event(Event),
    /// The challenges to us that wait for an answer.
    Waiting(Vec<Challenge>),
    /// The games that run now.
    Running(Vec<GameInfo>),
    /// The list of running games could not be had.
    NoList,
    /// What became of an acceptance.
    Accepted {
        id: ChallengeId,
        /// What the server said.
        answer: AcceptOutcome,
    },
    /// What became of taking our own challenge back.
    Canceled {
        id: ChallengeId,
        /// What the server said.
        answer: CallOutcome,
    },
    /// What became of calling off a game for which there is no slot.
    Aborted {
        game: GameId,
        /// What the server said.
        answer: CallOutcome,
    },
    /// A game's player is done.
    Left {
        game: GameId,
        /// Whether it saw the end, or only lost sight of the game.
        seen: bool,
    },
    /// A game's player left while the game continues: no clock runs, and it is the opponent's turn.
    Parked(GameId),
    /// Nothing happens in a game any more, or something happens again.
    Standstill {
        game: GameId,
        /// Whether it stands still.
        stands: bool,
    },
    /// Other rules from now on; what was accepted stays accepted.
    Settings(Arc<Settings>),
    /// Other names on the lists.
    Lists(Arc<PlayerLists>),
    /// Our rating in atomic.
    Rating(i32),
    /// Take nothing new until told otherwise.
    Pause,
    Resume,
    /// Something is wrong that an operator has to look at, or is no longer.
    Alarm(bool),
    /// Take nothing new for good.
    Drain,
    /// The moment of [`super::AccountState::next_timeout`] has come.
    Tick,
}

/// Something to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountEffect {
    /// Accept a challenge. One of a bot is in the quota, and on disk before the call goes out.
    Accept {
        id: ChallengeId,
        from: OpponentKind,
        /// Who, if it is someone in particular.
        opponent: Option<UserId>,
    },
    Decline(Box<Decline>),
    /// Take our own challenge back.
    Cancel(ChallengeId),
    /// Start the one player of a game.
    Play(Box<GameInfo>),
    /// Call off a game for which there is no slot.
    Abort(GameId),
    /// Tell a game's player that the game is said to be over.
    GameFinish(GameId),
    /// Ask for the list of running games.
    List,
    /// Ask for the challenges that wait for an answer.
    Waiting,
}

/// A challenge that is declined, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decline {
    pub id: ChallengeId,
    /// What the challenger is told.
    pub reason: DeclineReason,
    /// Whose it was: people are answered first.
    pub from: OpponentKind,
    /// The challenger's name, for the log.
    pub challenger: String,
    /// Which rule decided; none when the server did.
    pub rule: Option<ChallengeRule>,
    /// What it found, for the operator.
    pub why: String,
}

/// What the server said to an acceptance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AcceptOutcome {
    Done,
    /// Nothing that could be understood.
    Lost,
    /// Our own games against bots are used up; the quota knows for how long.
    OurDay,
    TheirDay,
    /// Too many calls of this kind.
    Limited(Option<Duration>),
    Refused,
    /// There is no such challenge any more.
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
    fn whose_day_is_spent_is_told_by_the_class() {
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
